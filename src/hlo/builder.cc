#include "hlo/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <stdexcept>

#include "base/float_types.h"
#include "hlo/infer_shape.h"
#include "hlo/shape_codec.h"

namespace eightfold::hlo {
namespace {

// LiteralProto of one element.
std::string EncodeScalar(const Shape& shape, double value) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_message(1, EncodeShape(shape));
  auto field = static_cast<uint32_t>(LiteralField(shape.type));
  const FloatFormat* format = FindFloatFormat(Name(shape.type));
  uint64_t bits = format != nullptr ? EncodeFloat(*format, value)
                                    : static_cast<uint64_t>(static_cast<int64_t>(value));
  int width = BitWidth(shape.type);
  bool varint = format == nullptr && (width >= 32 || shape.type == PrimitiveType::kPred);
  if (varint) {
    int64_t one[] = {static_cast<int64_t>(bits)};
    writer.add_bytes(field, EncodeInts(one));
    return out;
  }
  if (width < 8) bits &= (uint64_t{1} << width) - 1;
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
  writer.add_bytes(field, bytes, static_cast<size_t>(std::max(width / 8, 1)));
  return out;
}

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

Builder::Builder(Module& module, std::string_view name)
    : module_(module), computation_(module.arena.New<Computation>()) {
  computation_->name = module.arena.Copy(name);
  computation_->module = &module;
}

Instruction* Builder::Make(Opcode opcode, std::span<Instruction* const> operands,
                           std::span<const Attribute> attributes, const Shape* shape,
                           std::span<Computation* const> called) {
  auto* made = module_.arena.New<Instruction>();
  made->index = static_cast<uint32_t>(instructions_.size());
  made->name = module_.arena.Copy(
      fmt::format("{}.{}.{}", Name(opcode), computation_->name, instructions_.size()));
  made->opcode = opcode;
  made->parent = computation_;
  made->operands = module_.arena.Copy(operands);
  made->attributes = module_.arena.Copy(attributes);
  made->called = module_.arena.Copy(called);
  made->shape = shape;
  if (shape == nullptr) {
    Result<const Shape*> inferred = InferShape(module_, *made);
    if (!inferred) throw std::logic_error("Builder: " + inferred.error().what);
    made->shape = *inferred;
  }
  instructions_.push_back(made);
  return made;
}

Instruction* Builder::WithType(Instruction* instruction, PrimitiveType type) {
  if (type == PrimitiveType::kInvalid || type == instruction->shape->type) return instruction;
  Shape shape = *instruction->shape;
  shape.type = type;
  instruction->shape = module_.shapes.Intern(shape);
  return instruction;
}

Instruction* Builder::Parameter(int64_t number, const Shape* shape, std::string_view name) {
  Attribute attribute = Attribute::Varint(Field::kParameterNumber, static_cast<uint64_t>(number));
  Instruction* made = Make(Opcode::kParameter, {}, {&attribute, 1}, shape);
  if (!name.empty()) made->name = module_.arena.Copy(name);
  return made;
}

Instruction* Builder::Constant(PrimitiveType type, double value) {
  if (IsComplex(type) || !IsArray(type)) {
    throw std::logic_error(fmt::format("Builder: a constant of type {}", Name(type)));
  }
  const Shape* shape = Array(type, {});
  Attribute literal = Payload(Field::kLiteral, EncodeScalar(*shape, value));
  return Make(Opcode::kConstant, {}, {&literal, 1}, shape);
}

Instruction* Builder::Iota(PrimitiveType type, std::span<const int64_t> dims, int64_t dimension) {
  Attribute attribute = Ints(Field::kDimensions, {&dimension, 1});
  return Make(Opcode::kIota, {}, {&attribute, 1}, Array(type, dims));
}

Instruction* Builder::Binary(Opcode opcode, Instruction* a, Instruction* b) {
  return Make(opcode, {a, b});
}

Instruction* Builder::Compare(Instruction* a, Instruction* b, std::string_view direction) {
  Instruction* operands[] = {a, b};
  std::string_view type = IsFloating(a->shape->type) || IsComplex(a->shape->type) ? "FLOAT"
                          : IsSigned(a->shape->type)                              ? "SIGNED"
                                                                                  : "UNSIGNED";
  Attribute attributes[] = {Payload(Field::kComparisonDirection, direction),
                            Attribute::Bytes(Field::kComparisonType, type)};
  return Make(Opcode::kCompare, operands, attributes);
}

Instruction* Builder::Select(Instruction* predicate, Instruction* on_true, Instruction* on_false) {
  return Make(Opcode::kSelect, {predicate, on_true, on_false});
}

Instruction* Builder::Clamp(Instruction* low, Instruction* x, Instruction* high) {
  return Make(Opcode::kClamp, {low, x, high});
}

Instruction* Builder::Convert(Instruction* x, PrimitiveType type) {
  return Make(Opcode::kConvert, {&x, 1}, {}, Array(type, x->shape->dims));
}

Instruction* Builder::Broadcast(Instruction* x, std::span<const int64_t> dims,
                                std::span<const int64_t> dimensions) {
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  std::span<const Attribute> attributes(&attribute, dimensions.empty() ? 0 : 1);
  return Make(Opcode::kBroadcast, {&x, 1}, attributes, Array(x->shape->type, dims));
}

Instruction* Builder::Reshape(Instruction* x, std::span<const int64_t> dims) {
  const Shape* shape = Array(x->shape->type, dims);
  if (ElementCount(*shape) != ElementCount(*x->shape)) {
    throw std::logic_error(
        fmt::format("Builder: reshape of {} to {}", ToString(*x->shape), ToString(*shape)));
  }
  return Make(Opcode::kReshape, {&x, 1}, {}, shape);
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

Instruction* Builder::Reduce(Instruction* x, Instruction* init, std::span<const int64_t> dimensions,
                             Computation* reducer) {
  Instruction* operands[] = {x, init};
  Attribute attribute = Ints(Field::kDimensions, dimensions);
  std::span<const Attribute> attributes(&attribute, dimensions.empty() ? 0 : 1);
  return Make(Opcode::kReduce, operands, attributes, nullptr, {&reducer, 1});
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

Instruction* Builder::Tuple(std::span<Instruction* const> elements) {
  return Make(Opcode::kTuple, elements);
}

Instruction* Builder::GetTupleElement(Instruction* tuple, int64_t index) {
  Attribute attribute = Attribute::Varint(Field::kTupleIndex, static_cast<uint64_t>(index));
  return Make(Opcode::kGetTupleElement, {&tuple, 1}, {&attribute, 1});
}

Instruction* Builder::Call(Computation* callee, std::span<Instruction* const> arguments) {
  return Make(Opcode::kCall, arguments, {}, nullptr, {&callee, 1});
}

Instruction* Builder::While(Computation* condition, Computation* body, Instruction* init) {
  Computation* called[] = {body, condition};
  return Make(Opcode::kWhile, {&init, 1}, {}, nullptr, called);
}

Instruction* Builder::Conditional(Instruction* selector, std::span<Computation* const> branches,
                                  std::span<Instruction* const> arguments) {
  std::vector<Instruction*> operands = {selector};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  return Make(Opcode::kConditional, operands, {}, nullptr, branches);
}

Instruction* Builder::Fusion(std::string_view kind, Computation* fused,
                             std::span<Instruction* const> operands) {
  fused->is_fusion = true;
  Attribute attribute = Payload(Field::kFusionKind, kind);
  return Make(Opcode::kFusion, operands, {&attribute, 1}, nullptr, {&fused, 1});
}

Instruction* Builder::CustomCall(std::string_view target, std::span<Instruction* const> operands,
                                 const Shape* shape, std::string_view backend_config) {
  Attribute attribute = Payload(Field::kCustomCallTarget, target);
  Instruction* made = Make(Opcode::kCustomCall, operands, {&attribute, 1}, shape);
  made->backend_config = module_.arena.Copy(backend_config);
  return made;
}

Computation* Builder::Build(Instruction* root) {
  if (root == nullptr || root->parent != computation_) {
    throw std::logic_error("Builder: the root is not an instruction of this computation");
  }
  computation_->instructions = module_.arena.Copy(instructions_);
  computation_->root = root;
  std::vector<Computation*> all(module_.computations.begin(), module_.computations.end());
  all.push_back(computation_);
  module_.computations = module_.arena.Copy(all);
  Finish(module_);
  return computation_;
}

}  // namespace eightfold::hlo
