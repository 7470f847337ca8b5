#include "rewrite/cudnn_plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "hlo/views.h"

namespace eightfold::rewrite {
namespace {

using Version = std::array<int, 3>;

// Grouped convolutions, by input channels per group: what cuDNN's heuristics answered for e4m3
// graphs on sm_89, 90, 100 and 120. The same for 9.10, 9.19 and 9.28, so a version outside that
// range is taken to answer like its neighbour; a version that answers differently gets rows of its
// own.
struct Row {
  int64_t channels_per_group;
  std::string_view plans;
  Version from;  // of cuDNN
};
constexpr Version kFirst = {0, 0, 0};
constexpr std::string_view kNone = "no plan";
// XLA's autotuner would try it; on an RTX 5090 it was reported to find none.
constexpr std::string_view kFallback = "only a fallback plan";
constexpr Row kGrouped[] = {
    {1, kNone, kFirst}, {2, kNone, kFirst}, {3, kNone, kFirst}, {4, kFallback, kFirst},
    {5, kNone, kFirst}, {6, kNone, kFirst}, {7, kNone, kFirst}, {8, kFallback, kFirst},
};

std::string CudnnName(const Version& version) {
  return version == Version{} ? "cuDNN" : fmt::format("cuDNN {}.{}", version[0], version[1]);
}

}  // namespace

std::string MissingPlan(const hlo::Instruction& conv, hlo::PrimitiveType input,
                        hlo::PrimitiveType filter, const std::array<int, 3>& cudnn_version) {
  for (hlo::PrimitiveType type : {input, filter}) {
    if (type == hlo::PrimitiveType::kF8E4M3FN || type == hlo::PrimitiveType::kF8E5M2) continue;
    return fmt::format("{} has no plan for {}", CudnnName(cudnn_version), hlo::Name(type));
  }
  int64_t groups = conv.Int(hlo::Field::kFeatureGroupCount, 1);
  if (groups <= 1) return {};
  hlo::ConvolutionDimensions dims =
      hlo::DecodeConvolutionDimensions(conv.Bytes(hlo::Field::kConvolutionDimensionNumbers));
  int64_t channels = conv.operands[1]->shape->dims[static_cast<size_t>(dims.kernel_input_feature)];
  const Row* found = nullptr;
  for (const Row& row : kGrouped) {
    if (row.channels_per_group == channels && row.from <= cudnn_version) found = &row;
  }
  if (found == nullptr || found->plans.empty()) return {};
  return fmt::format("{} has {} for {} groups of {} input channel{}", CudnnName(cudnn_version),
                     found->plans, groups, channels, channels == 1 ? "" : "s");
}

}  // namespace eightfold::rewrite
