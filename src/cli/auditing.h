#ifndef EIGHTFOLD_CLI_AUDITING_H_
#define EIGHTFOLD_CLI_AUDITING_H_

#include <string>

#include "base/result.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "report/report.h"

namespace eightfold::cli {

struct AuditOptions {
  std::string program;
  std::string before;       // the program before optimization, for one that is compiled already
  bool no_compile = false;  // count the program as it stands
  CompileFlags flags;
};

// One input to one report: compiles what is not compiled yet (not scheduled), counts, diagnoses. A
// directory gives one section for each module in it that does matrix work.
Result<report::Report> Audit(const AuditOptions& options);
// The same for an input that is open already; `options.program` is only what messages call it.
Result<report::Report> AuditInput(const Input& input, const AuditOptions& options);

// The options that verbs with a report share.
struct ReportOptions {
  std::string format = "table";
  std::string fail_on = "demoted";
  size_t top = 3;
};
void AddReportOptions(CLI::App& verb, ReportOptions& options);

// Prints the report on standard output and gives the exit code that --fail-on asks for.
Result<ExitCode> Print(const report::Report& report, const ReportOptions& options,
                       bool headline_only, ColorMode color);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_AUDITING_H_
