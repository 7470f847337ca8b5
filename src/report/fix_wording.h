#ifndef EIGHTFOLD_REPORT_FIX_WORDING_H_
#define EIGHTFOLD_REPORT_FIX_WORDING_H_

#include <string>
#include <vector>

#include "report/report.h"

namespace eightfold::report {

// What a fix did, for people: first the sum of it, then what it left alone and why, one line each.
std::vector<std::string> FixLines(const FixInfo& fix);

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_FIX_WORDING_H_
