#ifndef EIGHTFOLD_CLI_DUMP_DIR_H_
#define EIGHTFOLD_CLI_DUMP_DIR_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace eightfold::cli {

// One module of an XLA dump directory (--xla_dump_to): files are called
// "module_0001.jit_step.before_optimizations.txt" and
// "module_0001.jit_step.sm_12.0_gpu_after_optimizations.txt", or end in ".hlo.pb".
struct DumpedModule {
  std::string name;    // "module_0001.jit_step"
  std::string after;   // path of the compiled module
  std::string before;  // path of the module before optimization; empty: not there
};

// The compiled modules in `directory`, by name; protos are preferred to text. An error when there
// is none.
Result<std::vector<DumpedModule>> FindDumpedModules(const std::string& directory);

struct AuditedDumps {
  std::vector<report::Section> sections;  // of the modules that do matrix work, in order
  size_t without_matrix_work = 0;
  std::vector<Error> errors;  // of the modules that could not be read
};

// Audits every module of `directory` on all cores, with a progress line.
Result<AuditedDumps> AuditDumps(
    const std::string& directory, bool show_progress,
    const std::function<Result<report::Section>(const DumpedModule&)>& audit);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_DUMP_DIR_H_
