#include "rewrite/conv_kind.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "hlo/views.h"

namespace eightfold::rewrite {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::WindowDimension;

// A convolution with its attributes decoded, and the sizes that the decision goes by.
struct Conv {
  explicit Conv(const Instruction& conv)
      : window(hlo::DecodeWindow(conv.Bytes(hlo::Field::kWindow)).dimensions),
        dims(
            hlo::DecodeConvolutionDimensions(conv.Bytes(hlo::Field::kConvolutionDimensionNumbers))),
        groups(conv.Int(hlo::Field::kFeatureGroupCount, 1)),
        filter(conv.operands[1]),
        input_dims(conv.operands[0]->shape->dims),
        filter_dims(conv.operands[1]->shape->dims),
        output_dims(conv.shape->dims) {}

  size_t rank() const { return dims.kernel_spatial.size(); }
  int64_t Input(size_t i) const { return At(input_dims, dims.input_spatial[i]); }
  int64_t Filter(size_t i) const { return At(filter_dims, dims.kernel_spatial[i]); }
  int64_t Output(size_t i) const { return At(output_dims, dims.output_spatial[i]); }
  static int64_t At(std::span<const int64_t> sizes, int64_t dim) {
    return sizes[static_cast<size_t>(dim)];
  }
  template <class Predicate>
  bool AnyWindow(Predicate predicate) const {
    return std::ranges::any_of(window, predicate);
  }

  std::vector<WindowDimension> window;
  hlo::ConvolutionDimensions dims;
  int64_t groups;
  const Instruction* filter;
  std::span<const int64_t> input_dims, filter_dims, output_dims;
};

// The one dimension of size 1 that a reshape puts in; nothing when it does anything else.
std::optional<int64_t> InsertedDimension(const Instruction& reshape) {
  std::span<const int64_t> before = reshape.operands[0]->shape->dims;
  std::span<const int64_t> after = reshape.shape->dims;
  if (after.size() != before.size() + 1) return std::nullopt;
  size_t at = 0;
  while (at < before.size() && before[at] == after[at]) ++at;
  if (after[at] != 1 || !std::ranges::equal(before.subspan(at), after.subspan(at + 1))) {
    return std::nullopt;
  }
  return static_cast<int64_t>(at);
}

// A 1-D convolution that was made 2-D: its filter got a spatial dimension of size 1.
bool WasOneDimensional(const Conv& conv) {
  if (conv.window.size() != 2 || conv.filter->opcode != Opcode::kReshape) return false;
  std::optional<int64_t> inserted = InsertedDimension(*conv.filter);
  return inserted && std::ranges::count(conv.dims.kernel_spatial, *inserted) > 0;
}

bool IsReversed(const Conv& conv) {
  if (conv.filter->opcode == Opcode::kReverse) {
    std::vector<int64_t> reversed = hlo::Dimensions(*conv.filter);
    return std::ranges::is_permutation(reversed, conv.dims.kernel_spatial);
  }
  return WasOneDimensional(conv) && conv.filter->operands[0]->opcode == Opcode::kReverse;
}

// The high padding of a backward convolution is free within one stride: as near to the low padding
// as can be. Negative: the backward convolution cannot be had.
int64_t HighPadding(int64_t low, int64_t least, int64_t stride) {
  return std::clamp(low, least, least + stride - 1);
}

bool IsBackwardInput(const Conv& conv) {
  if (conv.groups > 1) return false;
  bool is_one_by_one = !conv.AnyWindow([](auto& dim) { return dim.size != 1; });
  bool dilates_base = conv.AnyWindow([](auto& dim) { return dim.base_dilation != 1; });
  bool is_constant = conv.filter->opcode == Opcode::kConstant;
  if (!IsReversed(conv) && !(dilates_base && (is_constant || is_one_by_one))) return false;
  if (conv.AnyWindow(
          [](auto& dim) { return dim.stride != 1 || dim.window_dilation != 1 || dim.reversal; })) {
    return false;
  }
  for (size_t i = 0; i < conv.window.size(); ++i) {
    const WindowDimension& dim = conv.window[i];
    int64_t low = dim.size - 1 - dim.padding_low;
    if (low < 0) return false;
    int64_t padded = dim.size + dim.base_dilation * (conv.Input(i) - 1);
    if (HighPadding(low, padded - conv.Output(i) - low, dim.base_dilation) < 0) return false;
  }
  return true;
}

// Backward-filter convolutions trade batch and features, so where those agree it is a forward one,
// dilated or not.
bool LooksForward(const Conv& conv) {
  if (Conv::At(conv.input_dims, conv.dims.input_batch) !=
          Conv::At(conv.output_dims, conv.dims.output_batch) ||
      Conv::At(conv.filter_dims, conv.dims.kernel_output_feature) !=
          Conv::At(conv.output_dims, conv.dims.output_feature)) {
    return false;
  }
  for (size_t i = 0; i < conv.rank(); ++i) {
    if (conv.Filter(i) > conv.Output(i)) return false;
  }
  return true;
}

bool IsBackwardFilter(const Conv& conv) {
  if (conv.groups > 1 || LooksForward(conv)) return false;
  if (conv.AnyWindow([](auto& dim) {
        return dim.stride != 1 || dim.base_dilation != 1 || dim.padding_low < 0 || dim.reversal;
      })) {
    return false;
  }
  int small = 0;
  for (size_t i = 0; i < conv.rank(); ++i) small += conv.Filter(i) <= conv.Output(i);
  bool dilates = conv.AnyWindow([](auto& dim) { return dim.window_dilation != 1; });
  bool is_small = conv.rank() == 0 || small > 1 || (small == 1 && !WasOneDimensional(conv));
  if (is_small && !dilates) return false;
  for (size_t i = 0; i < conv.window.size(); ++i) {
    const WindowDimension& dim = conv.window[i];
    int64_t padded = conv.Output(i) + (dim.size - 1) * dim.window_dilation;
    int64_t least = padded - conv.Input(i) - dim.padding_low;
    if (HighPadding(dim.padding_low, least, dim.window_dilation) < 0) return false;
  }
  return true;
}

// Why cuDNN does not take it forward; "" when it does.
std::string NotForward(const Conv& conv) {
  if (conv.dims.input_spatial.size() > 3) {
    return "cuDNN convolves over at most 3 spatial dimensions";
  }
  if (std::ranges::count(conv.input_dims, 0) > 0 || std::ranges::count(conv.filter_dims, 0) > 0) {
    return "an operand has no elements";
  }
  auto reversed = std::ranges::count_if(conv.window, [](auto& dim) { return dim.reversal; });
  bool all = conv.rank() == 2 && reversed == 2;
  if (reversed != 0 && !all) {
    return "some window dimensions are reversed; cuDNN reverses both of two or none";
  }
  return {};
}

}  // namespace

ConvDecision DecideKind(const hlo::Instruction& instruction) {
  Conv conv(instruction);
  if (IsBackwardInput(conv)) {
    return {ConvKind::kBackwardInput, "XLA takes it for the gradient of a convolution's input"};
  }
  if (IsBackwardFilter(conv)) {
    return {ConvKind::kBackwardFilter, "XLA takes it for the gradient of a convolution's filter"};
  }
  std::string why = NotForward(conv);
  return {why.empty() ? ConvKind::kForward : ConvKind::kNone, std::move(why)};
}

}  // namespace eightfold::rewrite
