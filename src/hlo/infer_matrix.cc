// Shape inference of the operations that multiply or slide windows: dots, convolutions,
// reduce-window, select-and-scatter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "hlo/infer_internal.h"

namespace eightfold::hlo {
namespace {

using Inferred = Result<InferredShape>;

std::string Join(std::span<const int64_t> dims) {
  return fmt::format("{{{}}}", fmt::join(dims, ","));
}

// The element type of a product when its instruction does not say: the wider operand type.
PrimitiveType ProductType(PrimitiveType a, PrimitiveType b) {
  if (PrimitiveType wider = WiderType(a, b); wider != PrimitiveType::kInvalid) return wider;
  return BitWidth(b) > BitWidth(a) ? b : a;
}

Result<void> CheckDotDimensions(const Instruction& dot, const DotDimensions& dims) {
  const Shape& lhs = OperandShape(dot, 0);
  const Shape& rhs = OperandShape(dot, 1);
  std::string_view name = Name(dot.opcode);
  if (!dims.ok) return Fail(fmt::format("{} with damaged dimension numbers", name));
  if (!lhs.IsArray() || !rhs.IsArray()) {
    return Fail(fmt::format("{} of {} and {}: both must be arrays", name, Bare(lhs), Bare(rhs)));
  }
  if (dims.lhs_contracting.size() != dims.rhs_contracting.size() ||
      dims.lhs_batch.size() != dims.rhs_batch.size()) {
    return Fail(
        fmt::format("{}: lhs and rhs need as many contracting and as many batch dimensions", name));
  }
  auto check_side = [&](std::vector<int64_t> used, std::span<const int64_t> more,
                        const Shape& shape, std::string_view side) -> Result<void> {
    used.insert(used.end(), more.begin(), more.end());
    if (AreDimensions(used, shape.rank())) return {};
    return Fail(fmt::format("{}: the {} dimensions {} are not distinct dimensions of {}", name,
                            side, Join(used), Bare(shape)));
  };
  EF_CHECK_OK(check_side(dims.lhs_batch, dims.lhs_contracting, lhs, "lhs"));
  return check_side(dims.rhs_batch, dims.rhs_contracting, rhs, "rhs");
}

Result<void> CheckPairs(const Instruction& dot, std::span<const int64_t> lhs_dims,
                        std::span<const int64_t> rhs_dims, std::string_view verb) {
  const Shape& lhs = OperandShape(dot, 0);
  const Shape& rhs = OperandShape(dot, 1);
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    auto l = static_cast<size_t>(lhs_dims[i]);
    auto r = static_cast<size_t>(rhs_dims[i]);
    if (SameSize(lhs, l, rhs, r)) continue;
    return Fail(
        fmt::format("{} {} lhs dimension {} of {} with rhs dimension {} of {}: the sizes "
                    "differ",
                    Name(dot.opcode), verb, l, Bare(lhs), r, Bare(rhs)));
  }
  return {};
}

bool Contains(std::span<const int64_t> dims, size_t dim) {
  return std::ranges::find(dims, static_cast<int64_t>(dim)) != dims.end();
}

void AppendDimension(InferredShape& result, const Shape& from, size_t dim) {
  result.dims.push_back(from.dims[dim]);
  result.dynamic.push_back(IsDynamic(from, dim));
}

InferredShape DotResult(const Instruction& dot, const DotDimensions& dims) {
  const Shape& lhs = OperandShape(dot, 0);
  const Shape& rhs = OperandShape(dot, 1);
  InferredShape result{.type = ProductType(lhs.type, rhs.type)};
  for (int64_t dim : dims.lhs_batch) AppendDimension(result, lhs, static_cast<size_t>(dim));
  for (size_t i = 0; i < lhs.rank(); ++i) {
    if (!Contains(dims.lhs_batch, i) && !Contains(dims.lhs_contracting, i)) {
      AppendDimension(result, lhs, i);
    }
  }
  for (size_t i = 0; i < rhs.rank(); ++i) {
    if (!Contains(dims.rhs_batch, i) && !Contains(dims.rhs_contracting, i) &&
        !Contains(dims.rhs_group, i)) {
      AppendDimension(result, rhs, i);
    }
  }
  return result;
}

// Positions of a window over a dimension of `size` elements; -1 when that cannot be counted. As in
// XLA: the base is dilated, padded, then the dilated window is moved by its stride.
int64_t WindowPositions(int64_t size, const WindowDimension& window) {
  if (window.size <= 0 || window.stride <= 0 || window.base_dilation <= 0 ||
      window.window_dilation <= 0 || size < 0) {
    return -1;
  }
  __int128 base = size == 0 ? 0 : static_cast<__int128>(size - 1) * window.base_dilation + 1;
  base += static_cast<__int128>(window.padding_low) + window.padding_high;
  __int128 span = static_cast<__int128>(window.size - 1) * window.window_dilation + 1;
  if (base < span) return 0;
  __int128 positions = (base - span) / window.stride + 1;
  return positions > INT64_MAX ? -1 : static_cast<int64_t>(positions);
}

Result<void> CheckConvolutionDimensions(const Shape& lhs, const Shape& rhs, const Window& window,
                                        const ConvolutionDimensions& dims) {
  if (!dims.ok || !window.ok) return Fail("convolution with a damaged window or dim_labels");
  if (!lhs.IsArray() || !rhs.IsArray()) {
    return Fail(fmt::format("convolution of {} and {}: both must be arrays", Bare(lhs), Bare(rhs)));
  }
  size_t spatial = window.dimensions.size();
  if (dims.input_spatial.size() != spatial || dims.kernel_spatial.size() != spatial ||
      dims.output_spatial.size() != spatial) {
    return Fail(
        fmt::format("convolution whose window has {} dimensions and whose dim_labels have "
                    "{}, {} and {} spatial ones",
                    spatial, dims.input_spatial.size(), dims.kernel_spatial.size(),
                    dims.output_spatial.size()));
  }
  auto in_range = [](std::vector<int64_t> used, int64_t a, int64_t b, size_t rank) {
    used.push_back(a);
    used.push_back(b);
    return AreDimensions(used, rank);
  };
  if (!in_range(dims.input_spatial, dims.input_batch, dims.input_feature, lhs.rank()) ||
      !in_range(dims.kernel_spatial, dims.kernel_input_feature, dims.kernel_output_feature,
                rhs.rank()) ||
      !in_range(dims.output_spatial, dims.output_batch, dims.output_feature, spatial + 2)) {
    return Fail(
        fmt::format("convolution of {} and {} with dim_labels that are not distinct "
                    "dimensions of them",
                    Bare(lhs), Bare(rhs)));
  }
  return {};
}

Result<void> CheckGroups(const Instruction& convolution, const ConvolutionDimensions& dims,
                         int64_t feature_groups, int64_t batch_groups) {
  const Shape& lhs = OperandShape(convolution, 0);
  const Shape& rhs = OperandShape(convolution, 1);
  int64_t features = lhs.dims[static_cast<size_t>(dims.input_feature)];
  int64_t batch = lhs.dims[static_cast<size_t>(dims.input_batch)];
  int64_t kernel_in = rhs.dims[static_cast<size_t>(dims.kernel_input_feature)];
  int64_t kernel_out = rhs.dims[static_cast<size_t>(dims.kernel_output_feature)];
  if (feature_groups > 1 && batch_groups > 1) {
    return Fail("convolution with both feature_group_count and batch_group_count above 1");
  }
  // Unknown sizes and sparse operands, whose stored feature count is smaller, cannot be checked.
  if (!lhs.dynamic.empty() || !rhs.dynamic.empty() ||
      convolution.Find(Field::kSparsityConfig) != nullptr) {
    return {};
  }
  if (features % feature_groups != 0 || features / feature_groups != kernel_in) {
    return Fail(
        fmt::format("convolution of {} and {}: {} input features in {} groups do not fit a "
                    "kernel of {} input features",
                    Bare(lhs), Bare(rhs), features, feature_groups, kernel_in));
  }
  if (kernel_out % feature_groups != 0 || kernel_out % batch_groups != 0 ||
      batch % batch_groups != 0) {
    return Fail(fmt::format(
        "convolution of {} and {}: {} output features or {} batch entries do "
        "not divide into {} groups",
        Bare(lhs), Bare(rhs), kernel_out, batch, std::max(feature_groups, batch_groups)));
  }
  return {};
}

// Size of spatial dimension `i` of the result of a convolution.
Result<int64_t> SpatialSize(const Shape& lhs, const Shape& rhs, const WindowDimension& window,
                            const ConvolutionDimensions& dims, size_t i) {
  auto kernel_dim = static_cast<size_t>(dims.kernel_spatial[i]);
  if (window.size != rhs.dims[kernel_dim] && !IsDynamic(rhs, kernel_dim)) {
    return Fail(fmt::format(
        "convolution with window size {} in spatial dimension {} and a kernel {} of size {} there",
        window.size, i, Bare(rhs), rhs.dims[kernel_dim]));
  }
  int64_t size = lhs.dims[static_cast<size_t>(dims.input_spatial[i])];
  if (size == kUnbounded) return size;
  size = WindowPositions(size, window);
  if (size >= 0) return size;
  return Fail(fmt::format("convolution with an impossible window in spatial dimension {}", i));
}

}  // namespace

