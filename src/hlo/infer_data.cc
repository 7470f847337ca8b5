// Shape inference of the operations that move or fold data.
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

bool Contains(std::span<const int64_t> dims, size_t dim) {
  return std::ranges::find(dims, static_cast<int64_t>(dim)) != dims.end();
}

void AppendDimension(InferredShape& result, int64_t size, bool dynamic) {
  result.dims.push_back(size);
  result.dynamic.push_back(dynamic);
}

Result<void> CheckArray(const Instruction& instruction) {
  const Shape& operand = OperandShape(instruction, 0);
  if (operand.IsArray()) return {};
  return Fail(
      fmt::format("{} of {}, which is not an array", Name(instruction.opcode), Bare(operand)));
}

}  // namespace

Result<std::vector<const Shape*>> CalledResults(const Instruction& instruction) {
  if (instruction.called.empty() || instruction.called[0] == nullptr ||
      instruction.called[0]->root == nullptr || instruction.called[0]->root->shape == nullptr) {
    return Fail(fmt::format("{} calls no computation with a result", Name(instruction.opcode)));
  }
  const Shape* root = instruction.called[0]->root->shape;
  if (!root->IsTuple()) return std::vector<const Shape*>{root};
  return std::vector<const Shape*>(root->tuple.begin(), root->tuple.end());
}

InferredShape CombinedResult(InferredShape one, const Instruction& reduction,
                             const std::vector<const Shape*>& results) {
  if (!reduction.called[0]->root->shape->IsTuple()) {
    one.type = results[0]->type;
    return one;
  }
  InferredShape tuple{.type = PrimitiveType::kTuple};
  for (const Shape* element : results) {
    one.type = element->type;
    tuple.elements.push_back(one);
  }
  return tuple;
}

Inferred InferTranspose(const Instruction& transpose) {
  EF_CHECK_OK(CheckArray(transpose));
  const Shape& operand = OperandShape(transpose, 0);
  std::vector<int64_t> dims = Dimensions(transpose);
  if (dims.size() != operand.rank() || !AreDimensions(dims, operand.rank())) {
    return Fail(
        fmt::format("transpose of {} with dimensions={}, which is not a permutation of its "
                    "dimensions",
                    Bare(operand), Join(dims)));
  }
  InferredShape result = ArrayOf(operand.type, {});
  std::vector<int64_t> position(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    auto from = static_cast<size_t>(dims[i]);
    AppendDimension(result, operand.dims[from], IsDynamic(operand, from));
    position[from] = static_cast<int64_t>(i);
  }
  if (operand.minor_to_major.size() == dims.size() &&
      AreDimensions(operand.minor_to_major, dims.size())) {
    for (int64_t dim : operand.minor_to_major) {
      result.minor_to_major.push_back(position[static_cast<size_t>(dim)]);
    }
  }
  return result;
}

Inferred InferReverse(const Instruction& reverse) {
  EF_CHECK_OK(CheckArray(reverse));
  const Shape& operand = OperandShape(reverse, 0);
  std::vector<int64_t> dims = Dimensions(reverse);
  if (!AreDimensions(dims, operand.rank())) {
    return Fail(
        fmt::format("reverse of {} with dimensions={}, which are not distinct dimensions of "
                    "it",
                    Bare(operand), Join(dims)));
  }
  return Whole(&operand);
}

Inferred InferConcatenate(const Instruction& concatenate) {
  EF_CHECK_OK(CheckArray(concatenate));
  const Shape& first = OperandShape(concatenate, 0);
  std::vector<int64_t> dims = Dimensions(concatenate);
  if (dims.size() != 1 || !AreDimensions(dims, first.rank())) {
    return Fail(
        fmt::format("concatenate of {} needs one dimension of it in dimensions={{…}}, not {}",
                    Bare(first), Join(dims)));
  }
  auto along = static_cast<size_t>(dims[0]);
  InferredShape result = ArrayOf(first.type, {});
  for (size_t i = 0; i < first.rank(); ++i) {
    AppendDimension(result, first.dims[i], IsDynamic(first, i));
  }
  for (size_t n = 1; n < concatenate.operands.size(); ++n) {
    const Shape& next = OperandShape(concatenate, n);
    result.type = next.IsArray() ? WiderType(result.type, next.type) : PrimitiveType::kInvalid;
    bool fits = result.type != PrimitiveType::kInvalid && next.rank() == first.rank();
    for (size_t i = 0; fits && i < first.rank(); ++i) {
      fits = i == along || SameSize(first, i, next, i);
      if (IsDynamic(next, i)) result.dynamic[i] = true;
    }
    int64_t& sum = result.dims[along];
    if (fits && (sum < 0 || next.dims[along] < 0)) {
      sum = kUnbounded;
      continue;
    }
    if (!fits || __builtin_add_overflow(sum, next.dims[along], &sum)) {
      return Fail(fmt::format("concatenate of {} and {} along dimension {}: the others differ",
                              Bare(first), Bare(next), along));
    }
  }
  return result;
}

