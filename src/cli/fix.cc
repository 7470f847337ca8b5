#include <fmt/format.h>

#include <memory>

#include "cli/fixing.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "fix/fix_pass.h"
#include "hlo/sharding.h"

namespace eightfold::cli {
namespace {

struct Options {
  std::string in;
  std::string out;
  bool all = false;
  CompileFlags flags;
};

Result<void> CheckFixable(const Input& input, const hlo::Module& module) {
  if (module.is_scheduled) {
    return Fail(fmt::format("{} is compiled already", input.path),
                "fix the program that it was compiled from: eightfold fix PROGRAM OUT, or compile "
                "it with --fix");
  }
  if (int64_t devices = hlo::ShardedOver(module); devices > 1) {
    return Fail(
        fmt::format("{} is sharded over {} devices and not partitioned yet", input.path, devices),
        "before partitioning, graph calls would run whole on every device: compile it with "
        "--fix, which works behind the partitioning");
  }
  return {};
}

Result<ExitCode> Run(const Options& options) {
  EF_TRY(OutputForm form, FormOf(options.out, OutputForm::kText));
  EF_TRY(target::Gpu gpu, ChooseTarget(options.flags));
  EF_TRY(Input input, OpenInput(options.in));
  if (input.kind == InputKind::kStableHloText || input.kind == InputKind::kStableHloBytecode) {
    return Fail(fmt::format("{} is {}, not HLO", options.in, Name(input.kind)),
                "eightfold compile --fix compiles and fixes it");
  }
  EF_TRY(std::unique_ptr<hlo::Module> module, LoadModule(input));
  EF_CHECK_OK(CheckFixable(input, *module));
  auto extent = options.all ? rewrite::Extent::kAll : rewrite::Extent::kPlanned;
  rewrite::ConvGraphResult result =
      rewrite::ConvGraph(*module, fix::OptionsForProgram(gpu, extent));
  EF_CHECK_OK(WriteModule(*module, form, options.out));
  return SayFix({.how = "for " + gpu.title,
                 .rewritten = std::move(result.rewritten),
                 .near_misses = std::move(result.near_misses)});
}

}  // namespace

void RegisterFix(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(app, command, "fix",
                           "Rewrite the FP8 convolutions of a program into the cuDNN graph calls "
                           "that a compiler may fail to make of them",
                           {"eightfold fix move.pb fixed.pb --target rtx5070",
                            "eightfold fix step.hlo - --target h100 --all"});
  auto options = std::make_shared<Options>();
  verb->add_option("IN", options->in, "HLO text or proto; - for standard input")->required();
  verb->add_option(
          "OUT", options->out,
          "where the rewritten program goes: .pb for a proto, .hlo or .txt for text; - for "
          "text on standard output")
      ->required();
  verb->add_flag("--all", options->all, "also those that cuDNN has no plan for");
  AddTargetFlag(*verb, options->flags);
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
