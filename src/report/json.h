#ifndef EIGHTFOLD_REPORT_JSON_H_
#define EIGHTFOLD_REPORT_JSON_H_

#include <string>

#include "report/report.h"

namespace eightfold::report {

// The report as JSON, schema version 1: docs/audit-schema.json describes and tests check it. One
// module is one object; a directory is {"schema", "tool", "sections": [those objects]}. Ends with a
// newline.
std::string WriteJson(const Report& report);

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_JSON_H_