Inferred InferDot(const Instruction& dot) {
  DotDimensions dims = DecodeDotDimensions(dot);
  EF_CHECK_OK(CheckDotDimensions(dot, dims));
  EF_CHECK_OK(CheckPairs(dot, dims.lhs_contracting, dims.rhs_contracting, "contracts"));
  EF_CHECK_OK(CheckPairs(dot, dims.lhs_batch, dims.rhs_batch, "batches"));
  return DotResult(dot, dims);
}

Inferred InferRaggedDot(const Instruction& dot) {
  DotDimensions dims = DecodeDotDimensions(dot);
  EF_CHECK_OK(CheckDotDimensions(dot, dims));
  EF_CHECK_OK(CheckPairs(dot, dims.lhs_contracting, dims.rhs_contracting, "contracts"));
  EF_CHECK_OK(CheckPairs(dot, dims.lhs_batch, dims.rhs_batch, "batches"));
  const Shape& lhs = OperandShape(dot, 0);
  const Shape& groups = OperandShape(dot, 2);
  if (dims.lhs_ragged.size() != 1 || !AreDimensions(dims.lhs_ragged, lhs.rank()) ||
      !AreDimensions(dims.rhs_group, OperandShape(dot, 1).rank()) || groups.rank() == 0) {
    return Fail(
        "ragged-dot needs one ragged lhs dimension, group dimensions of the rhs, and group "
        "sizes of at least rank 1");
  }
  InferredShape result = DotResult(dot, dims);
  if (Contains(dims.lhs_contracting, static_cast<size_t>(dims.lhs_ragged[0]))) {
    // The contraction is split into groups, each a result of its own.
    result.dims.insert(result.dims.begin(), groups.dims.back());
    result.dynamic.insert(result.dynamic.begin(), false);
  }
  return result;
}

