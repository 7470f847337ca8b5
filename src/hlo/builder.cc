#include "hlo/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <stdexcept>

#include "base/float_types.h"
#include "hlo/infer_shape.h"
#include "hlo/shape_codec.h"
#include "hlo/verifier.h"

namespace eightfold::hlo {
namespace {

// Element `value` as `type` stores it, in the low bits.
uint64_t BitsOf(PrimitiveType type, double value) {
  const FloatFormat* format = FindFloatFormat(Name(type));
  if (format != nullptr) return EncodeFloat(*format, value);
  if (type == PrimitiveType::kPred) return value != 0;
  constexpr double kTwoTo63 = 9223372036854775808.0;
  return value >= kTwoTo63 ? static_cast<uint64_t>(value)
                           : static_cast<uint64_t>(static_cast<int64_t>(value));
}

// LiteralProto of an array, from the bits of its elements.
std::string EncodeLiteral(const Shape& shape, std::span<const uint64_t> bits) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_message(1, EncodeShape(shape));
  int width = BitWidth(shape.type);
  bool is_float = FindFloatFormat(Name(shape.type)) != nullptr;
  std::string data;
  if (!is_float && (width >= 32 || shape.type == PrimitiveType::kPred)) {
    std::vector<int64_t> numbers(bits.begin(), bits.end());
    data = EncodeInts(numbers);
  } else {
    uint64_t mask = width < 8 ? (uint64_t{1} << width) - 1 : ~uint64_t{0};
    for (uint64_t element : bits) {
      for (int bit = 0; bit < std::max(width, 8); bit += 8) {
        data.push_back(static_cast<char>((element & mask) >> bit));
      }
    }
  }
  writer.add_bytes(static_cast<uint32_t>(LiteralField(shape.type)), data);
  return out;
}

}  // namespace

Builder::Builder(Module& module, std::string_view name)
    : module_(module), computation_(module.arena.New<Computation>()) {
  computation_->name = module.arena.Copy(name);
  computation_->module = &module;
}

Builder::Scope::Scope(Builder& b, std::string_view name) : builder_(b), outer_(b.op_name_) {
  b.Rename(outer_.empty() ? std::string(name) : fmt::format("{}/{}", outer_, name));
}

void Builder::Rename(std::string op_name) {
  op_name_ = std::move(op_name);
  std::string wire;
  if (!op_name_.empty()) protozero::pbf_writer(wire).add_string(2, op_name_);
  metadata_ = module_.arena.Copy(wire);
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
  made->metadata = metadata_;
  made->shape = shape;
  if (shape == nullptr) {
    Result<const Shape*> inferred = InferShape(module_, *made);
    if (!inferred) throw std::logic_error("Builder: " + inferred.error().what);
    made->shape = *inferred;
  }
  Check(*made);
  instructions_.push_back(made);
  return made;
}

void Builder::Check(const Instruction& instruction) const {
  auto verdict = VerifyInstruction(module_, instruction);
  if (!verdict) throw std::logic_error("Builder: " + verdict.error().what);
}

Computation* Builder::Find(std::string_view name) const {
  for (Computation* computation : module_.computations) {
    if (computation->name == name) return computation;
  }
  return nullptr;
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

Instruction* Builder::ConstantBits(PrimitiveType type, std::span<const int64_t> dims,
                                   std::span<const uint64_t> bits) {
  bool packed = !dims.empty() && BitWidth(type) < 8;
  if (IsComplex(type) || !IsArray(type) || packed) {
    throw std::logic_error(fmt::format("Builder: {} of type {}",
                                       packed ? "an array constant" : "a constant", Name(type)));
  }
  const Shape* shape = Array(type, dims);
  Attribute literal = Payload(Field::kLiteral, EncodeLiteral(*shape, bits));
  return Make(Opcode::kConstant, {}, {&literal, 1}, shape);
}

Instruction* Builder::Constant(PrimitiveType type, double value) {
  uint64_t bits = BitsOf(type, value);
  return ConstantBits(type, {}, {&bits, 1});
}

Instruction* Builder::ConstantArray(PrimitiveType type, std::span<const int64_t> dims,
                                    std::span<const double> values) {
  std::vector<uint64_t> bits;
  for (double value : values) bits.push_back(BitsOf(type, value));
  return ConstantBits(type, dims, bits);
}

Instruction* Builder::ConstantInts(PrimitiveType type, std::span<const int64_t> dims,
                                   std::span<const int64_t> values) {
  if (!IsIntegral(type)) {
    throw std::logic_error(fmt::format("Builder: an integer constant of type {}", Name(type)));
  }
  std::vector<uint64_t> bits(values.begin(), values.end());
  return ConstantBits(type, dims, bits);
}

Instruction* Builder::Full(PrimitiveType type, std::span<const int64_t> dims, double value) {
  Instruction* scalar = Constant(type, value);
  return dims.empty() ? scalar : Broadcast(scalar, dims);
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

Instruction* Builder::Tuple(std::span<Instruction* const> elements) {
  return Make(Opcode::kTuple, elements);
}

Instruction* Builder::GetTupleElement(Instruction* tuple, int64_t index) {
  Attribute attribute = Attribute::Varint(Field::kTupleIndex, static_cast<uint64_t>(index));
  return Make(Opcode::kGetTupleElement, {&tuple, 1}, {&attribute, 1});
}

std::vector<Instruction*> Builder::Elements(Instruction* tuple) {
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < tuple->shape->tuple.size(); ++i) {
    elements.push_back(GetTupleElement(tuple, static_cast<int64_t>(i)));
  }
  return elements;
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