Inferred InferPad(const Instruction& pad) {
  EF_CHECK_OK(CheckArray(pad));
  const Shape& operand = OperandShape(pad, 0);
  const Shape& value = OperandShape(pad, 1);
  std::vector<PaddingDimension> padding = DecodePadding(pad);
  if (padding.size() != operand.rank()) {
    return Fail(
        fmt::format("pad of {} with padding for {} dimensions", Bare(operand), padding.size()));
  }
  PrimitiveType type = WiderType(operand.type, value.type);
  if (!value.IsScalar() || type == PrimitiveType::kInvalid) {
    return Fail(fmt::format("pad of {} with {}: the padding value is a scalar of the same type",
                            Bare(operand), Bare(value)));
  }
  InferredShape result = ArrayOf(type, {});
  for (size_t i = 0; i < padding.size(); ++i) {
    int64_t size = operand.dims[i];
    if (size != kUnbounded) {
      __int128 total = static_cast<__int128>(size) + padding[i].low + padding[i].high +
                       static_cast<__int128>(std::max<int64_t>(size - 1, 0)) * padding[i].interior;
      if (padding[i].interior < 0 || total < 0 || total > INT64_MAX) {
        return Fail(fmt::format("pad of {} that leaves dimension {} with an impossible size",
                                Bare(operand), i));
      }
      size = static_cast<int64_t>(total);
    }
    AppendDimension(result, size, IsDynamic(operand, i));
  }
  return result;
}

Inferred InferSlice(const Instruction& slice) {
  EF_CHECK_OK(CheckArray(slice));
  const Shape& operand = OperandShape(slice, 0);
  std::vector<SliceRange> ranges = DecodeSlice(slice);
  if (ranges.size() != operand.rank()) {
    return Fail(fmt::format("slice of {} with {} ranges", Bare(operand), ranges.size()));
  }
  InferredShape result = ArrayOf(operand.type, {});
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SliceRange& range = ranges[i];
    bool unbounded = operand.dims[i] == kUnbounded;
    if (range.start < 0 || range.limit < range.start || range.stride <= 0 ||
        (!unbounded && range.limit > operand.dims[i])) {
      return Fail(fmt::format("slice [{}:{}:{}] of dimension {} of {}", range.start, range.limit,
                              range.stride, i, Bare(operand)));
    }
    int64_t length = range.limit - range.start;
    int64_t size = length / range.stride + (length % range.stride != 0);
    AppendDimension(result, size, IsDynamic(operand, i));
  }
  return result;
}

namespace {

// Start indices from operand `first` on: one scalar per dimension, or one vector.
Result<void> CheckStartIndices(const Instruction& instruction, size_t first, size_t rank) {
  size_t count = instruction.operands.size() - first;
  bool vector = count == 1 && OperandShape(instruction, first).rank() == 1 &&
                OperandShape(instruction, first).dims[0] == static_cast<int64_t>(rank);
  bool fits = vector || count == rank;
  for (size_t i = first; fits && i < instruction.operands.size(); ++i) {
    const Shape& index = OperandShape(instruction, i);
    fits = IsIntegral(index.type) && (vector || index.rank() == 0);
  }
  if (fits) return {};
  return Fail(fmt::format("{} needs an integer start index for each of {} dimensions",
                          Name(instruction.opcode), rank));
}

}  // namespace

Inferred InferDynamicSlice(const Instruction& dynamic_slice) {
  EF_CHECK_OK(CheckArray(dynamic_slice));
  const Shape& operand = OperandShape(dynamic_slice, 0);
  EF_CHECK_OK(CheckStartIndices(dynamic_slice, 1, operand.rank()));
  std::vector<int64_t> sizes = DecodeInts(dynamic_slice.Bytes(Field::kDynamicSliceSizes));
  bool fits = sizes.size() == operand.rank();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && (operand.dims[i] == kUnbounded || sizes[i] <= operand.dims[i]);
  }
  if (!fits) {
    return Fail(
        fmt::format("dynamic-slice of {} with dynamic_slice_sizes={}", Bare(operand), Join(sizes)));
  }
  return ArrayOf(operand.type, std::move(sizes));
}

Inferred InferDynamicUpdateSlice(const Instruction& update) {
  EF_CHECK_OK(CheckArray(update));
  const Shape& operand = OperandShape(update, 0);
  const Shape& part = OperandShape(update, 1);
  EF_CHECK_OK(CheckStartIndices(update, 2, operand.rank()));
  bool fits = part.IsArray() && part.rank() == operand.rank() &&
              WiderType(part.type, operand.type) != PrimitiveType::kInvalid;
  for (size_t i = 0; fits && i < part.rank(); ++i) {
    fits = part.dims[i] <= operand.dims[i] || IsDynamic(operand, i) || IsDynamic(part, i);
  }
  if (!fits) {
    return Fail(
        fmt::format("dynamic-update-slice of {} with {}: the update has the same type and "
                    "rank and is no larger",
                    Bare(operand), Bare(part)));
  }
  return Whole(&operand);
}

