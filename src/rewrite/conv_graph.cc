#include "rewrite/conv_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "rewrite/cudnn_plans.h"
#include "rewrite/editor.h"
#include "rewrite/replace.h"
#include "rewrite/site.h"

namespace eightfold::rewrite {
namespace {

constexpr std::array<int, 3> kUnknown{};

// Why XLA computes no FP8 convolution for this GPU and these libraries; "" when it does.
std::string MissingSupport(const ConvGraphOptions& options) {
  constexpr std::array<int, 2> kOldestToolkit = {12, 0}, kAda = {8, 9}, kHopper = {9, 0};
  constexpr std::array<int, 3> kCudnnForAda = {9, 8, 0};
  if (options.cuda_version != std::array<int, 2>{} && options.cuda_version < kOldestToolkit) {
    return fmt::format("FP8 convolutions need CUDA 12, and this is {}.{}", options.cuda_version[0],
                       options.cuda_version[1]);
  }
  const auto& gpu = options.compute_capability;
  if (gpu >= kHopper) return {};
  if (gpu < kAda) {
    return fmt::format("FP8 convolutions need compute capability 8.9, and this is {}.{}", gpu[0],
                       gpu[1]);
  }
  if (options.cudnn_version >= kCudnnForAda) return {};
  return fmt::format(
      "FP8 convolutions need cuDNN 9.8 on compute capability 8.9, and {}",
      options.cudnn_version == kUnknown
          ? "which one there is was not said"
          : fmt::format("this is {}.{}", options.cudnn_version[0], options.cudnn_version[1]));
}

bool IsControlFlow(hlo::Opcode opcode) {
  constexpr hlo::Opcode kFlow[] = {hlo::Opcode::kAsyncDone,   hlo::Opcode::kAsyncStart,
                                   hlo::Opcode::kAsyncUpdate, hlo::Opcode::kCall,
                                   hlo::Opcode::kConditional, hlo::Opcode::kScan,
                                   hlo::Opcode::kWhile};
  return std::ranges::find(kFlow, opcode) != std::end(kFlow);
}

// By index, whether a computation runs inside of one instruction, as a reducer does: there no call
// can be.
std::vector<char> Embedded(const hlo::Module& module) {
  std::vector<char> embedded(module.computations.size());
  std::vector<hlo::Computation*> callers_first = hlo::CalleesFirst(module);
  std::ranges::reverse(callers_first);
  for (const hlo::Computation* caller : callers_first) {
    for (const Instruction* i : caller->instructions) {
      if (embedded[caller->index] == 0 && IsControlFlow(i->opcode)) continue;
      for (const hlo::Computation* called : i->called) embedded[called->index] = 1;
    }
  }
  return embedded;
}

class Pass {
 public:
  Pass(hlo::Module& module, const ConvGraphOptions& options)
      : options_(options),
        names_(module),
        missing_support_(MissingSupport(options)),
        embedded_(Embedded(module)) {}

  ConvGraphResult Run(hlo::Module& module) {
    for (hlo::Computation* computation : hlo::CalleesFirst(module)) {
      if (computation->is_fusion) continue;
      if (std::ranges::any_of(computation->instructions,
                              [](const Instruction* i) { return IsConvolution(*i); })) {
        RunOn(*computation);
      }
    }
    if (result_.changed) hlo::Finish(module);
    return std::move(result_);
  }

 private:
  void RunOn(hlo::Computation& computation) {
    Editor editor(computation, names_);
    bool changed = false;
    for (Instruction* i : hlo::OperandsFirst(computation)) {
      if (!editor.IsAlive(*i)) continue;
      Finding finding = FindSite(editor, *i);
      if (finding.conv == nullptr) continue;
      if (std::string why = WhyLeftAlone(computation, finding); !why.empty()) {
        if (finding.at != nullptr && options_.extent != Extent::kHideOnly) {
          result_.near_misses.push_back(Miss(*finding.conv, *finding.at, why));
        }
        continue;
      }
      if (finding.site) changed |= Take(editor, *finding.site);
    }
    if (!changed) return;
    editor.Commit();
    result_.changed = true;
  }

