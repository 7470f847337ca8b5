#include "report/json.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace eightfold::report {
namespace {

using Json = nlohmann::ordered_json;
using census::Kernel;

Json Types(const census::OperandTypes& types) {
  if (types[0] == hlo::PrimitiveType::kInvalid) return nullptr;
  return Json::array({hlo::Name(types[0]), hlo::Name(types[1])});
}

Json RunsJson(const census::Runs& runs) {
  return {{"count", runs.AtLeastOnce()}, {"exact", runs.IsExact()}, {"text", runs.ToString()}};
}

std::string_view ViaName(census::Via via) {
  switch (via) {
    case census::Via::kEntry:
      return "entry";
    case census::Via::kCall:
      return "call";
    case census::Via::kWhileBody:
      return "while_body";
    case census::Via::kWhileCondition:
      return "while_condition";
    case census::Via::kBranch:
      return "branch";
    case census::Via::kAsync:
      return "async";
  }
  return "?";
}

Json FrameJson(const hlo::StackFrames::Frame& frame) {
  return {{"file", frame.file},
          {"line", frame.line},
          {"column", frame.column},
          {"function", frame.function}};
}

Json FramesJson(const std::vector<hlo::StackFrames::Frame>& frames) {
  Json list = Json::array();
  for (const auto& frame : frames) list.push_back(FrameJson(frame));
  return list;
}

// What one run of a computation launches.
struct Load {
  int kernels = 0;
  double flops = 0;
};

Json ComputationJson(const census::CallNode& node, const Load& load) {
  Json sites = Json::array();
  for (const census::CallSite& site : node.sites) {
    Json one = {{"computation", site.instruction->parent->name},
                {"instruction", site.instruction->name},
                {"via", ViaName(site.via)}};
    if (site.via == census::Via::kBranch) one["branch"] = site.branch;
    sites.push_back(std::move(one));
  }
  return {{"name", node.computation->name},
          {"reached_from", std::move(sites)},
          {"depth", node.depth},
          {"runs", RunsJson(node.runs)},
          {"alternative", node.alternative},
          {"kernels", load.kernels},
          {"flops_per_run", load.flops}};
}

Json ShapesJson(const Kernel& kernel) {
  Json shapes = Json::array();
  for (const hlo::Instruction* operand : kernel.operands) {
    if (operand != nullptr) shapes.push_back(hlo::ToString(*operand->shape, false));
  }
  return shapes;
}

Json KernelJson(const Kernel& kernel, size_t id, const std::string& finding) {
  Json json = {{"id", id},
               {"computation", kernel.node->computation->name},
               {"instruction", kernel.instruction->name},
               {"launch", kernel.launch->name},
               {"family", census::FamilyName(kernel.family)},
               {"backend", census::BackendName(kernel.backend)},
               {"custom_call_target", kernel.target()},
               {"status", census::StatusName(kernel.status)},
               {"runs_in", Types(kernel.runs_in)},
               {"asked_for", kernel.ask.known ? Types(kernel.ask.types) : Json()},
               {"asked_inferred", kernel.ask.inferred},
               {"tensor_cores", kernel.uses_tensor_cores()},
               {"operands", ShapesJson(kernel)},
               {"output", hlo::ToString(*kernel.output, false)},
               {"flops", kernel.flops},
               {"bytes", kernel.bytes},
               {"runs", RunsJson(kernel.node->runs)},
               {"op_name", kernel.metadata.op_name},
               {"source", kernel.frames.empty() ? Json() : FrameJson(kernel.frames.front())},
               {"frames", FramesJson(kernel.frames)},
               {"epilogue", kernel.epilogue},
               {"finding", finding.empty() ? Json() : Json(finding)}};
  if (kernel.without_triton) {
    json["without_triton"] = {{"backend", census::BackendName(kernel.without_triton->backend)},
                              {"runs_in", Types(kernel.without_triton->runs_in)}};
  }
  return json;
}

Json KernelsJson(const Section& section) {
  std::vector<std::string> finding_of(section.census.kernels.size());
  for (const diagnose::Finding& finding : section.findings) {
    for (size_t kernel : finding.kernels) finding_of[kernel] = finding.id;
  }
  Json kernels = Json::array();
  for (size_t i = 0; i < finding_of.size(); ++i) {
    kernels.push_back(KernelJson(section.census.kernels[i], i, finding_of[i]));
  }
  return kernels;
}

Json TotalsJson(const census::Census& census) {
  using census::Status;
  Totals totals = Sum(census);
  return {{"kernels", census.kernels.size()},
          {"custom_calls", totals.custom_calls},
          {"dots", totals.dots},
          {"flops", totals.flops},
          {"flops_by_type", totals.flops_by_type},
          {"demoted_flops", totals.demoted_flops},
          {"demoted", totals.Count(Status::kDemoted)},
          {"undecided", totals.Count(Status::kUndecided)},
          {"f32_from_bf16", totals.Count(Status::kF32FromBf16)},
          {"weight_only", totals.Count(Status::kWeightOnly)},
          {"integer_widened", totals.Count(Status::kIntegerWidened)},
          {"without_tensor_cores", totals.without_tensor_cores},
          {"unmatched", totals.Count(Status::kUnmatched)}};
}

std::string_view SeverityName(diagnose::Severity severity) {
  switch (severity) {
    case diagnose::Severity::kDemoted:
      return "demoted";
    case diagnose::Severity::kAny:
      return "any";
    case diagnose::Severity::kNote:
      return "note";
  }
  return "?";
}

Json FindingJson(const diagnose::Finding& finding) {
  return {{"id", finding.id},
          {"severity", SeverityName(finding.severity)},
          {"title", finding.title},
          {"kernels", finding.kernels},
          {"cause", finding.cause},
          {"fix", finding.fix},
          {"doc", "docs/findings/" + finding.id + ".md"}};
}

Json TargetJson(const Section& section) {
  if (!section.target) return nullptr;
  return {{"name", section.target->name},
          {"title", section.target->title},
          {"architecture", section.target->architecture}};
}

Json CompilerJson(const Section& section) {
  if (section.compiler.plugin.empty()) return nullptr;
  return {{"plugin", section.compiler.plugin},
          {"version", section.compiler.version},
          {"path", section.compiler.path},
          {"seconds", section.compiler.seconds}};
}

Json FixJson(const Section& section) {
  if (!section.fix) return nullptr;
  Json rewritten = Json::array();
  for (const rewrite::Rewritten& one : section.fix->rewritten) {
    rewritten.push_back({{"computation", one.computation},
                         {"convolution", one.convolution},
                         {"call", one.call},
                         {"ops", one.ops}});
  }
  Json misses = Json::array();
  for (const rewrite::NearMiss& miss : section.fix->near_misses) {
    misses.push_back({{"computation", miss.computation},
                      {"instruction", miss.instruction},
                      {"convolution", miss.convolution},
                      {"condition", miss.condition},
                      {"left_alone", miss.left_alone},
                      {"no_plan", miss.no_plan},
                      {"hidden", miss.hidden}});
  }
  return {{"how", section.fix->how},
          {"rewritten", std::move(rewritten)},
          {"near_misses", std::move(misses)},
          {"pass_seconds", section.fix->pass_seconds},
          {"compile_seconds", section.fix->compile_seconds},
          {"error", section.fix->error.empty() ? Json() : Json(section.fix->error)}};
}

Json ToolJson(const Report& report) {
  return {{"name", "eightfold"}, {"version", report.tool_version}};
}

Json SectionJson(const Report& report, const Section& section) {
  const census::Census& census = section.census;
  std::unordered_map<const census::CallNode*, Load> loads;
  for (const Kernel& kernel : census.kernels) {
    Load& load = loads[kernel.node];
    ++load.kernels;
    load.flops += kernel.flops;
  }
  Json computations = Json::array();
  for (const census::CallNode& node : census.graph->nodes()) {
    computations.push_back(ComputationJson(node, loads[&node]));
  }
  Json gone = Json::array();
  for (const auto& kernel : census.gone) {
    gone.push_back({{"family", census::FamilyName(kernel.family)},
                    {"op_name", kernel.op_name},
                    {"asked_for", Types(kernel.ask.types)},
                    {"source", kernel.frames.empty() ? Json() : FrameJson(kernel.frames.front())}});
  }
  Json findings = Json::array();
  for (const diagnose::Finding& finding : section.findings)
    findings.push_back(FindingJson(finding));
  return {{"schema", 1},
          {"tool", ToolJson(report)},
          {"module",
           {{"name", census.module->name},
            {"input", section.input},
            {"compiled", section.compiled},
            {"asked_from", census.before ? "module before optimization" : "the module itself"},
            {"num_partitions", census.module->num_partitions},
            {"replica_count", census.module->replica_count}}},
          {"target", TargetJson(section)},
          {"compiler", CompilerJson(section)},
          {"fix", FixJson(section)},
          {"computations", std::move(computations)},
          {"kernels", KernelsJson(section)},
          {"totals", TotalsJson(census)},
          {"not_in_compiled", std::move(gone)},
          {"findings", std::move(findings)}};
}

}  // namespace

std::string WriteJson(const Report& report) {
  Json json;
  if (!report.many && report.sections.size() == 1) {
    json = SectionJson(report, report.sections.front());
  } else {
    json = {{"schema", 1}, {"tool", ToolJson(report)}, {"sections", Json::array()}};
    for (const Section& section : report.sections)
      json["sections"].push_back(SectionJson(report, section));
  }
  // Names in a proto may hold any bytes; they must not stop the report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace eightfold::report
