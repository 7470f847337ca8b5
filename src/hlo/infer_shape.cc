#include "hlo/infer_shape.h"

#include <fmt/format.h>

#include <algorithm>
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

Inferred InferBinary(const Instruction& instruction) {
  const Shape& a = OperandShape(instruction, 0);
  const Shape& b = OperandShape(instruction, 1);
  if (a.bare == b.bare && a.IsArray()) {
    switch (instruction.opcode) {
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
        if (IsIntegral(a.type) || a.type == PrimitiveType::kPred) return Whole(&a);
        break;
      case Opcode::kMulhi:
      case Opcode::kShiftLeft:
      case Opcode::kShiftRightArithmetic:
      case Opcode::kShiftRightLogical:
        if (IsIntegral(a.type)) return Whole(&a);
        break;
      default:
        return Whole(&a);
    }
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
  if (instruction.called.empty() || instruction.called[0] == nullptr ||
      instruction.called[0]->root == nullptr || instruction.called[0]->root->shape == nullptr) {
    return Fail(fmt::format("{} calls no computation with a result", Name(instruction.opcode)));
  }
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

constexpr std::string_view kNotInferable =
    "the shape of {} does not follow from its operands and must be written";

Inferred Dispatch(const Instruction& instruction) {
  Opcode opcode = instruction.opcode;
  if (IsElementwiseUnary(opcode)) return InferUnary(instruction);
  if (IsElementwiseBinary(opcode)) return InferBinary(instruction);
  switch (opcode) {
    case Opcode::kAddDependency:
    case Opcode::kCholesky:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCopy:
    case Opcode::kDomain:
    case Opcode::kOptimizationBarrier:
    case Opcode::kWhile:
      return Whole(instruction.operands[0]->shape);
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
      return OperandsAsResult(instruction, instruction.operands.size());
    case Opcode::kTriangularSolve:
      return Whole(instruction.operands[1]->shape);
    case Opcode::kAfterAll:
      return InferredShape{.type = PrimitiveType::kToken};
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return ArrayOf(PrimitiveType::kU32, {});
    case Opcode::kGetDimensionSize:
      return ArrayOf(PrimitiveType::kS32, {});
    case Opcode::kCompare:
      return InferCompare(instruction);
    case Opcode::kComplex:
      return InferComplex(instruction);
    case Opcode::kReal:
    case Opcode::kImag:
    case Opcode::kIsFinite:
      return InferPart(instruction);
    case Opcode::kSelect:
      return InferSelect(instruction);
    case Opcode::kClamp:
      return InferClamp(instruction);
    case Opcode::kTuple:
      return InferTuple(instruction);
    case Opcode::kGetTupleElement:
      return InferGetTupleElement(instruction);
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kFusion:
      return InferCalled(instruction);
    case Opcode::kSort:
      return InferSort(instruction);
    case Opcode::kScatter:
      return InferScatter(instruction);
    case Opcode::kDot:
    case Opcode::kScaledDot:
      return InferDot(instruction);
    case Opcode::kRaggedDot:
      return InferRaggedDot(instruction);
    case Opcode::kConvolution:
      return InferConvolution(instruction);
    case Opcode::kReduceWindow:
      return InferReduceWindow(instruction);
    case Opcode::kSelectAndScatter:
      return InferSelectAndScatter(instruction);
    case Opcode::kTranspose:
      return InferTranspose(instruction);
    case Opcode::kReverse:
      return InferReverse(instruction);
    case Opcode::kConcatenate:
      return InferConcatenate(instruction);
    case Opcode::kPad:
      return InferPad(instruction);
    case Opcode::kSlice:
      return InferSlice(instruction);
    case Opcode::kDynamicSlice:
      return InferDynamicSlice(instruction);
    case Opcode::kDynamicUpdateSlice:
      return InferDynamicUpdateSlice(instruction);
    case Opcode::kGather:
      return InferGather(instruction);
    case Opcode::kReduce:
      return InferReduce(instruction);
    case Opcode::kMap:
      return InferMap(instruction);
    case Opcode::kTopK:
      return InferTopK(instruction);
    case Opcode::kFft:
      return InferFft(instruction);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      return InferBatchNorm(instruction);
    case Opcode::kSetDimensionSize:
      return InferSetDimensionSize(instruction);
    default:
      return Fail(fmt::format(kNotInferable, Name(opcode)));
  }
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

bool IsInferable(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kBroadcast:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectiveReduce:
    case Opcode::kConstant:
    case Opcode::kConvert:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
    case Opcode::kCustomCall:
    case Opcode::kDynamicReshape:
    case Opcode::kInfeed:
    case Opcode::kIota:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kRaggedAllToAll:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReduceScatter:
    case Opcode::kReshape:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kScan:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kShuffle:
    case Opcode::kStochasticConvert:
      return false;
    default:
      return true;
  }
}

Result<InferredShape> Infer(const Instruction& instruction) {
  if (!IsInferable(instruction.opcode)) {
    return Fail(fmt::format(kNotInferable, Name(instruction.opcode)));
  }
  const OpcodeInfo& info = Info(instruction.opcode);
  auto count = static_cast<int64_t>(instruction.operands.size());
  if (count < info.fewest_operands || (info.most_operands >= 0 && count > info.most_operands)) {
    return Fail(fmt::format("{} with {} operands", info.name, count));
  }
  for (const Instruction* operand : instruction.operands) {
    if (operand == nullptr || operand->shape == nullptr) {
      return Fail(fmt::format("{} of an operand that has no shape", info.name));
    }
  }
  return Dispatch(instruction);
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