Inferred InferConvolution(const Instruction& convolution) {
  const Shape& lhs = OperandShape(convolution, 0);
  const Shape& rhs = OperandShape(convolution, 1);
  Window window = DecodeWindow(convolution.Bytes(Field::kWindow));
  ConvolutionDimensions dims =
      DecodeConvolutionDimensions(convolution.Bytes(Field::kConvolutionDimensionNumbers));
  EF_CHECK_OK(CheckConvolutionDimensions(lhs, rhs, window, dims));
  int64_t feature_groups = std::max<int64_t>(convolution.Int(Field::kFeatureGroupCount, 1), 1);
  int64_t batch_groups = std::max<int64_t>(convolution.Int(Field::kBatchGroupCount, 1), 1);
  EF_CHECK_OK(CheckGroups(convolution, dims, feature_groups, batch_groups));

  size_t rank = window.dimensions.size() + 2;
  InferredShape result = ArrayOf(ProductType(lhs.type, rhs.type), std::vector<int64_t>(rank));
  result.dynamic.assign(rank, false);
  auto set = [&](int64_t output, int64_t size, const Shape& from, int64_t from_dim) {
    result.dims[static_cast<size_t>(output)] = size;
    result.dynamic[static_cast<size_t>(output)] = IsDynamic(from, static_cast<size_t>(from_dim));
  };
  int64_t batch = lhs.dims[static_cast<size_t>(dims.input_batch)];
  set(dims.output_batch, batch < 0 ? batch : batch / batch_groups, lhs, dims.input_batch);
  set(dims.output_feature, rhs.dims[static_cast<size_t>(dims.kernel_output_feature)], rhs,
      dims.kernel_output_feature);
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    EF_TRY(int64_t size, SpatialSize(lhs, rhs, window.dimensions[i], dims, i));
    set(dims.output_spatial[i], size, lhs, dims.input_spatial[i]);
  }
  return result;
}

