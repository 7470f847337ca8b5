#ifndef EIGHTFOLD_CLI_FIXING_H_
#define EIGHTFOLD_CLI_FIXING_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/compiling.h"
#include "fix/fix_pass.h"
#include "report/report.h"

namespace eightfold::cli {

// What --fix makes of one compile.
struct Fixing {
  fix::Way way{};
  // The program's own module, where it was rewritten before compiling (Way::kProgram): what asked.
  std::string original;
  fix::FixReport report;  // what was done to it, then
};

// What --fix asks for; `fix` is not empty.
rewrite::Extent ExtentOf(const CompileFlags& flags);

// How a fix gets into what `plugin` compiles, for the report.
std::string HowOf(fix::Way way, const pjrt::Plugin& plugin);

struct RewrittenProgram {
  std::string bytes;  // a HloModuleProto; empty: nothing was changed
  fix::FixReport report;
};
// Rewrites `program`, a serialized HloModuleProto, for a plugin without the pass hook.
Result<RewrittenProgram> RewriteProgram(const std::string& program, const std::string& name,
                                        const rewrite::ConvGraphOptions& options,
                                        const target::PluginVersion& version);

// Has `prepared` compile with the fix that the flags ask for, whichever way its plugin takes it;
// nothing without --fix. Errors: a program that is partitioned over devices, for a plugin without
// the pass hook.
Result<std::optional<Fixing>> PrepareFix(Prepared& prepared, const Compiler& compiler,
                                         const CompileFlags& flags);

// What came of it, for the report.
Result<report::FixInfo> OutcomeOf(const Fixing& fixing, const Compiler& compiler,
                                  const pjrt::CompileResult& result);

// Says on standard error what came of it. kCompiler when the fix failed.
ExitCode SayFix(const report::FixInfo& fix);

// --fix and --fix=all.
void AddFixFlag(CLI::App& verb, CompileFlags& flags);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_FIXING_H_
