#include "diagnose/rules.h"

#include "rewrite/cudnn_plans.h"

namespace eightfold::diagnose {
namespace {

using census::Backend;
using census::Family;
using census::Kernel;
using census::Scale;
using census::Status;

bool Demoted(const Kernel& kernel) { return kernel.status == Status::kDemoted; }
bool DemotedConvolution(const Kernel& kernel) {
  return Demoted(kernel) && kernel.family == Family::kConvolution;
}

// Below 8.9 there is nothing that could run FP8.
bool GpuLacksF8(const Kernel& kernel, const Facts& facts) {
  const auto& capability = facts.setting.compute_capability;
  return Demoted(kernel) && capability && *capability < std::array<int, 2>{8, 9};
}

// XLA wants cuDNN 9.8 or newer for FP8 convolutions on compute capability 8.9.
bool CudnnTooOld(const Kernel& kernel, const Facts& facts) {
  const auto& capability = facts.setting.compute_capability;
  const auto& cudnn = facts.setting.cudnn_version;
  return DemotedConvolution(kernel) && capability && *capability == std::array<int, 2>{8, 9} &&
         cudnn && *cudnn < std::array<int, 3>{9, 8, 0};
}

bool WeightGradient(const Kernel& kernel, const Facts&) {
  return DemotedConvolution(kernel) && kernel.target() == "__cudnn$convBackwardFilter";
}

bool InputGradient(const Kernel& kernel, const Facts&) {
  return DemotedConvolution(kernel) && kernel.target() == "__cudnn$convBackwardInput";
}

// The fused-conv rewriter of XLA up to jax-cuda plugins 0.11.2 returned after the first computation
// that it found an FP8 convolution in.
bool OtherComputationFirst(const Kernel& kernel, const Facts& facts) {
  const auto& version = facts.setting.plugin_version;
  bool has_the_defect = !version || *version < std::array<int, 3>{0, 12, 0};
  bool others =
      !facts.with_graph_calls.empty() && !facts.with_graph_calls.contains(kernel.node->computation);
  return DemotedConvolution(kernel) && has_the_defect && others;
}

// The same table that the fix goes by.
bool LacksPlan(const Kernel& kernel, const hlo::PrimitiveType input,
               const hlo::PrimitiveType filter, const Facts& facts) {
  if (kernel.operands[0] == nullptr || kernel.operands[1] == nullptr) return false;
  const auto none = std::array<int, 3>{};
  return !rewrite::MissingPlan(*kernel.instruction, input, filter,
                               facts.setting.cudnn_version.value_or(none))
              .empty();
}

bool DemotedWithoutPlan(const Kernel& kernel, const Facts& facts) {
  return DemotedConvolution(kernel) &&
         LacksPlan(kernel, kernel.ask.types[0], kernel.ask.types[1], facts);
}

bool GraphCallWithoutPlan(const Kernel& kernel, const Facts& facts) {
  return kernel.backend == Backend::kCudnnGraph && census::IsF8(kernel.runs_in) &&
         LacksPlan(kernel, kernel.runs_in[0], kernel.runs_in[1], facts);
}

bool OtherConvolution(const Kernel& kernel, const Facts&) { return DemotedConvolution(kernel); }

bool DemotedWithoutTensorCores(const Kernel& kernel, const Facts&) {
  return Demoted(kernel) && !kernel.uses_tensor_cores();
}

bool ScaledBeforeDot(const Kernel& kernel, const Facts&) {
  return Demoted(kernel) && kernel.family == Family::kDot &&
         (kernel.ask.scale == Scale::kVector || kernel.ask.scale == Scale::kBlock);
}

bool OneCandidateKnown(const Kernel& kernel, const Facts&) {
  return Demoted(kernel) && kernel.backend == Backend::kTriton && !kernel.without_triton;
}
bool AnyDemoted(const Kernel& kernel, const Facts&) { return Demoted(kernel); }
bool IntegerWidened(const Kernel& kernel, const Facts&) {
  return kernel.status == Status::kIntegerWidened;
}
bool Undecided(const Kernel& kernel, const Facts&) { return kernel.status == Status::kUndecided; }
bool F32ConvolutionFromBf16(const Kernel& kernel, const Facts&) {
  return kernel.status == Status::kF32FromBf16 && kernel.family == Family::kConvolution;
}
bool F32FromBf16(const Kernel& kernel, const Facts&) {
  return kernel.status == Status::kF32FromBf16;
}
bool WeightOnly(const Kernel& kernel, const Facts&) { return kernel.status == Status::kWeightOnly; }
bool NoTensorCores(const Kernel& kernel, const Facts&) { return kernel.backend == Backend::kLoop; }

constexpr Rule kRules[] = {
    {"EF100", Severity::kDemoted, GpuLacksF8, "run in {types}: this GPU has no FP8",
     "FP8 tensor cores came with compute capability 8.9; on older GPUs XLA widens FP8 operands.",
     "audit for the GPU that the program will run on (--target), or ask for bf16 here"},
    {"EF105", Severity::kDemoted, CudnnTooOld, "run in {types}: cuDNN is older than 9.8",
     "On compute capability 8.9 XLA rewrites FP8 convolutions only for cuDNN 9.8 and newer.",
     "install cuDNN 9.8 or newer"},
    {"EF102", Severity::kDemoted, WeightGradient,
     "run in {types}: weight gradients have no FP8 path",
     "XLA rewrites only forward convolutions to cuDNN graphs; a convolution it takes for a weight "
     "gradient has its "
     "FP8 operands widened.",
     "none in XLA up to 0.12; compute the weight gradient as a matmul, or count on it running "
     "wide"},
    {"EF103", Severity::kDemoted, InputGradient, "run in {types}: taken for input gradients",
     "XLA rewrites only forward convolutions to cuDNN graphs, and took this one for an input "
     "gradient.",
     "flip the kernel outside the convolution, so that it becomes a forward convolution"},
    {"EF106", Severity::kDemoted, DemotedWithoutPlan,
     "run in {types}: cuDNN has no good FP8 plan for them",
     "For FP8 convolutions in groups of 1, 2, 3, 5, 6 or 7 input channels (depthwise ones have 1) "
     "cuDNN has no plan, and for 4 or 8 only a fallback. As FP8 graph calls they might fail on the "
     "device, so --fix leaves them as they are.",
     "ask for bf16 in this layer, or for groups of 9 or more input channels; --fix=all rewrites "
     "them all the same"},
    {"EF101", Severity::kDemoted, OtherComputationFirst,
     "run in {types}: another computation was rewritten first",
     "XLA up to 0.11.2 leaves the cuDNN fused-conv rewriter after the first computation with an "
     "FP8 convolution; here "
     "another one came first. The widened copies also lose the FP8 rounding of their inputs.",
     "EIGHTFOLD=fix in the program's environment, or --fix to try it here, or jax-cuda12-pjrt "
     "0.12.0 "
     "or newer"},
    {"EF104", Severity::kDemoted, OtherConvolution,
     "run in {types}: the rewriter did not take them",
     "The cuDNN fused-conv rewriter did not recognize these FP8 convolutions, so their operands "
     "were widened.",
     "see what it wants in docs/findings/EF104.md; compile with --dump to see the module it was "
     "given"},
    {"EF110", Severity::kDemoted, DemotedWithoutTensorCores, "run in {types} without tensor cores",
     "The product was fused into an element-by-element loop, or is too thin to be a matmul and "
     "became one.",
     "quantize and multiply directly (lax.dot_general on FP8 operands), with scales after the "
     "product"},
    {"EF111", Severity::kDemoted, ScaledBeforeDot,
     "run in {types}: scales of rows, channels or blocks come before the product",
     "XLA moves only scalar scales behind a product. With a scale for each row, channel or block "
     "the operands "
     "are dequantized first, with Triton and with cuBLASLt.",
     "multiply FP8 operands and scale the result; for blocks, split the contracted dimension"},
    {"EF113", Severity::kDemoted, OneCandidateKnown, "run in {types} inside a Triton fusion",
     "Triton converts scaled FP8 operands before the product. A dump from a device shows what its "
     "autotuner "
     "picked, and this is it; a module compiled without the device shows one candidate, and the "
     "one without Triton "
     "is not known here.",
     "audit the program itself, which compiles both candidates; multiply FP8 operands directly and "
     "scale the result"},
    {"EF112", Severity::kDemoted, AnyDemoted, "run in {types}, with Triton and without",
     "Neither Triton nor the cuBLASLt rewriter took the product in FP8. Dimension order matters: "
     "the "
     "contracted and batch dimensions of FP8 operands must be in an order that cuBLASLt can take.",
     "move batch dimensions first and scales behind the product; docs/findings/EF112.md has "
     "examples"},
    {"EF201", Severity::kAny, Undecided,
     "run in {types} in the Triton candidate, in FP8 without Triton",
     "A device's autotuner times such candidates and picks one; a compile without the device "
     "cannot know which.",
     "a dump from the device settles it: XLA_FLAGS=--xla_dump_to=DIR there, then eightfold audit "
     "DIR; "
     "--xla_gpu_enable_triton_gemm=false forces FP8"},
    {"EF301", Severity::kAny, F32ConvolutionFromBf16, "asked for bf16 and ran in f32",
     "XLA widens the operands of a bf16 convolution whose result is f32 (preferred_element_type).",
     "let the convolution return bf16 and convert its result"},
    {"EF302", Severity::kAny, F32FromBf16, "asked for bf16 and ran in f32",
     "The operands were widened to f32 before the product.",
     "multiply bf16 operands with preferred_element_type=float32 instead of converting them"},
    {"EF401", Severity::kAny, WeightOnly, "asked for 8 bits in one operand only and ran in {types}",
     "Tensor cores multiply operands of one width: the narrow one is widened, which saves memory "
     "and no time.",
     "quantize the other operand too, or count on the wide type"},
    {"EF402", Severity::kAny, IntegerWidened, "asked for 8-bit integers and ran in {types}",
     "Integers that are converted before the product are multiplied in the type they were "
     "converted to.",
     "multiply the integers with preferred_element_type=int32 and scale the result"},
    {"EF107", Severity::kAny, GraphCallWithoutPlan,
     "run in {types} as graph calls that cuDNN has no good plan for",
     "For FP8 convolutions in groups of 1, 2, 3, 5, 6 or 7 input channels (depthwise ones have 1) "
     "cuDNN has no plan, and for 4 or 8 only a fallback. The module compiles without a device, and "
     "may fail or be slow on one.",
     "ask for bf16 in this layer; --fix hides it from XLA's rewriter, so that it runs in f32"},
    {"EF501", Severity::kAny, NoTensorCores, "run in {types} inside an element-by-element loop",
     "A dot inside a plain loop fusion never uses tensor cores.",
     "ask for a wider result type (s32 for s8 operands, bf16 or f32 for FP8) and convert after the "
     "product"},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

}  // namespace eightfold::diagnose