namespace {

// The dimensions of `shape` after a window has gone over it.
Result<InferredShape> WindowResult(const Instruction& instruction, const Shape& shape) {
  Window window = DecodeWindow(instruction.Bytes(Field::kWindow));
  if (!window.ok || !shape.IsArray() || window.dimensions.size() != shape.rank()) {
    return Fail(fmt::format("{} over {} with a window of {} dimensions", Name(instruction.opcode),
                            Bare(shape), window.dimensions.size()));
  }
  InferredShape result = ArrayOf(shape.type, {});
  for (size_t i = 0; i < shape.rank(); ++i) {
    int64_t size = shape.dims[i];
    if (size != kUnbounded) size = WindowPositions(size, window.dimensions[i]);
    if (size == -1) {
      return Fail(
          fmt::format("{} with an impossible window in dimension {}", Name(instruction.opcode), i));
    }
    result.dims.push_back(size);
    result.dynamic.push_back(IsDynamic(shape, i));
  }
  return result;
}

}  // namespace

Inferred InferReduceWindow(const Instruction& reduce_window) {
  size_t inputs = reduce_window.operands.size() / 2;
  if (reduce_window.operands.size() % 2 != 0) {
    return Fail("reduce-window takes as many initial values as inputs");
  }
  EF_TRY(std::vector<const Shape*> results, CalledResults(reduce_window));
  EF_TRY(InferredShape first, WindowResult(reduce_window, OperandShape(reduce_window, 0)));
  if (results.size() != inputs) {
    return Fail(fmt::format("reduce-window of {} inputs with a computation of {} results", inputs,
                            results.size()));
  }
  return CombinedResult(std::move(first), reduce_window, results);
}

Inferred InferSelectAndScatter(const Instruction& select_and_scatter) {
  const Shape& operand = OperandShape(select_and_scatter, 0);
  const Shape& source = OperandShape(select_and_scatter, 1);
  EF_TRY(InferredShape windowed, WindowResult(select_and_scatter, operand));
  if (operand.dynamic.empty() && source.dynamic.empty() &&
      !std::ranges::equal(windowed.dims, source.dims)) {
    return Fail(fmt::format("select-and-scatter of {} with the source {}; the window makes {}",
                            Bare(operand), Bare(source), ToString(windowed)));
  }
  return Whole(&operand);
}

}  // namespace eightfold::hlo
