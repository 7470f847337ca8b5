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
    kernel.ask = tracer.TraceAsk(kernel, nullptr);
    kernel.ask.inferred = true;
    kernel.status = IsOpen(kernel, *census.module) ? Status::kAsAsked : Judge(kernel);
  }
}

// The program before optimization: its kernels and what they ask for.
struct Program {
  explicit Program(const hlo::Module& before)
      : graph(before),
        kernels(FindKernels(before, graph)),
        asked(FindAsked(before, graph, kernels)) {}

  CallGraph graph;
  std::vector<Kernel> kernels;
  std::vector<Asked> asked;
};

}  // namespace

Census TakeCensus(std::shared_ptr<const hlo::Module> before,
                  std::shared_ptr<const hlo::Module> after) {
  Census census;
  census.module = after;
  census.before = before;
  census.graph = std::make_unique<CallGraph>(*after);
  census.kernels = FindKernels(*after, *census.graph);
  census.opaque_kernels = CountOpaqueKernels(*census.graph);
  if (before == nullptr) {
    InferAsks(census);
    return census;
  }
  Program program(*before);
  census.reached_too_often = std::ranges::any_of(program.asked, &Asked::from_anywhere);
  std::vector<int> match = Match(program.asked, census.kernels);
  std::vector<char> found(program.asked.size());
  for (size_t i = 0; i < census.kernels.size(); ++i) {
    Kernel& kernel = census.kernels[i];
    if (match[i] >= 0) {
      kernel.ask = program.asked[match[i]].ask;
      found[match[i]] = 1;
    }
    kernel.status = Judge(kernel);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) continue;
    const Asked& asked = program.asked[i];
    census.gone.push_back({asked.op_name, asked.ask, asked.kernel->family, asked.kernel->frames});
  }
  return census;
}

void AddOtherCandidate(Census& census, const hlo::Module& without_triton) {
  Program program(*census.before);
  CallGraph graph(without_triton);
  std::vector<Kernel> others = FindKernels(without_triton, graph);
  std::vector<const Kernel*> other_of(program.asked.size());
  std::vector<int> match = Match(program.asked, others);
  for (size_t i = 0; i < others.size(); ++i) {
    if (match[i] >= 0) other_of[match[i]] = &others[i];
  }
  match = Match(program.asked, census.kernels);
  for (size_t i = 0; i < census.kernels.size(); ++i) {
    Kernel& kernel = census.kernels[i];
    const Kernel* other = match[i] >= 0 ? other_of[match[i]] : nullptr;
    bool open = kernel.status == Status::kDemoted && kernel.backend == Backend::kTriton;
    if (!open || other == nullptr) continue;
    kernel.without_triton = Kernel::Candidate{other->backend, other->runs_in};
    if (!RunsWider(other->runs_in, kernel.ask.types)) kernel.status = Status::kUndecided;
  }
}

bool NeedsOtherCandidate(const Census& census) {
  return std::ranges::any_of(census.kernels, [](const Kernel& kernel) {
    return kernel.status == Status::kDemoted && kernel.backend == Backend::kTriton;
  });
}

}  // namespace eightfold::census