Inferred InferGather(const Instruction& gather) {
  const Shape& operand = OperandShape(gather, 0);
  const Shape& indices = OperandShape(gather, 1);
  GatherDimensions dims = DecodeGatherDimensions(gather.Bytes(Field::kGatherDimensionNumbers));
  std::vector<int64_t> sizes = DecodeInts(gather.Bytes(Field::kGatherSliceSizes));
  bool fits = dims.ok && operand.IsArray() && IsIntegral(indices.type) &&
              sizes.size() == operand.rank() && dims.index_vector_dim >= 0 &&
              dims.index_vector_dim <= static_cast<int64_t>(indices.rank()) &&
              AreDimensions(dims.collapsed, operand.rank()) &&
              AreDimensions(dims.operand_batching, operand.rank()) &&
              AreDimensions(dims.start_index_map, operand.rank());
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && (sizes[i] <= operand.dims[i] || IsDynamic(operand, i));
  }
  std::vector<int64_t> offset_sizes;
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    if (!Contains(dims.collapsed, i) && !Contains(dims.operand_batching, i)) {
      offset_sizes.push_back(sizes[i]);
    }
  }
  bool implicit = dims.index_vector_dim == static_cast<int64_t>(indices.rank());
  size_t rank = offset_sizes.size() + indices.rank() - (implicit ? 0 : 1);
  if (!fits || offset_sizes.size() != dims.offset.size() || !AreDimensions(dims.offset, rank)) {
    return Fail(
        fmt::format("gather from {} at {} with slice_sizes={} and dimension numbers that do "
                    "not fit",
                    Bare(operand), Bare(indices), Join(sizes)));
  }
  InferredShape result = ArrayOf(operand.type, {});
  size_t offset = 0;
  size_t index_dim = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (Contains(dims.offset, i)) {
      AppendDimension(result, offset_sizes[offset++], false);
      continue;
    }
    if (static_cast<int64_t>(index_dim) == dims.index_vector_dim) ++index_dim;
    AppendDimension(result, indices.dims[index_dim], IsDynamic(indices, index_dim));
    ++index_dim;
  }
  return result;
}

Inferred InferReduce(const Instruction& reduce) {
  EF_CHECK_OK(CheckArray(reduce));
  const Shape& operand = OperandShape(reduce, 0);
  size_t inputs = reduce.operands.size() / 2;
  std::vector<int64_t> dims = Dimensions(reduce);
  if (reduce.operands.size() % 2 != 0) {
    return Fail("reduce takes as many initial values as inputs");
  }
  if (!AreDimensions(dims, operand.rank())) {
    return Fail(
        fmt::format("reduce of {} over dimensions={}, which are not distinct dimensions of "
                    "it",
                    Bare(operand), Join(dims)));
  }
  for (size_t i = 1; i < inputs; ++i) {
    if (!std::ranges::equal(OperandShape(reduce, i).dims, operand.dims)) {
      return Fail(fmt::format("reduce of {} together with {}: the dimensions differ", Bare(operand),
                              Bare(OperandShape(reduce, i))));
    }
  }
  EF_TRY(std::vector<const Shape*> results, CalledResults(reduce));
  if (results.size() != inputs) {
    return Fail(fmt::format("reduce of {} inputs with a computation of {} results", inputs,
                            results.size()));
  }
  InferredShape one = ArrayOf(results[0]->type, {});
  for (size_t i = 0; i < operand.rank(); ++i) {
    if (!Contains(dims, i)) AppendDimension(one, operand.dims[i], IsDynamic(operand, i));
  }
  return CombinedResult(std::move(one), reduce, results);
}

Inferred InferMap(const Instruction& map) {
  EF_CHECK_OK(CheckArray(map));
  const Shape& operand = OperandShape(map, 0);
  EF_TRY(std::vector<const Shape*> results, CalledResults(map));
  for (const Instruction* other : map.operands) {
    if (!std::ranges::equal(other->shape->dims, operand.dims)) {
      return Fail(fmt::format("map of {} together with {}: the dimensions differ", Bare(operand),
                              Bare(*other->shape)));
    }
  }
  if (results.size() != 1 || !results[0]->IsScalar()) {
    return Fail("map with a computation whose result is not a scalar");
  }
  InferredShape result = ArrayOf(results[0]->type, {});
  for (size_t i = 0; i < operand.rank(); ++i) {
    AppendDimension(result, operand.dims[i], IsDynamic(operand, i));
  }
  return result;
}

