#include "cli/auditing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/source.h"
#include "census/census.h"
#include "cli/compiling.h"
#include "cli/dump_dir.h"
#include "cli/fixing.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diagnose/diagnose.h"
#include "hlo/proto/proto.h"
#include "report/json.h"
#include "report/table.h"

namespace eightfold::cli {
namespace {

using ModulePtr = std::shared_ptr<const hlo::Module>;

constexpr char kTritonOff[] = "--xla_gpu_enable_triton_gemm=false";

diagnose::Setting SettingOf(const Compiler& compiler) {
  return {.plugin_version = compiler.plugin.version.Release(),
          .compute_capability = compiler.gpu.ComputeCapability(),
          .cudnn_version = compiler.gpu.CudnnVersion()};
}

// The candidate without Triton; null when that does not compile (scaled-dot is such a case): then
// there is one candidate only, and nothing to choose between.
ModulePtr CompileWithoutTriton(Prepared& prepared, const CompileFlags& flags) {
  prepared.request.xla_flags.emplace_back(kTritonOff);
  auto result = CompileWithProgress(prepared, flags);
  prepared.request.xla_flags.pop_back();
  if (!result) return nullptr;
  auto module = hlo::ReadVerifiedProto(std::move(result->after), prepared.request.program_name);
  return module ? ModulePtr(*std::move(module)) : nullptr;
}

Result<report::Section> AuditByCompiling(const Input& input, const CompileFlags& flags) {
  EF_TRY(Compiler compiler, ChooseCompiler(flags));
  EF_TRY(Prepared prepared, Prepare(input, compiler, flags));
  EF_TRY(std::optional<Fixing> fixing, PrepareFix(prepared, compiler, flags));
  EF_TRY(pjrt::CompileResult result, CompileWithProgress(prepared, flags));
  const std::string& name = prepared.request.program_name;
  // In a partitioned program the module after partitioning is the one whose shapes are per device,
  // too.
  std::string before_bytes = result.partitioned.empty() ? result.before : result.partitioned;
  if (fixing && !fixing->original.empty()) before_bytes = std::move(fixing->original);
  EF_TRY(std::unique_ptr<hlo::Module> before,
         hlo::ReadVerifiedProto(std::move(before_bytes), name + " (before optimization)"));
  EF_TRY(std::unique_ptr<hlo::Module> after,
         hlo::ReadVerifiedProto(std::move(result.after), name + " (compiled)"));
  after->num_partitions = prepared.request.num_partitions;
  after->replica_count = prepared.request.num_replicas;

  report::Section section;
  section.input = name;
  section.census = census::TakeCensus(std::move(before), std::move(after));
  if (census::NeedsOtherCandidate(section.census)) {
    ModulePtr other = CompileWithoutTriton(prepared, flags);
    if (other != nullptr) census::AddOtherCandidate(section.census, *other);
  }
  section.findings = diagnose::Diagnose(section.census, SettingOf(compiler));
  section.target = {compiler.gpu.name, compiler.gpu.title, compiler.gpu.Architecture()};
  section.compiler = {compiler.plugin.package, compiler.plugin.version_text, compiler.plugin.path,
                      result.seconds};
  if (fixing) {
    EF_TRY(section.fix, OutcomeOf(*fixing, compiler, result));
  }
  return section;
}

report::Section AuditAsItStands(std::string name, ModulePtr before, ModulePtr module,
                                const CompileFlags& flags) {
  report::Section section;
  section.input = std::move(name);
  section.compiled = module->is_scheduled;
  section.census = census::TakeCensus(std::move(before), std::move(module));
  section.findings = diagnose::Diagnose(section.census, {});
  bool says_how =
      !flags.target.empty() || !flags.plugin.empty() || flags.partitions != 0 || !flags.fix.empty();
  if (says_how && section.compiled) {
    section.notes.push_back(fmt::format("already compiled: {}, {}, {} and {} play no part",
                                        Spell(flags, "target"), Spell(flags, "plugin"),
                                        Spell(flags, "partitions"), Spell(flags, "fix")));
  }
  return section;
}

Result<report::Report> AuditDirectory(const AuditOptions& options) {
  report::Report report{
      .tool_version = EIGHTFOLD_VERSION, .sections = {}, .many = true, .errors = {}};
  auto audit = [&](const DumpedModule& dumped) -> Result<report::Section> {
    EF_TRY(Input after_input, OpenInput(dumped.after));
    EF_TRY(std::unique_ptr<hlo::Module> after, LoadModule(after_input));
    std::unique_ptr<hlo::Module> before;
    if (!dumped.before.empty()) {
      EF_TRY(Input before_input, OpenInput(dumped.before));
      EF_TRY(before, LoadModule(before_input));
    }
    return AuditAsItStands(dumped.after, std::move(before), std::move(after), options.flags);
  };
  EF_TRY(AuditedDumps audited, AuditDumps(options.program, !options.flags.quiet, audit));
  report.sections = std::move(audited.sections);
  report.without_matrix_work = audited.without_matrix_work;
  report.errors = std::move(audited.errors);
  return report;
}

// A compiled module of which nothing is found in the program it is said to come from.
bool AllUnmatched(const census::Census& census) {
  return census.before != nullptr && !census.kernels.empty() &&
         std::ranges::all_of(census.kernels, [](const census::Kernel& kernel) {
           return kernel.status == census::Status::kUnmatched;
         });
}

Result<report::Section> AuditRead(const AuditOptions& options, std::string name,
                                  std::unique_ptr<hlo::Module> module) {
  std::unique_ptr<hlo::Module> before;
  if (!options.before.empty()) {
    EF_TRY(Input input, OpenInput(options.before));
    EF_TRY(before, LoadModule(input));
  }
  report::Section section =
      AuditAsItStands(std::move(name), std::move(before), std::move(module), options.flags);
  if (!options.before.empty() && AllUnmatched(section.census)) {
    return Fail(fmt::format("no kernel of {} is found in {}", options.program, options.before),
                "--before names the program that the module was compiled from");
  }
  return section;
}

}  // namespace

Result<report::Report> Audit(const AuditOptions& options) {
  EF_TRY(Input input, OpenInput(options.program));
  return AuditInput(input, options);
}

Result<report::Report> AuditInput(const Input& input, const AuditOptions& options) {
  if (input.kind == InputKind::kDumpDirectory) return AuditDirectory(options);
  report::Report report{.tool_version = EIGHTFOLD_VERSION, .sections = {}, .errors = {}};
  bool stable_hlo =
      input.kind == InputKind::kStableHloText || input.kind == InputKind::kStableHloBytecode;
  if (options.no_compile && !options.flags.fix.empty()) {
    return Fail("--fix and --no-compile exclude each other",
                "a fix is part of a compile; eightfold fix rewrites the program itself");
  }
  if (stable_hlo && options.no_compile) {
    return Fail(fmt::format("{} is {}, which has to be compiled to be counted", options.program,
                            Name(input.kind)),
                "eightfold audit PROGRAM compiles it");
  }
  if (!stable_hlo) {
    EF_TRY(std::unique_ptr<hlo::Module> module, LoadModule(input));
    if (options.no_compile || module->is_scheduled) {
      EF_TRY(report::Section section, AuditRead(options, input.source->name(), std::move(module)));
      report.sections.push_back(std::move(section));
      return report;
    }
  }
  if (!options.before.empty()) {
    return Fail(
        "--before goes with a compiled module",
        fmt::format("{} is not compiled; it is itself the program before", options.program));
  }
  EF_TRY(report::Section section, AuditByCompiling(input, options.flags));
  report.sections.push_back(std::move(section));
  return report;
}

void AddReportOptions(CLI::App& verb, ReportOptions& options) {
  AddFormatOption(verb, options.format);
  verb.add_option("--fail-on", options.fail_on,
                  "exit with 1 for FP8 demotions (demoted, the default), for any finding "
                  "(undecided, f32←bf16, "
                  "weight-only and matmuls without tensor cores, too), or never")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"demoted", "any", "never"}).description(""));
  verb.add_option("--top", options.top, "groups of kernels to show for each finding")
      ->type_name("N")
      ->capture_default_str();
}

Result<ExitCode> Print(const report::Report& report, const ReportOptions& options,
                       bool headline_only, ColorMode color) {
  std::string text;
  if (options.format == "json") {
    text = report::WriteJson(report);
  } else {
    report::TableOptions table;
    table.color = UseColor(color, STDOUT_FILENO);
    table.width = static_cast<size_t>(std::max(60, Width(STDOUT_FILENO, 110)));
    table.top = options.top;
    table.headline_only = headline_only;
    text = report::WriteTable(report, table);
  }
  EF_CHECK_OK(WriteFile("-", text));
  for (const Error& error : report.errors) fmt::print(stderr, "{}\n", error.Format());
  if (!report.errors.empty()) return ExitCode::kInput;
  if (std::ranges::any_of(report.sections, [](const report::Section& section) {
        return section.fix && !section.fix->error.empty();
      })) {
    return ExitCode::kCompiler;
  }
  report::FailOn fail_on = options.fail_on == "never" ? report::FailOn::kNever
                           : options.fail_on == "any" ? report::FailOn::kAny
                                                      : report::FailOn::kDemoted;
  return report::Verdict(report, fail_on);
}

}  // namespace eightfold::cli
