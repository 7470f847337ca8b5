// The part of Builder that folds and multiplies: reductions, dots, convolutions.
#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>

#include "hlo/builder.h"

namespace eightfold::hlo {
namespace {

std::string EncodeDot(const DotDimensions& dims) {
  std::string out;
  protozero::pbf_writer writer(out);
  auto add = [&](uint32_t field, const std::vector<int64_t>& list) {
    if (!list.empty()) writer.add_packed_int64(field, list.begin(), list.end());
  };
  add(1, dims.lhs_contracting);
  add(2, dims.rhs_contracting);
  add(3, dims.lhs_batch);
  add(4, dims.rhs_batch);
  return out;
}

}  // namespace

Instruction* Builder::Reduce(Instruction* x, Instruction* init, std::span<const int64_t> dimensions,
                             Computation* reducer) {
  Instruction* operands[] = {x, init};
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  std::span<const Attribute> attributes(&attribute, dimensions.empty() ? 0 : 1);
  return Make(Opcode::kReduce, operands, attributes, nullptr, {&reducer, 1});
}

Instruction* Builder::ReduceMany(std::span<Instruction* const> xs,
                                 std::span<Instruction* const> inits,
                                 std::span<const int64_t> dimensions, Computation* reducer) {
  std::vector<Instruction*> operands(xs.begin(), xs.end());
  operands.insert(operands.end(), inits.begin(), inits.end());
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  return Make(Opcode::kReduce, operands, {&attribute, dimensions.empty() ? 0u : 1u}, nullptr,
              {&reducer, 1});
}

Instruction* Builder::ReduceWindow(Instruction* x, Instruction* init, const Window& window,
                                   Computation* reducer) {
  Instruction* operands[] = {x, init};
  Attribute attribute = Payload(Field::kWindow, EncodeWindow(window));
  return Make(Opcode::kReduceWindow, operands, {&attribute, 1}, nullptr, {&reducer, 1});
}

Computation* Builder::Reducer(Opcode opcode, PrimitiveType type) {
  std::string name = fmt::format("reducer.{}.{}", Name(opcode), Name(type));
  if (Computation* made = Find(name)) return made;
  Builder b(module_, name);
  const Shape* scalar = Array(type, {});
  Instruction* a = b.Parameter(0, scalar);
  return b.Build(b.Binary(opcode, a, b.Parameter(1, scalar)));
}

Computation* Builder::SetCombiner(PrimitiveType type) {
  std::string name = fmt::format("set.{}", Name(type));
  if (Computation* made = Find(name)) return made;
  Builder b(module_, name);
  b.Parameter(0, Array(type, {}));
  return b.Build(b.Parameter(1, Array(type, {})));
}

Instruction* Builder::Dot(Instruction* lhs, Instruction* rhs, const DotDimensions& dimensions,
                          PrimitiveType type) {
  Instruction* operands[] = {lhs, rhs};
  Attribute attribute = Payload(Field::kDotDimensionNumbers, EncodeDot(dimensions));
  return WithType(Make(Opcode::kDot, operands, {&attribute, 1}), type);
}

Instruction* Builder::Conv(Instruction* input, Instruction* kernel, const Window& window,
                           const ConvolutionDimensions& dimensions, PrimitiveType type,
                           int64_t feature_groups) {
  Instruction* operands[] = {input, kernel};
  Attribute attributes[] = {
      Payload(Field::kWindow, EncodeWindow(window)),
      Payload(Field::kConvolutionDimensionNumbers, EncodeConvolutionDimensions(dimensions)),
      Attribute::Varint(Field::kFeatureGroupCount, static_cast<uint64_t>(feature_groups)),
      Attribute::Varint(Field::kBatchGroupCount, 1)};
  return WithType(Make(Opcode::kConvolution, operands, attributes), type);
}

}  // namespace eightfold::hlo