Inferred InferTopK(const Instruction& top_k) {
  EF_CHECK_OK(CheckArray(top_k));
  const Shape& operand = OperandShape(top_k, 0);
  int64_t k = top_k.Int(Field::kK);
  if (operand.rank() == 0 || k < 0 || (k > operand.dims.back() && operand.dynamic.empty())) {
    return Fail(fmt::format("topk of {} with k={}", Bare(operand), k));
  }
  InferredShape values = ArrayOf(operand.type, {operand.dims.begin(), operand.dims.end()});
  values.dims.back() = k;
  InferredShape indices = ArrayOf(PrimitiveType::kS32, values.dims);
  InferredShape result{.type = PrimitiveType::kTuple};
  result.elements.push_back(std::move(values));
  result.elements.push_back(std::move(indices));
  return result;
}

Inferred InferFft(const Instruction& fft) {
  EF_CHECK_OK(CheckArray(fft));
  const Shape& operand = OperandShape(fft, 0);
  std::vector<int64_t> length = DecodeInts(fft.Bytes(Field::kFftLength));
  constexpr int64_t kReal = 2;         // RFFT
  constexpr int64_t kInverseReal = 3;  // IRFFT
  int64_t kind = fft.Int(Field::kFftType);
  if (length.empty() || length.size() > operand.rank()) {
    return Fail(fmt::format("fft of {} with fft_length={}", Bare(operand), Join(length)));
  }
  bool real_input = kind == kReal;
  PrimitiveType type = operand.type;
  bool fits =
      real_input ? type == PrimitiveType::kF32 || type == PrimitiveType::kF64 : IsComplex(type);
  for (size_t i = 0; fits && i < length.size(); ++i) {
    size_t dim = operand.rank() - length.size() + i;
    bool halved = kind == kInverseReal && i + 1 == length.size();
    fits = IsDynamic(operand, dim) ||
           operand.dims[dim] == (halved ? length[i] / 2 + 1 : length[i]) || length[i] == 0;
  }
  if (!fits) {
    return Fail(
        fmt::format("fft of {} with fft_length={}: the type or the last dimensions do not "
                    "fit",
                    Bare(operand), Join(length)));
  }
  if (kind != kReal && kind != kInverseReal) return Whole(&operand);
  bool wide = BitWidth(type) == (real_input ? 64 : 128);
  InferredShape result =
      ArrayLike(operand, real_input ? (wide ? PrimitiveType::kC128 : PrimitiveType::kC64)
                                    : (wide ? PrimitiveType::kF64 : PrimitiveType::kF32));
  result.dims.back() = real_input ? length.back() / 2 + 1 : length.back();
  return result;
}

Inferred InferBatchNorm(const Instruction& batch_norm) {
  EF_CHECK_OK(CheckArray(batch_norm));
  const Shape& operand = OperandShape(batch_norm, 0);
  auto feature = static_cast<uint64_t>(batch_norm.Int(Field::kFeatureIndex));
  if (feature >= operand.rank()) {
    return Fail(fmt::format("{} of {} with feature_index={}", Name(batch_norm.opcode),
                            Bare(operand), static_cast<int64_t>(feature)));
  }
  bool gradient = batch_norm.opcode == Opcode::kBatchNormGrad;
  for (size_t i = 1; i < batch_norm.operands.size(); ++i) {
    const Shape& shape = OperandShape(batch_norm, i);
    bool fits = gradient && i == 4 ? std::ranges::equal(shape.dims, operand.dims)
                                   : shape.rank() == 1 && SameSize(shape, 0, operand, feature);
    if (fits) continue;
    return Fail(fmt::format("{} of {} with operand {} of shape {}", Name(batch_norm.opcode),
                            Bare(operand), i, Bare(shape)));
  }
  if (batch_norm.opcode == Opcode::kBatchNormInference) return Whole(&operand);
  InferredShape per_feature = ArrayOf(OperandShape(batch_norm, 1).type, {operand.dims[feature]});
  InferredShape result{.type = PrimitiveType::kTuple};
  result.elements = {Whole(&operand), per_feature, per_feature};
  return result;
}

Inferred InferSetDimensionSize(const Instruction& set) {
  EF_CHECK_OK(CheckArray(set));
  const Shape& operand = OperandShape(set, 0);
  std::vector<int64_t> dims = Dimensions(set);
  if (dims.size() != 1 || !AreDimensions(dims, operand.rank())) {
    return Fail(fmt::format("set-dimension-size of {} needs one dimension of it", Bare(operand)));
  }
  InferredShape result = ArrayLike(operand, operand.type);
  result.dynamic.resize(operand.rank());
  result.dynamic[static_cast<size_t>(dims[0])] = true;
  return result;
}

}  // namespace eightfold::hlo
