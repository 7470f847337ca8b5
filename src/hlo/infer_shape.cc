#include "hlo/infer_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "hlo/infer_internal.h"

namespace eightfold::hlo {
namespace {

using Inferred = Result<InferredShape>;

Inferred InferUnary(const Instruction& instruction) {
  const Shape& operand = OperandShape(instruction, 0);
  if (!operand.IsArray()) {
    return Fail(
        fmt::format("{} of {}, which is not an array", Name(instruction.opcode), Bare(operand)));
  }
  PrimitiveType type = operand.type;
  switch (instruction.opcode) {
    case Opcode::kAbs:
      if (type == PrimitiveType::kPred) break;
      if (!IsComplex(type)) return Whole(&operand);
      return ArrayLike(operand,
                       type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64);
    case Opcode::kClz:
    case Opcode::kPopulationCount:
      if (!IsIntegral(type)) break;
      return Whole(&operand);
    case Opcode::kNot:
      if (!IsIntegral(type) && type != PrimitiveType::kPred) break;
      return Whole(&operand);
    case Opcode::kNegate:
    case Opcode::kSign:
      if (type == PrimitiveType::kPred) break;
      return Whole(&operand);
    case Opcode::kCeil:
    case Opcode::kErf:
    case Opcode::kFloor:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kReducePrecision:
      if (!IsFloating(type)) break;
      return Whole(&operand);
    default:
      if (!IsFloating(type) && !IsComplex(type)) break;
      return Whole(&operand);
  }
  return Fail(fmt::format("{} does not take {}", Name(instruction.opcode), Name(type)));
}

// As XLA's verifier has it.
bool TakesType(Opcode binary, PrimitiveType type) {
  switch (binary) {
    case Opcode::kAnd:
    case Opcode::kMulhi:
    case Opcode::kOr:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kXor:
      return IsIntegral(type) || type == PrimitiveType::kPred;
    case Opcode::kAtan2:
      return IsFloating(type) || IsComplex(type);
    case Opcode::kDivide:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kSubtract:
      return type != PrimitiveType::kPred;
    default:
      return true;
  }
}

Inferred InferBinary(const Instruction& instruction) {
  const Shape& a = OperandShape(instruction, 0);
  const Shape& b = OperandShape(instruction, 1);
  if (a.bare == b.bare && a.IsArray()) {
    if (TakesType(instruction.opcode, a.type)) return Whole(&a);
    return Fail(fmt::format("{} does not take {}", Name(instruction.opcode), Name(a.type)));
  }
  PrimitiveType type = WiderType(a.type, b.type);
  bool same = a.IsArray() && b.IsArray() && a.rank() == b.rank() && type != PrimitiveType::kInvalid;
  for (size_t i = 0; same && i < a.rank(); ++i) same = SameSize(a, i, b, i);
  if (!same) {
    return Fail(fmt::format("{} of {} and {}: operands of an elementwise operation have one shape",
                            Name(instruction.opcode), Bare(a), Bare(b)));
  }
  return ArrayLike(a, type);
}

Inferred InferCompare(const Instruction& compare) {
  EF_TRY(InferredShape operands, InferBinary(compare));
  (void)operands;
  return ArrayLike(OperandShape(compare, 0), PrimitiveType::kPred);
}

Inferred InferComplex(const Instruction& complex) {
  const Shape& real = OperandShape(complex, 0);
  if (real.bare != OperandShape(complex, 1).bare ||
      (real.type != PrimitiveType::kF32 && real.type != PrimitiveType::kF64)) {
    return Fail(fmt::format("complex of {} and {}: it takes two f32 or two f64 of one shape",
                            Bare(real), Bare(OperandShape(complex, 1))));
  }
  return ArrayLike(real,
                   real.type == PrimitiveType::kF32 ? PrimitiveType::kC64 : PrimitiveType::kC128);
}

// real, imag and is-finite: one operand, another element type.
Inferred InferPart(const Instruction& instruction) {
  const Shape& operand = OperandShape(instruction, 0);
  bool finite = instruction.opcode == Opcode::kIsFinite;
  if (IsFloating(operand.type))
    return finite ? ArrayLike(operand, PrimitiveType::kPred) : Whole(&operand);
  if (finite || !IsComplex(operand.type)) {
    return Fail(fmt::format("{} does not take {}", Name(instruction.opcode), Bare(operand)));
  }
  return ArrayLike(operand,
                   operand.type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64);
}

Inferred InferSelect(const Instruction& select) {
  const Shape& predicate = OperandShape(select, 0);
  const Shape& on_true = OperandShape(select, 1);
  const Shape& on_false = OperandShape(select, 2);
  bool scalar = predicate.IsScalar();
  bool same = predicate.type == PrimitiveType::kPred && on_true.rank() == on_false.rank() &&
              (scalar || predicate.rank() == on_true.rank());
  PrimitiveType type = on_true.type;
  if (on_true.bare != on_false.bare) {
    type = WiderType(on_true.type, on_false.type);
    same = same && on_true.IsArray() && on_false.IsArray() && type != PrimitiveType::kInvalid;
  }
  for (size_t i = 0; same && i < on_true.rank(); ++i) {
    same = SameSize(on_true, i, on_false, i) && (scalar || SameSize(predicate, i, on_true, i));
  }
  if (!same) {
    return Fail(
        fmt::format("select of {}, {} and {}: it takes a pred, of the shape of the others "
                    "or scalar, and two values of one shape",
                    Bare(predicate), Bare(on_true), Bare(on_false)));
  }
  if (scalar && type == on_true.type) return Whole(&on_true);
  return ArrayLike(scalar ? on_true : predicate, type);
}

Inferred InferClamp(const Instruction& clamp) {
  const Shape& value = OperandShape(clamp, 1);
  for (size_t bound : {0, 2}) {
    const Shape& shape = OperandShape(clamp, bound);
    bool fits = shape.bare == value.bare ||
                (shape.IsScalar() && WiderType(shape.type, value.type) == value.type);
    if (!fits || !value.IsArray()) {
      return Fail(
          fmt::format("clamp of {} with the bound {}: a bound has the value's shape or is "
                      "a scalar of its type",
                      Bare(value), Bare(shape)));
    }
  }
  return Whole(&value);
}

Inferred InferGetTupleElement(const Instruction& get) {
  const Shape& tuple = OperandShape(get, 0);
  auto index = static_cast<uint64_t>(get.Int(Field::kTupleIndex));
  if (!tuple.IsTuple()) {
    return Fail(fmt::format("get-tuple-element of {}, which is not a tuple", Bare(tuple)));
  }
  if (index >= tuple.tuple.size()) {
    return Fail(fmt::format("get-tuple-element with index {} of a tuple of {} {}",
                            static_cast<int64_t>(index), tuple.tuple.size(),
                            tuple.tuple.size() == 1 ? "element" : "elements"));
  }
  return Whole(tuple.tuple[index]);
}

// A tuple of the shapes of operands [0, count), or the one shape when there is one.
InferredShape OperandsAsResult(const Instruction& instruction, size_t count) {
  if (count == 1) return Whole(instruction.operands[0]->shape);
  InferredShape tuple{.type = PrimitiveType::kTuple};
  for (size_t i = 0; i < count; ++i) {
    tuple.elements.push_back(Whole(instruction.operands[i]->shape));
  }
  return tuple;
}

Inferred InferTuple(const Instruction& tuple) {
  InferredShape shape{.type = PrimitiveType::kTuple};
  shape.elements.reserve(tuple.operands.size());
  for (const Instruction* operand : tuple.operands) shape.elements.push_back(Whole(operand->shape));
  return shape;
}

// The result of the first called computation: calls, fusions and conditionals.
Inferred InferCalled(const Instruction& instruction) {
  EF_CHECK_OK(CalledResults(instruction));
  return Whole(instruction.called[0]->root->shape);
}

Inferred InferSort(const Instruction& sort) {
  const Shape& keys = OperandShape(sort, 0);
  std::vector<int64_t> dims = Dimensions(sort);
  if (dims.size() != 1 || !AreDimensions(dims, keys.rank())) {
    return Fail(
        fmt::format("sort of {} needs one dimension of it in dimensions={{…}}", Bare(keys)));
  }
  for (const Instruction* operand : sort.operands) {
    if (!std::ranges::equal(operand->shape->dims, keys.dims)) {
      return Fail(fmt::format("sort of {} together with {}: the dimensions differ", Bare(keys),
                              Bare(*operand->shape)));
    }
  }
  return OperandsAsResult(sort, sort.operands.size());
}

Inferred InferScatter(const Instruction& scatter) {
  if (scatter.operands.size() % 2 == 0) {
    return Fail("scatter takes an odd number of operands: inputs, indices and as many updates");
  }
  return OperandsAsResult(scatter, scatter.operands.size() / 2);
}

Inferred InferFirstOperand(const Instruction& instruction) {
  return Whole(instruction.operands[0]->shape);
}

Inferred InferSecondOperand(const Instruction& instruction) {
  return Whole(instruction.operands[1]->shape);
}

Inferred InferAllOperands(const Instruction& instruction) {
  return OperandsAsResult(instruction, instruction.operands.size());
}

Inferred InferToken(const Instruction&) { return InferredShape{.type = PrimitiveType::kToken}; }

Inferred InferDeviceNumber(const Instruction&) { return ArrayOf(PrimitiveType::kU32, {}); }

Inferred InferSize(const Instruction&) { return ArrayOf(PrimitiveType::kS32, {}); }

using Rule = Inferred (*)(const Instruction&);

struct RuleOf {
  Opcode opcode;
  Rule rule;
};

// Besides the elementwise operations of opcode.h.
constexpr RuleOf kRules[] = {
    {Opcode::kAddDependency, InferFirstOperand},
    {Opcode::kAfterAll, InferToken},
    {Opcode::kAllReduce, InferAllOperands},
    {Opcode::kAllReduceStart, InferAllOperands},
    {Opcode::kAllToAll, InferAllOperands},
    {Opcode::kBatchNormGrad, InferBatchNorm},
    {Opcode::kBatchNormInference, InferBatchNorm},
    {Opcode::kBatchNormTraining, InferBatchNorm},
    {Opcode::kCall, InferCalled},
    {Opcode::kCholesky, InferFirstOperand},
    {Opcode::kClamp, InferClamp},
    {Opcode::kCollectiveBroadcast, InferFirstOperand},
    {Opcode::kCollectivePermute, InferFirstOperand},
    {Opcode::kCompare, InferCompare},
    {Opcode::kComplex, InferComplex},
    {Opcode::kConcatenate, InferConcatenate},
    {Opcode::kConditional, InferCalled},
    {Opcode::kConvolution, InferConvolution},
    {Opcode::kCopy, InferFirstOperand},
    {Opcode::kDomain, InferFirstOperand},
    {Opcode::kDot, InferDot},
    {Opcode::kDynamicSlice, InferDynamicSlice},
    {Opcode::kDynamicUpdateSlice, InferDynamicUpdateSlice},
    {Opcode::kFft, InferFft},
    {Opcode::kFusion, InferCalled},
    {Opcode::kGather, InferGather},
    {Opcode::kGetDimensionSize, InferSize},
    {Opcode::kGetTupleElement, InferGetTupleElement},
    {Opcode::kImag, InferPart},
    {Opcode::kIsFinite, InferPart},
    {Opcode::kMap, InferMap},
    {Opcode::kOptimizationBarrier, InferFirstOperand},
    {Opcode::kPad, InferPad},
    {Opcode::kPartitionId, InferDeviceNumber},
    {Opcode::kRaggedDot, InferRaggedDot},
    {Opcode::kReal, InferPart},
    {Opcode::kReduce, InferReduce},
    {Opcode::kReduceWindow, InferReduceWindow},
    {Opcode::kReplicaId, InferDeviceNumber},
    {Opcode::kReverse, InferReverse},
    {Opcode::kScaledDot, InferDot},
    {Opcode::kScatter, InferScatter},
    {Opcode::kSelect, InferSelect},
    {Opcode::kSelectAndScatter, InferSelectAndScatter},
    {Opcode::kSetDimensionSize, InferSetDimensionSize},
    {Opcode::kSlice, InferSlice},
    {Opcode::kSort, InferSort},
    {Opcode::kTopK, InferTopK},
    {Opcode::kTranspose, InferTranspose},
    {Opcode::kTriangularSolve, InferSecondOperand},
    {Opcode::kTuple, InferTuple},
    {Opcode::kWhile, InferFirstOperand},
};

// Null where the shape must be written.
Rule RuleFor(Opcode opcode) {
  static const std::array<Rule, kOpcodeCount> rules = [] {
    std::array<Rule, kOpcodeCount> all{};
    for (int i = 0; i < kOpcodeCount; ++i) {
      auto each = static_cast<Opcode>(i);
      if (IsElementwiseUnary(each)) all[static_cast<size_t>(i)] = InferUnary;
      if (IsElementwiseBinary(each)) all[static_cast<size_t>(i)] = InferBinary;
    }
    for (const RuleOf& one : kRules) all[static_cast<size_t>(one.opcode)] = one.rule;
    return all;
  }();
  return rules[static_cast<size_t>(opcode)];
}

const Shape* Materialize(ShapeTable& shapes, const InferredShape& inferred) {
  if (inferred.whole != nullptr) return inferred.whole;
  if (inferred.type == PrimitiveType::kTuple) {
    std::vector<const Shape*> elements;
    for (const InferredShape& element : inferred.elements) {
      elements.push_back(Materialize(shapes, element));  // no deeper than this: elements are arrays
    }
    return shapes.Tuple(elements);
  }
  Shape shape{.type = inferred.type, .dims = inferred.dims};
  if (!shape.IsArray()) return shapes.Intern(shape);
  auto dynamic = std::make_unique<bool[]>(inferred.dynamic.size());
  std::ranges::copy(inferred.dynamic, dynamic.get());
  if (std::ranges::find(inferred.dynamic, true) != inferred.dynamic.end()) {
    shape.dynamic = {dynamic.get(), inferred.dynamic.size()};
  }
  shape.has_layout = true;
  std::vector<int64_t> order = inferred.minor_to_major;
  const Shape* like = inferred.layout_from;
  if (like != nullptr) {
    shape.has_layout = like->has_layout;
    shape.layout_extra = like->layout_extra;
    order.assign(like->minor_to_major.begin(), like->minor_to_major.end());
  } else if (order.empty()) {
    for (size_t i = shape.dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  shape.minor_to_major = order;
  return shapes.Intern(shape);
}

// Inferred tuples of tuples share their elements, so a short text could stand for 2^60 of them;
// whoever walks or prints such a shape would never end.
constexpr size_t kMostLeaves = 1 << 16;

bool IsTooWide(const Shape& shape) {
  std::vector<const Shape*> pending = {&shape};
  size_t seen = 0;
  while (!pending.empty() && seen <= kMostLeaves) {
    const Shape* at = pending.back();
    pending.pop_back();
    ++seen;
    pending.insert(pending.end(), at->tuple.begin(), at->tuple.end());
  }
  return seen > kMostLeaves;
}

}  // namespace

InferredShape ArrayLike(const Shape& like, PrimitiveType type) {
  return {.type = type,
          .dims = {like.dims.begin(), like.dims.end()},
          .dynamic = {like.dynamic.begin(), like.dynamic.end()},
          .layout_from = &like};
}

InferredShape ArrayOf(PrimitiveType type, std::vector<int64_t> dims) {
  return {.type = type, .dims = std::move(dims)};
}

PrimitiveType WiderType(PrimitiveType a, PrimitiveType b) {
  if (a == b) return a;
  if (!IsFloating(a) || !IsFloating(b)) return PrimitiveType::kInvalid;
  return BitWidth(b) > BitWidth(a) ? b : a;
}

bool AreDimensions(std::span<const int64_t> dims, size_t rank) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || static_cast<uint64_t>(dims[i]) >= rank) return false;
  }
  if (dims.size() > rank) return false;
  if (dims.size() > 16) {
    std::vector<int64_t> sorted(dims.begin(), dims.end());
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) == sorted.end();
  }
  for (size_t i = 1; i < dims.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (dims[i] == dims[j]) return false;
    }
  }
  return true;
}

