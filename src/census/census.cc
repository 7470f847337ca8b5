#include "census/census.h"

#include <algorithm>

#include "census/find_kernels.h"
#include "census/origin.h"

namespace eightfold::census {
namespace {

bool RunsWider(const OperandTypes& runs_in, const OperandTypes& asked) {
  return IsF8(asked) && !IsF8(runs_in);
}

bool Is8BitInteger(hlo::PrimitiveType type) {
  return hlo::IsIntegral(type) && hlo::BitWidth(type) <= 8;
}

Status Judge(const Kernel& kernel) {
  if (!kernel.ask.known) return Status::kUnmatched;
  const OperandTypes& asked = kernel.ask.types;
  auto wider_than_8 = [](hlo::PrimitiveType type) { return hlo::BitWidth(type) > 8; };
  bool runs_wide = std::ranges::any_of(kernel.runs_in, wider_than_8);
  if (RunsWider(kernel.runs_in, asked)) return Status::kDemoted;
  if (runs_wide && std::ranges::none_of(asked, wider_than_8) &&
      std::ranges::any_of(asked, Is8BitInteger)) {
    return Status::kIntegerWidened;
  }
  bool runs_f32 = std::ranges::any_of(
      kernel.runs_in, [](auto type) { return hlo::IsFloating(type) && hlo::BitWidth(type) >= 32; });
  // Before weight-only: 8-bit weights widened to bf16 asked for a bf16 product, which f32 is not
  // either.
  if (Is16Bit(asked) && runs_f32) return Status::kF32FromBf16;
  if (IsWeightOnly(asked) && !IsWeightOnly(kernel.runs_in)) return Status::kWeightOnly;
  return Status::kAsAsked;
}

// A plain convolution or dot of a module that is not compiled to the end: what will run is not
// decided.
bool IsOpen(const Kernel& kernel, const hlo::Module& module) {
  return kernel.backend == Backend::kUnlowered && !module.is_scheduled;
}

void InferAsks(Census& census) {
  Contexts contexts;
  OriginTracer tracer(*census.graph, contexts);
  for (Kernel& kernel : census.kernels) {
    kernel.ask.known = kernel.ask.inferred = true;
    for (int side : {0, 1}) {
      auto origin = tracer.Trace(*kernel.operands[side], nullptr);
      kernel.ask.types[side] = origin.type;
      kernel.ask.scale = std::max(kernel.ask.scale, origin.scale);
    }
  }
}

// Of each asked kernel, how it runs in the candidate without Triton; null when it has no
// counterpart there.
std::vector<const Kernel*> OtherCandidates(const std::vector<Asked>& asked,
                                           const std::vector<Kernel>& others) {
  std::vector<const Kernel*> other_of(asked.size());
  std::vector<int> match = Match(asked, others);
  for (size_t i = 0; i < others.size(); ++i) {
    if (match[i] >= 0) other_of[match[i]] = &others[i];
  }
  return other_of;
}

}  // namespace

Census TakeCensus(std::shared_ptr<const hlo::Module> before,
                  std::shared_ptr<const hlo::Module> after,
                  std::shared_ptr<const hlo::Module> after_without_triton) {
  Census census;
  census.module = after;
  census.before = before;
  census.graph = std::make_unique<CallGraph>(*after);
  census.kernels = FindKernels(*after, *census.graph);
  census.opaque_kernels = CountOpaqueKernels(*census.graph);
  if (before == nullptr) {
    InferAsks(census);
    for (Kernel& kernel : census.kernels) {
      kernel.status = IsOpen(kernel, *after) ? Status::kAsAsked : Judge(kernel);
    }
    return census;
  }
  CallGraph before_graph(*before);
  std::vector<Kernel> before_kernels = FindKernels(*before, before_graph);
  std::vector<Asked> asked = FindAsked(*before, before_graph, before_kernels);
  census.reached_too_often = std::ranges::any_of(asked, [&](const Asked& a) {
    return a.context == nullptr && !a.kernel->node->sites.empty();
  });
  std::vector<int> match = Match(asked, census.kernels);

  std::unique_ptr<CallGraph> other_graph;
  std::vector<Kernel> others;
  if (after_without_triton != nullptr) {
    other_graph = std::make_unique<CallGraph>(*after_without_triton);
    others = FindKernels(*after_without_triton, *other_graph);
  }
  std::vector<const Kernel*> other_of = OtherCandidates(asked, others);

  std::vector<char> found(asked.size());
  for (size_t i = 0; i < census.kernels.size(); ++i) {
    Kernel& kernel = census.kernels[i];
    if (match[i] >= 0) {
      kernel.ask = asked[match[i]].ask;
      found[match[i]] = 1;
    }
    kernel.status = Judge(kernel);
    const Kernel* other = match[i] >= 0 ? other_of[match[i]] : nullptr;
    if (kernel.status == Status::kDemoted && kernel.backend == Backend::kTriton &&
        other != nullptr) {
      kernel.other_candidate = other->runs_in;
      kernel.other_backend = BackendName(other->backend);
      if (!RunsWider(other->runs_in, kernel.ask.types)) kernel.status = Status::kUndecided;
    }
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    if (found[i]) continue;
    census.gone.push_back(
        {asked[i].op_name, asked[i].ask, asked[i].kernel->family, asked[i].kernel->frames});
  }
  return census;
}

bool NeedsOtherCandidate(const Census& census) {
  return std::ranges::any_of(census.kernels, [](const Kernel& kernel) {
    return kernel.status == Status::kDemoted && kernel.backend == Backend::kTriton;
  });
}

}  // namespace eightfold::census
