#include <memory>

#include "cli/auditing.h"
#include "cli/verb.h"

namespace eightfold::cli {

void RegisterCensus(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(
      app, command, "census", "Count what runs in a compiled module or a dump, without compiling",
      {"eightfold census compiled.hlo", "eightfold census compiled.pb --before program.pb"},
      kReportExitCodes);
  auto audit = std::make_shared<AuditOptions>();
  auto report = std::make_shared<ReportOptions>();
  audit->no_compile = true;
  verb->add_option("PROGRAM", audit->program,
                   "HLO text or proto, an XLA dump directory; - for standard input")
      ->required();
  verb->add_option("--before", audit->before,
                   "the same before optimization, which says what was asked for")
      ->type_name("FILE");
  verb->add_flag("-q,--quiet", audit->flags.quiet, "the headline only");
  AddReportOptions(*verb, *report);
  verb->callback([audit, report, &command] {
    command.run = [audit, report, &command]() -> Result<ExitCode> {
      EF_TRY(report::Report result, Audit(*audit));
      return Print(result, *report, audit->flags.quiet, command.color);
    };
  });
}

}  // namespace eightfold::cli
