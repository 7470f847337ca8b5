#ifndef EIGHTFOLD_CENSUS_KERNEL_H_
#define EIGHTFOLD_CENSUS_KERNEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "census/call_graph.h"
#include "hlo/module.h"
#include "hlo/views.h"

namespace eightfold::census {

enum class Family : uint8_t { kConvolution, kDot, kAttention };

// What executes a kernel. Names in JSON and tables: BackendName().
enum class Backend : uint8_t {
  kCudnnGraph,        // __cudnn$convForwardGraph
  kCudnnLegacy,       // the other __cudnn$conv… calls
  kCublasLt,          // __cublas$lt$…
  kCublas,            // __cublas$gemm
  kCudnnBlockScaled,  // __cudnn$blockScaledDot
  kCudnnAttention,    // __cudnn$fmha…
  kCudnnFusion,       // a fusion compiled by cuDNN
  kTriton,            // a fusion compiled by Triton, nested ones included
  kCustomFusion,      // a fusion with a kernel of XLA's own (CUTLASS …)
  kLoop,    // a dot inside a kLoop or kInput fusion: computed element by element, no tensor cores
  kReduce,  // a matmul that became multiply and reduce: no tensor cores
  kUnlowered,  // a plain convolution or dot: the module is not compiled, or not to the end
};
std::string_view BackendName(Backend backend);
std::string_view FamilyName(Family family);

// Types of the two matrix operands. kInvalid: not known.
using OperandTypes = std::array<hlo::PrimitiveType, 2>;
// "f8e4m3fn×f8e4m3fn", shortened to one name when both are the same; "?" when not known.
std::string ToString(const OperandTypes& types);
// Both operands are floats of at most 8 bits.
bool IsF8(const OperandTypes& types);
// Exactly one operand is a float or integer of at most 8 bits, the other one is wider.
bool IsWeightOnly(const OperandTypes& types);
// The widest operand is a 16-bit float.
bool Is16Bit(const OperandTypes& types);

// What scales a value on its way from where it was born to the kernel.
enum class Scale : uint8_t { kNone, kScalar, kVector, kBlock };

// The types that a kernel asked for: the narrowest types its operands were born in.
struct Ask {
  OperandTypes types{};
  bool known = false;
  bool inferred = false;  // traced in the compiled module, where XLA may have removed the evidence
  Scale scale = Scale::kNone;
};

enum class Status : uint8_t {
  kAsAsked,         // runs in what it asked for, or nothing narrower was asked
  kDemoted,         // asked for FP8, runs in something wider
  kUndecided,       // runs wider in this candidate; in FP8 in the one without Triton
  kF32FromBf16,     // asked for a 16-bit float, runs in f32
  kWeightOnly,      // one operand asked for 8 bits
  kIntegerWidened,  // both operands asked for 8 bits, integers among them, and it runs in something
                    // wider
  kUnmatched,       // what it asked for is not known
};
std::string_view StatusName(Status status);

// One piece of matrix math.
struct Kernel {
  const hlo::Instruction* instruction = nullptr;  // the call, convolution, dot or reduce itself
  const hlo::Instruction* launch =
      nullptr;  // what its computation runs: itself or the fusion around it
  Family family{};
  Backend backend{};
  OperandTypes runs_in{};
  std::array<const hlo::Instruction*, 2>
      operands{};                      // the two matrices (of a reduce: the multiply's)
  const hlo::Shape* output = nullptr;  // the result array
  double flops = 0;                    // nominal, one run, padding included, one device
  double bytes = 0;                    // operands and results of the launch
  hlo::Metadata metadata;
  std::vector<hlo::StackFrames::Frame> frames;  // where it was written, innermost first
  std::vector<std::string> epilogue;            // what is fused behind it, in order
  // Of the computation that launches it.
  const CallNode* node = nullptr;

  // Filled in by TakeCensus.
  Ask ask;
  Status status = Status::kUnmatched;
  // How it runs with Triton off, where that was compiled, too.
  struct Candidate {
    Backend backend;
    OperandTypes runs_in;
  };
  std::optional<Candidate> without_triton;

  // The custom-call target; "" for dots, convolutions and reduces.
  std::string_view target() const;
  bool uses_tensor_cores() const {
    return backend != Backend::kLoop && backend != Backend::kReduce;
  }
};

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_KERNEL_H_
