#include "census/kernel.h"

#include <algorithm>

namespace eightfold::census {
namespace {

bool IsNarrowFloat(hlo::PrimitiveType type) {
  int bits = hlo::BitWidth(type);
  return bits != 0 && bits <= 8 && hlo::IsFloating(type);
}

bool IsNarrow(hlo::PrimitiveType type) {
  return IsNarrowFloat(type) || (hlo::IsIntegral(type) && hlo::BitWidth(type) <= 8);
}

}  // namespace

std::string_view BackendName(Backend backend) {
  switch (backend) {
    case Backend::kCudnnGraph:
      return "cudnn-graph";
    case Backend::kCudnnLegacy:
      return "cudnn-legacy";
    case Backend::kCublasLt:
      return "cublaslt";
    case Backend::kCublas:
      return "cublas";
    case Backend::kCudnnBlockScaled:
      return "cudnn-block-scaled";
    case Backend::kCudnnAttention:
      return "cudnn-attention";
    case Backend::kCudnnFusion:
      return "cudnn-fusion";
    case Backend::kTriton:
      return "triton";
    case Backend::kCustomFusion:
      return "custom-fusion";
    case Backend::kLoop:
      return "loop";
    case Backend::kReduce:
      return "reduce";
    case Backend::kUnlowered:
      return "unlowered";
  }
  return "?";
}

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kConvolution:
      return "convolution";
    case Family::kDot:
      return "dot";
    case Family::kAttention:
      return "attention";
  }
  return "?";
}

std::string_view StatusName(Status status) {
  switch (status) {
    case Status::kAsAsked:
      return "as_asked";
    case Status::kDemoted:
      return "demoted";
    case Status::kUndecided:
      return "undecided";
    case Status::kF32FromBf16:
      return "f32_from_bf16";
    case Status::kWeightOnly:
      return "weight_only";
    case Status::kIntegerWidened:
      return "integer_widened";
    case Status::kUnmatched:
      return "unmatched";
  }
  return "?";
}

std::string ToString(const OperandTypes& types) {
  if (types[0] == hlo::PrimitiveType::kInvalid) return "?";
  std::string text(hlo::Name(types[0]));
  if (types[1] != types[0]) text += "×" + std::string(hlo::Name(types[1]));
  return text;
}

bool IsF8(const OperandTypes& types) { return std::ranges::all_of(types, IsNarrowFloat); }

bool IsWeightOnly(const OperandTypes& types) {
  return std::ranges::count_if(types, IsNarrow) == 1 &&
         std::ranges::none_of(types, [](auto t) { return t == hlo::PrimitiveType::kInvalid; });
}

bool Is16Bit(const OperandTypes& types) {
  auto is_16 = [](hlo::PrimitiveType type) {
    return hlo::IsFloating(type) && hlo::BitWidth(type) == 16;
  };
  return std::ranges::any_of(types, is_16) && std::ranges::all_of(types, [](auto t) {
           return hlo::IsFloating(t) && hlo::BitWidth(t) <= 16;
         });
}

std::string_view Kernel::target() const {
  if (instruction->opcode != hlo::Opcode::kCustomCall) return {};
  return instruction->custom_call_target();
}

}  // namespace eightfold::census
