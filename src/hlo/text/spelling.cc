#include "hlo/text/spelling.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

namespace eightfold::hlo::text {
namespace {

using Names = std::string_view[];

constexpr Names kDistribution = {"", "rng_uniform", "rng_normal"};
constexpr Names kRngAlgorithm = {"rng_default", "rng_three_fry", "rng_philox"};
constexpr Names kFftType = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr Names kPaddingType = {"PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"};
constexpr Names kSchedule = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
constexpr Names kApiVersion = {"", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                               "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr Names kConvolutionKind = {"unset", "fprop", "dgrad", "wgrad"};
constexpr Names kTranspose = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr Names kPrecision = {"default", "high", "highest"};
constexpr Names kDotAlgorithm = {
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
    "dot_bf16_bf16_fp8x3",
    "dot_bf16_bf16_fp8x4",
};
constexpr Names kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr Names kComparisonTypes = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr Names kFusionKinds = {"kLoop", "kInput", "kOutput", "kCustom"};

constexpr EnumSpelling kPrecisionSpelling = {kPrecision, true};
constexpr EnumSpelling kDistributionSpelling = {kDistribution, true};
constexpr EnumSpelling kRngAlgorithmSpelling = {kRngAlgorithm, true};
constexpr EnumSpelling kDotAlgorithmSpelling = {kDotAlgorithm, true};
constexpr EnumSpelling kFftTypeSpelling = {kFftType};
constexpr EnumSpelling kPaddingTypeSpelling = {kPaddingType};
constexpr EnumSpelling kScheduleSpelling = {kSchedule};
constexpr EnumSpelling kApiVersionSpelling = {kApiVersion};
constexpr EnumSpelling kConvolutionKindSpelling = {kConvolutionKind, true};
constexpr EnumSpelling kTransposeSpelling = {kTranspose};

}  // namespace

int EnumSpelling::Find(std::string_view word) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() != word.size()) continue;
    bool equal = std::ranges::equal(names[i], word, [this](char name, char given) {
      return name == given || (any_case && name == std::tolower(static_cast<unsigned char>(given)));
    });
    if (equal) return static_cast<int>(i);
  }
  return -1;
}

const EnumSpelling& PrecisionSpelling() { return kPrecisionSpelling; }

const EnumSpelling& EnumOf(TextAttribute attribute, Opcode opcode) {
  switch (attribute) {
    case TextAttribute::kAlgorithm:
      return opcode == Opcode::kRngBitGenerator ? kRngAlgorithmSpelling : kDotAlgorithmSpelling;
    case TextAttribute::kDistribution:
      return kDistributionSpelling;
    case TextAttribute::kFftType:
      return kFftTypeSpelling;
    case TextAttribute::kPaddingType:
      return kPaddingTypeSpelling;
    case TextAttribute::kSchedule:
      return kScheduleSpelling;
    case TextAttribute::kApiVersion:
      return kApiVersionSpelling;
    case TextAttribute::kConvolutionKind:
      return kConvolutionKindSpelling;
    case TextAttribute::kTransposeA:
      return kTransposeSpelling;
    default:
      throw std::logic_error("an enum attribute without spelling");
  }
}

std::span<const std::string_view> WordsOf(TextAttribute attribute) {
  switch (attribute) {
    case TextAttribute::kDirection:
      return kDirections;
    case TextAttribute::kType:
      return kComparisonTypes;
    case TextAttribute::kKind:
      return kFusionKinds;
    default:
      return {};
  }
}

Field SubMessage(TextAttribute attribute, Opcode opcode) {
  if (attribute == TextAttribute::kLower && opcode == Opcode::kCholesky) {
    return Field::kCholeskyOptions;
  }
  if (attribute == TextAttribute::kIndexVectorDim && opcode == Opcode::kScatter) {
    return Field::kScatterDimensionNumbers;
  }
  if (attribute == TextAttribute::kIndexVectorDim && opcode == Opcode::kScatter) {
    return Field::kScatterDimensionNumbers;
  }
  return Field{Info(attribute).field};
}

uint32_t SubField(TextAttribute attribute, Opcode opcode) {
  switch (attribute) {
    case TextAttribute::kLower:
      return opcode == Opcode::kCholesky ? 1 : 2;
    case TextAttribute::kLeftSide:
    case TextAttribute::kLhsContractingDims:
    case TextAttribute::kOffsetDims:
    case TextAttribute::kUpdateWindowDims:
      return 1;
    case TextAttribute::kRhsContractingDims:
    case TextAttribute::kLhsRaggedDims:
    case TextAttribute::kCollapsedSliceDims:
    case TextAttribute::kInsertedWindowDims:
      return 2;
    case TextAttribute::kLhsBatchDims:
    case TextAttribute::kRhsGroupDims:
    case TextAttribute::kStartIndexMap:
    case TextAttribute::kScatterDimsToOperandDims:
    case TextAttribute::kUnitDiagonal:
      return 3;
    case TextAttribute::kRhsBatchDims:
    case TextAttribute::kIndexVectorDim:
    case TextAttribute::kTransposeA:
      return 4;
    case TextAttribute::kOperandBatchingDims:
    case TextAttribute::kInputBatchingDims:
      return 5;
    case TextAttribute::kStartIndicesBatchingDims:
    case TextAttribute::kScatterIndicesBatchingDims:
      return 6;
    default:
      throw std::logic_error("an attribute that is no part of a message");
  }
}

}  // namespace eightfold::hlo::text
