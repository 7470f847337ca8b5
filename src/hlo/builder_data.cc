// The part of Builder that moves data: nothing here computes.
#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>
#include <stdexcept>

#include "hlo/builder.h"

namespace eightfold::hlo {

Instruction* Builder::BitcastConvert(Instruction* x, PrimitiveType type) {
  std::vector<int64_t> dims(x->shape->dims.begin(), x->shape->dims.end());
  int from = BitWidth(x->shape->type);
  int to = BitWidth(type);
  bool fits = from > 0 && to > 0 && (from % to == 0 || to % from == 0);
  if (fits && from > to) dims.push_back(from / to);
  if (fits && from < to) {
    fits = !dims.empty() && dims.back() == to / from;
    if (fits) dims.pop_back();
  }
  if (!fits) {
    throw std::logic_error(
        fmt::format("Builder: bitcast-convert of {} to {}", ToString(*x->shape), Name(type)));
  }
  return Make(Opcode::kBitcastConvert, {&x, 1}, {}, Array(type, dims));
}

Instruction* Builder::Broadcast(Instruction* x, std::span<const int64_t> dims,
                                std::span<const int64_t> dimensions) {
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  std::span<const Attribute> attributes(&attribute, dimensions.empty() ? 0 : 1);
  return Make(Opcode::kBroadcast, {&x, 1}, attributes, Array(x->shape->type, dims));
}

Instruction* Builder::Reshape(Instruction* x, std::span<const int64_t> dims) {
  return Make(Opcode::kReshape, {&x, 1}, {}, Array(x->shape->type, dims));
}

Instruction* Builder::Transpose(Instruction* x, std::span<const int64_t> permutation) {
  Attribute attribute = Ints(Field::kDimensions, permutation);
  std::span<const Attribute> attributes(&attribute, permutation.empty() ? 0 : 1);
  Instruction* made = Make(Opcode::kTranspose, {&x, 1}, attributes);
  made->shape = Array(made->shape->type, made->shape->dims);  // as everything built: default layout
  return made;
}

Instruction* Builder::Slice(Instruction* x, std::span<const SliceRange> ranges) {
  std::vector<Attribute> attributes;
  for (const SliceRange& range : ranges) {
    std::string wire;
    protozero::pbf_writer writer(wire);
    if (range.start != 0) writer.add_int64(1, range.start);
    if (range.limit != 0) writer.add_int64(2, range.limit);
    writer.add_int64(3, range.stride);
    attributes.push_back(Payload(Field::kSliceDimensions, wire));
  }
  return Make(Opcode::kSlice, {&x, 1}, attributes);
}

Instruction* Builder::Concatenate(std::span<Instruction* const> parts, int64_t dimension) {
  Attribute attribute = Ints(Field::kDimensions, {&dimension, 1});
  return Make(Opcode::kConcatenate, parts, {&attribute, 1});
}

Instruction* Builder::Pad(Instruction* x, Instruction* value,
                          std::span<const PaddingDimension> padding) {
  std::string wire;
  protozero::pbf_writer writer(wire);
  for (const PaddingDimension& dim : padding) {
    protozero::pbf_writer one(writer, 1);
    if (dim.low != 0) one.add_int64(1, dim.low);
    if (dim.high != 0) one.add_int64(2, dim.high);
    if (dim.interior != 0) one.add_int64(3, dim.interior);
  }
  Instruction* operands[] = {x, value};
  Attribute attribute = Payload(Field::kPaddingConfig, wire);
  return Make(Opcode::kPad, operands, {&attribute, 1});
}

Instruction* Builder::DynamicSlice(Instruction* x, std::span<Instruction* const> starts,
                                   std::span<const int64_t> sizes) {
  std::vector<Instruction*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Attribute attribute = Ints(Field::kDynamicSliceSizes, sizes);
  return Make(Opcode::kDynamicSlice, operands, {&attribute, 1});
}

Instruction* Builder::DynamicUpdateSlice(Instruction* x, Instruction* update,
                                         std::span<Instruction* const> starts) {
  std::vector<Instruction*> operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return Make(Opcode::kDynamicUpdateSlice, operands);
}

Instruction* Builder::Reverse(Instruction* x, std::span<const int64_t> dimensions) {
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  return Make(Opcode::kReverse, {&x, 1}, {&attribute, 1});
}

Instruction* Builder::Gather(Instruction* x, Instruction* indices,
                             const GatherDimensions& dimensions,
                             std::span<const int64_t> slice_sizes) {
  Instruction* operands[] = {x, indices};
  Attribute attributes[] = {
      Payload(Field::kGatherDimensionNumbers, EncodeGatherDimensions(dimensions)),
      Ints(Field::kGatherSliceSizes, slice_sizes)};
  return Make(Opcode::kGather, operands, attributes);
}

Instruction* Builder::Scatter(Instruction* x, Instruction* indices, Instruction* updates,
                              const ScatterDimensions& dimensions, Computation* combiner,
                              bool unique_indices) {
  Instruction* operands[] = {x, indices, updates};
  Attribute attributes[] = {
      Payload(Field::kScatterDimensionNumbers, EncodeScatterDimensions(dimensions)),
      Attribute::Varint(Field::kUniqueIndices, unique_indices ? 1 : 0)};
  return Make(Opcode::kScatter, operands, {attributes, unique_indices ? 2u : 1u}, nullptr,
              {&combiner, 1});
}

Instruction* Builder::Sort(std::span<Instruction* const> operands, int64_t dimension,
                           Computation* comparator, bool is_stable) {
  Attribute attributes[] = {Ints(Field::kDimensions, {&dimension, 1}),
                            Attribute::Varint(Field::kIsStable, 1)};
  return Make(Opcode::kSort, operands, {attributes, is_stable ? 2u : 1u}, nullptr,
              {&comparator, 1});
}

}  // namespace eightfold::hlo
