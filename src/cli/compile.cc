#include <memory>
#include <optional>
#include <utility>

#include "cli/compiling.h"
#include "cli/fixing.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace eightfold::cli {
namespace {

struct Options {
  std::string program;
  std::string out;
  std::string dump_dir;
  bool raw = false;
  CompileFlags flags;
};

Result<ExitCode> Run(const Options& options) {
  EF_TRY(OutputForm form, FormOf(options.out, OutputForm::kText));
  EF_TRY(Input input, OpenInput(options.program));
  EF_TRY(Compiler compiler, ChooseCompiler(options.flags));
  EF_TRY(Prepared prepared, Prepare(input, compiler, options.flags,
                                    {.raw = options.raw, .dump_dir = options.dump_dir}));
  EF_TRY(std::optional<Fixing> fixing, PrepareFix(prepared, compiler, options.flags));
  EF_TRY(pjrt::CompileResult result, CompileWithProgress(prepared, options.flags));
  if (form == OutputForm::kProto) {
    EF_CHECK_OK(WriteFile(options.out, result.after));
  } else {
    EF_TRY(std::unique_ptr<hlo::Module> module,
           hlo::ReadVerifiedProto(std::move(result.after),
                                  prepared.request.program_name + " (compiled)"));
    EF_CHECK_OK(WriteModule(*module, form, options.out));
  }
  if (!fixing) return ExitCode::kClean;
  EF_TRY(report::FixInfo info, OutcomeOf(*fixing, compiler, result));
  return SayFix(info);
}

}  // namespace

void RegisterCompile(CLI::App& app, Command& command) {
  CLI::App* verb =
      AddVerb(app, command, "compile", "Compile a program for a GPU that need not be there",
              {"eightfold compile move.pb -o compiled.hlo --target rtx5070 --plugin 0.10.2",
               "eightfold compile step.mlir -o compiled.pb --target h100 --dump passes/"},
              kCompilerExitCodes);
  auto options = std::make_shared<Options>();
  verb->add_option("PROGRAM", options->program,
                   "HLO text or proto, StableHLO text or bytecode; - for standard input")
      ->required();
  verb->add_option("-o,--output", options->out,
                   "where the compiled module goes: .pb for a proto, .hlo or .txt for text; - for "
                   "text on standard output")
      ->type_name("OUT")
      ->required();
  verb->add_option("--dump", options->dump_dir,
                   "also put the module after each pass that changed it there")
      ->type_name("DIR");
  verb->add_flag("--raw", options->raw,
                 "hand the file to the plugin as it is: unverified, ids not renumbered");
  AddFixFlag(*verb, options->flags);
  AddCompileFlags(*verb, options->flags);
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
