#include <memory>

#include "cli/auditing.h"
#include "cli/fixing.h"
#include "cli/verb.h"

namespace eightfold::cli {

void RegisterAudit(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(app, command, "audit",
                           "Compile a program for a GPU that need not be there, count what really "
                           "runs, and say what was lost and why",
                           {"eightfold audit move.pb --target rtx5070 --plugin 0.10.2",
                            "eightfold audit xla_dump/ --format json --fail-on any"},
                           kReportExitCodes);
  auto audit = std::make_shared<AuditOptions>();
  auto report = std::make_shared<ReportOptions>();
  verb->add_option("PROGRAM", audit->program,
                   "HLO text or proto, StableHLO text or bytecode, an XLA dump directory; - for "
                   "standard input")
      ->required();
  verb->add_option(
          "--before", audit->before,
          "for a compiled PROGRAM: the same before optimization, which says what was asked for")
      ->type_name("FILE");
  verb->add_flag("--no-compile", audit->no_compile, "count the program as it stands");
  AddFixFlag(*verb, audit->flags);
  AddReportOptions(*verb, *report);
  verb->add_flag("-q,--quiet", audit->flags.quiet, "the headline only, and no progress line");
  AddCompileFlags(*verb, audit->flags);
  verb->callback([audit, report, &command] {
    command.run = [audit, report, &command]() -> Result<ExitCode> {
      EF_TRY(report::Report result, Audit(*audit));
      return Print(result, *report, audit->flags.quiet, command.color);
    };
  });
}

}  // namespace eightfold::cli
