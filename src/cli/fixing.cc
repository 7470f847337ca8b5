#include "cli/fixing.h"

#include <fmt/format.h>

#include <CLI/App.hpp>

#include "report/fix_wording.h"

namespace eightfold::cli {
namespace {

// Before partitioning, a custom call is a black box that would run whole on every device.
Result<void> RefusePartitioned(const Prepared& prepared) {
  const pjrt::CompileRequest& request = prepared.request;
  if (request.num_partitions == 1) return {};
  return Fail(
      fmt::format("{} is partitioned over {} devices, and {} has no hook to fix it behind the "
                  "partitioning",
                  request.program_name, request.num_partitions, request.plugin.Name()),
      "plugins 0.10.2 and newer have the hook; before partitioning, graph calls would run whole on "
      "every device");
}

// The program as HLO; for StableHLO, which only a plugin reads, what the plugin makes of it.
Result<std::string> ProgramAsHlo(const Prepared& prepared, const CompileFlags& flags) {
  if (prepared.request.format == pjrt::CompileRequest::Format::kHlo) {
    return std::string(prepared.request.program);
  }
  EF_TRY(pjrt::CompileResult unfixed, CompileWithProgress(prepared, flags));
  return std::move(unfixed.before);
}

Result<void> RewritePrepared(Prepared& prepared, const rewrite::ConvGraphOptions& options,
                             const CompileFlags& flags, Fixing& fixing) {
  EF_CHECK_OK(RefusePartitioned(prepared));
  EF_TRY(fixing.original, ProgramAsHlo(prepared, flags));
  EF_TRY(RewrittenProgram rewritten, RewriteProgram(fixing.original, prepared.request.program_name,
                                                    options, prepared.request.plugin.version));
  fixing.report = std::move(rewritten.report);
  if (rewritten.bytes.empty()) return {};
  prepared.bytes = std::make_unique<std::string>(std::move(rewritten.bytes));
  prepared.request.program = *prepared.bytes;
  prepared.request.format = pjrt::CompileRequest::Format::kHlo;
  return {};
}

}  // namespace

rewrite::Extent ExtentOf(const CompileFlags& flags) {
  return flags.fix == "all" ? rewrite::Extent::kAll : rewrite::Extent::kPlanned;
}

Result<RewrittenProgram> RewriteProgram(const std::string& program, const std::string& name,
                                        const rewrite::ConvGraphOptions& options,
                                        const target::PluginVersion& version) {
  EF_TRY(std::unique_ptr<hlo::Module> module, hlo::ReadVerifiedProto(program, name));
  rewrite::ConvGraphResult result = rewrite::ConvGraph(*module, options);
  RewrittenProgram rewritten{
      .report = {std::move(result.rewritten), std::move(result.near_misses)}};
  if (!result.changed) return rewritten;
  EF_TRY(rewritten.bytes,
         hlo::WriteProto(*module, hlo::ProtoKind::kModule, ProtoTargetOf(version)));
  return rewritten;
}

std::string HowOf(fix::Way way, const pjrt::Plugin& plugin) {
  switch (way) {
    case fix::Way::kHook:
      return "inside the compiler";
    case fix::Way::kProgram:
      return "in the program, before compiling: " + plugin.Name() + " has no pass hook";
    case fix::Way::kUpstream:
      break;
  }
  return plugin.Name() + " rewrites FP8 convolutions in all computations by itself";
}

Result<std::optional<Fixing>> PrepareFix(Prepared& prepared, const Compiler& compiler,
                                         const CompileFlags& flags) {
  if (flags.fix.empty()) return std::nullopt;
  std::optional<Fixing> fixing(Fixing{.way = fix::WayFor(compiler.plugin.version)});
  auto options = fix::OptionsFor(compiler.plugin.version, compiler.gpu, ExtentOf(flags));
  if (!options) return fixing;
  if (fixing->way == fix::Way::kProgram) {
    EF_CHECK_OK(RewritePrepared(prepared, *options, flags, *fixing));
  } else {
    prepared.request.pass = fix::Describe(*options);
  }
  return fixing;
}

Result<report::FixInfo> OutcomeOf(const Fixing& fixing, const Compiler& compiler,
                                  const pjrt::CompileResult& result) {
  report::FixInfo info{.how = HowOf(fixing.way, compiler.plugin)};
  info.error = result.pass_error;
  if (!result.pass_report.empty()) {
    info.pass_seconds = result.pass_seconds;
    info.compile_seconds = result.compile_seconds;
  }
  fix::FixReport report = fixing.report;
  if (!result.pass_report.empty()) {
    EF_TRY(report, fix::ParseReport(result.pass_report));
  }
  info.rewritten = std::move(report.rewritten);
  info.near_misses = std::move(report.near_misses);
  return info;
}

ExitCode SayFix(const report::FixInfo& fix) {
  for (const std::string& line : report::FixLines(fix)) fmt::print(stderr, "{}\n", line);
  return fix.error.empty() ? ExitCode::kClean : ExitCode::kCompiler;
}

void AddFixFlag(CLI::App& verb, CompileFlags& flags) {
  verb.add_flag("--fix{planned}", flags.fix,
                "rewrite the FP8 convolutions that the compiler would lose; --fix=all also those "
                "that cuDNN has no plan for")
      ->check(CLI::IsMember({"planned", "all"}).description(""));
}

}  // namespace eightfold::cli
