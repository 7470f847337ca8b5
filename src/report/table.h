#ifndef EIGHTFOLD_REPORT_TABLE_H_
#define EIGHTFOLD_REPORT_TABLE_H_

#include <string>

#include "report/report.h"

namespace eightfold::report {

struct TableOptions {
  bool color = false;
  size_t width = 110;  // of the terminal, in columns
  size_t top = 3;      // groups of kernels shown for each finding
  bool headline_only = false;
};

// The report for people: the answer in a sentence, the computations as a tree, then the findings.
std::string WriteTable(const Report& report, const TableOptions& options = {});

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_TABLE_H_