  std::string WhyLeftAlone(const hlo::Computation& computation, const Finding& finding) const {
    if (!finding.site) return finding.condition;
    if (!missing_support_.empty()) return missing_support_;
    if (embedded_[computation.index] != 0) return "its computation runs inside of an instruction";
    return computation.schedule.empty() ? "" : "its computation is scheduled already";
  }

  // Replaces the convolution, or hides it; whether anything changed.
  bool Take(Editor& editor, const Site& site) {
    TypeFinding types = CheckTypes(site);
    bool all = options_.extent == Extent::kAll;
    if (types.conflict == TypeConflict::kNoCall ||
        (types.conflict == TypeConflict::kInteger && !all)) {
      if (options_.extent == Extent::kHideOnly) return false;
      result_.near_misses.push_back(Miss(*site.conv, *types.at, std::move(types.condition)));
      return false;
    }
    if (std::optional<NearMiss> miss = all ? std::nullopt : WhyHidden(site, types)) {
      result_.near_misses.push_back(*std::move(miss));
      Hide(editor, site);
      return true;
    }
    if (options_.extent == Extent::kHideOnly) return false;
    Replaced replaced = ReplaceByGraphCall(editor, site, all);
    Report(site, replaced);
    return true;
  }

  // Nothing when the call has a plan and computes what the convolution asks for.
  std::optional<NearMiss> WhyHidden(const Site& site, const TypeFinding& types) const {
    const Instruction& conv = *site.conv;
    std::string no_plan = MissingPlan(conv, site.input.value->shape->type,
                                      site.filter.value->shape->type, options_.cudnn_version);
    if (types.conflict == TypeConflict::kNone && no_plan.empty()) return std::nullopt;
    NearMiss miss = types.conflict == TypeConflict::kNone ? Miss(conv, conv, std::move(no_plan))
                                                          : Miss(conv, *types.at, types.condition);
    miss.no_plan = types.conflict == TypeConflict::kNone;
    miss.hidden = true;
    return miss;
  }

  void Report(const Site& site, const Replaced& replaced) {
    const Instruction& conv = *site.conv;
    Rewritten rewritten{.computation = std::string(conv.parent->name),
                        .convolution = std::string(conv.name),
                        .call = std::string(replaced.call->name),
                        .ops = {}};
    for (const OpGraph::Node& node : replaced.captured.graph.nodes()) {
      if (node.name != "conv") rewritten.ops.emplace_back(node.name);
    }
    hlo::PrimitiveType type = replaced.captured.endpoint->shape->type;
    bool is_rounded = type != site.result->shape->type;
    if (is_rounded && hlo::IsF8(type)) rewritten.ops.emplace_back(hlo::Name(type));
    result_.rewritten.push_back(std::move(rewritten));
    for (const Refusal& refusal : replaced.captured.refusals) {
      NearMiss miss = Miss(conv, *refusal.at, refusal.why);
      miss.left_alone = false;
      result_.near_misses.push_back(std::move(miss));
    }
  }

  static NearMiss Miss(const Instruction& conv, const Instruction& at, std::string condition) {
    return {.computation = std::string(conv.parent->name),
            .instruction = std::string(at.name),
            .convolution = std::string(conv.name),
            .condition = std::move(condition),
            .left_alone = true};
  }

  const ConvGraphOptions& options_;
  Names names_;
  std::string missing_support_;
  std::vector<char> embedded_;
  ConvGraphResult result_;
};

}  // namespace

ConvGraphResult ConvGraph(hlo::Module& module, const ConvGraphOptions& options) {
  return Pass(module, options).Run(module);
}

}  // namespace eightfold::rewrite