bool SameSize(const Shape& a, size_t a_dim, const Shape& b, size_t b_dim) {
  return a.dims[a_dim] == b.dims[b_dim] || IsDynamic(a, a_dim) || IsDynamic(b, b_dim);
}

bool IsInferable(Opcode opcode) { return RuleFor(opcode) != nullptr; }

Result<InferredShape> Infer(const Instruction& instruction) {
  const OpcodeInfo& info = Info(instruction.opcode);
  Rule rule = RuleFor(instruction.opcode);
  if (rule == nullptr) {
    return Fail(fmt::format("the shape of {} does not follow from its operands and must be written",
                            info.name));
  }
  auto count = static_cast<int64_t>(instruction.operands.size());
  if (count < info.fewest_operands || (info.most_operands >= 0 && count > info.most_operands)) {
    return Fail(fmt::format("{} with {} operands", info.name, count));
  }
  for (const Instruction* operand : instruction.operands) {
    if (operand == nullptr || operand->shape == nullptr) {
      return Fail(fmt::format("{} of an operand that has no shape", info.name));
    }
  }
  return rule(instruction);
}

Result<const Shape*> InferShape(Module& module, const Instruction& instruction) {
  EF_TRY(InferredShape inferred, Infer(instruction));
  const Shape* shape = Materialize(module.shapes, inferred);
  if (inferred.type == PrimitiveType::kTuple && inferred.whole == nullptr && IsTooWide(*shape)) {
    return Fail(fmt::format("a tuple of more than {} arrays", kMostLeaves),
                "tuples of tuples that double in every step are not programs");
  }
  return shape;
}

std::string ToString(const InferredShape& shape) {
  if (shape.whole != nullptr) return ToString(*shape.whole, false);
  if (shape.type == PrimitiveType::kTuple) {
    std::string text = "(";
    for (const InferredShape& element : shape.elements) {
      if (text.size() > 1) text += ", ";
      text += ToString(element);
    }
    return text + ")";
  }
  return ToString(Shape{.type = shape.type, .dims = shape.dims}, false);
}

}  // namespace eightfold::hlo
