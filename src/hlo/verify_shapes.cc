#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "hlo/infer_internal.h"
#include "hlo/verify_internal.h"

namespace eightfold::hlo {
namespace {

// What is wrong with one array shape; "" when nothing is.
std::string ArrayProblem(const Shape& shape) {
  bool empty = false;
  for (int64_t dim : shape.dims) {
    if (dim < 0 && dim != kUnbounded) return fmt::format("dimension size {} is negative", dim);
    empty = empty || dim == 0;
  }
  bool unbounded = std::ranges::find(shape.dims, kUnbounded) != shape.dims.end();
  if (!empty && !unbounded && ElementCount(shape) < 0) {
    return "more elements than 64 bits can count";
  }
  if (!shape.dynamic.empty() && shape.dynamic.size() != shape.rank()) {
    return "a dynamic flag for some dimensions only";
  }
  if (shape.has_layout && (shape.minor_to_major.size() != shape.rank() ||
                           !AreDimensions(shape.minor_to_major, shape.rank()))) {
    return fmt::format("layout {{{}}} is not a permutation of the {} dimensions",
                       fmt::join(shape.minor_to_major, ","), shape.rank());
  }
  return {};
}

std::string ShapeProblem(const Shape& shape) {
  std::vector<const Shape*> pending = {&shape};
  while (!pending.empty()) {
    const Shape* at = pending.back();
    pending.pop_back();
    pending.insert(pending.end(), at->tuple.begin(), at->tuple.end());
    if (at->type == PrimitiveType::kInvalid) return "its type is invalid";
    if (!at->IsArray()) continue;
    if (std::string problem = ArrayProblem(*at); !problem.empty()) {
      return fmt::format("its shape {}: {}", ToString(*at), problem);
    }
  }
  return {};
}

// Whether `shape` is what was inferred, layouts aside. `any_type`: the element type is free.
bool Matches(const InferredShape& inferred, const Shape& shape, bool any_type = false) {
  if (inferred.whole != nullptr && !any_type) return Compatible(*inferred.whole, shape);
  if (inferred.type == PrimitiveType::kTuple) {
    if (!shape.IsTuple() || shape.tuple.size() != inferred.elements.size()) return false;
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      if (!Matches(inferred.elements[i], *shape.tuple[i])) return false;
    }
    return true;
  }
  bool same_type = any_type ? shape.IsArray() : shape.type == inferred.type;
  if (!same_type || shape.rank() != inferred.dims.size()) return false;
  for (size_t i = 0; i < shape.rank(); ++i) {
    bool dynamic = IsDynamic(shape, i) || (!inferred.dynamic.empty() && inferred.dynamic[i]);
    if (shape.dims[i] != inferred.dims[i] && !dynamic) return false;
  }
  return true;
}

// A dot or convolution may return another type than its operands have: XLA's
// preferred_element_type.
bool ChoosesItsType(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kConvolution || opcode == Opcode::kRaggedDot ||
         opcode == Opcode::kScaledDot;
}

// Operations whose operands XLA refuses to be of different float types ("mixed precision is
// disallowed"). Dots, convolutions and whatever passes values through may mix them.
bool NeedsOnePrecision(Opcode opcode) {
  switch (opcode) {
    case Opcode::kClamp:
    case Opcode::kCompare:
    case Opcode::kConcatenate:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kMap:
    case Opcode::kPad:
    case Opcode::kReduce:
    case Opcode::kScatter:
    case Opcode::kSelect:
      return true;
    default:
      return IsElementwiseBinary(opcode);
  }
}

bool CheckPrecision(Verdict& verdict, const Instruction& instruction) {
  const Shape* first = nullptr;
  for (const Instruction* operand : instruction.operands) {
    const Shape& shape = *operand->shape;
    if (!IsFloating(shape.type)) continue;
    if (first == nullptr) first = &shape;
    if (first->type == shape.type) continue;
    return verdict.Fail(instruction,
                        fmt::format("{} of {} and {}: float operands must be of one type",
                                    Name(instruction.opcode), Bare(*first), Bare(shape)),
                        "convert one of them");
  }
  return true;
}

bool CheckInferred(Verdict& verdict, const Instruction& instruction) {
  if (NeedsOnePrecision(instruction.opcode) && !CheckPrecision(verdict, instruction)) return false;
  Result<InferredShape> inferred = Infer(instruction);
  if (!inferred) return verdict.Fail(instruction, inferred.error().what);
  if (Matches(*inferred, *instruction.shape, ChoosesItsType(instruction.opcode))) return true;
  return verdict.Fail(
      instruction,
      fmt::format("its operands make {} a {}, but its shape is {}", Name(instruction.opcode),
                  ToString(*inferred), Bare(*instruction.shape)),
      fmt::format("correct the shape or the operands; in text the shape of {} may be left out",
                  Name(instruction.opcode)));
}

bool FailOperand(Verdict& verdict, const Instruction& instruction, std::string_view why) {
  std::string operands;
  for (const Instruction* operand : instruction.operands) {
    operands += (operands.empty() ? "" : ", ") + Bare(*operand->shape);
  }
  return verdict.Fail(instruction,
                      fmt::format("{} of ({}) cannot be {}: {}", Name(instruction.opcode), operands,
                                  Bare(*instruction.shape), why));
}

bool SameDimensions(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!SameSize(a, i, b, i)) return false;
  }
  return true;
}

bool BothArrays(const Instruction& instruction) {
  return instruction.shape->IsArray() && OperandShape(instruction, 0).IsArray();
}

// convert and stochastic-convert.
bool CheckConvert(Verdict& verdict, const Instruction& convert) {
  if (!BothArrays(convert) || !SameDimensions(*convert.shape, OperandShape(convert, 0))) {
    return FailOperand(verdict, convert, "the dimensions stay");
  }
  return true;
}

bool CheckReshape(Verdict& verdict, const Instruction& reshape) {
  const Shape& operand = OperandShape(reshape, 0);
  if (!BothArrays(reshape) || operand.type != reshape.shape->type) {
    return FailOperand(verdict, reshape, "the element type stays");
  }
  bool dynamic = !operand.dynamic.empty() || !reshape.shape->dynamic.empty();
  if (!dynamic && ElementCount(operand) != ElementCount(*reshape.shape)) {
    return FailOperand(verdict, reshape, "the number of elements stays");
  }
  return true;
}

// Bits of all elements when they are packed; -1 when unknown, or when they may be stored in another
// way (tiles, padding, bounded sizes).
__int128 PackedBits(const Shape& shape) {
  if (!shape.IsArray() || !shape.layout_extra.empty() || !shape.dynamic.empty()) return -1;
  int64_t count = ElementCount(shape);
  return count < 0 ? -1 : static_cast<__int128>(count) * BitWidth(shape.type);
}

bool CheckBitcast(Verdict& verdict, const Instruction& bitcast) {
  const Shape& operand = OperandShape(bitcast, 0);
  const Shape& result = *bitcast.shape;
  // Types below a byte take whole bytes unless their layout packs them.
  bool comparable = operand.type == result.type ||
                    (BitWidth(operand.type) >= 8 && BitWidth(result.type) >= 8) ||
                    bitcast.opcode == Opcode::kBitcastConvert;
  __int128 before = PackedBits(operand);
  __int128 after = PackedBits(result);
  if (comparable && before >= 0 && after >= 0 && before != after) {
    return FailOperand(verdict, bitcast, "the number of bytes stays");
  }
  return true;
}

bool CheckBroadcast(Verdict& verdict, const Instruction& broadcast) {
  const Shape& operand = OperandShape(broadcast, 0);
  const Shape& result = *broadcast.shape;
  if (!BothArrays(broadcast) || operand.type != result.type) {
    return FailOperand(verdict, broadcast, "the element type stays");
  }
  if (operand.rank() == 0 && broadcast.Find(Field::kDimensions) == nullptr) return true;
  std::vector<int64_t> dims = Dimensions(broadcast);
  bool fits = dims.size() == operand.rank() && AreDimensions(dims, result.rank());
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    fits = SameSize(operand, i, result, static_cast<size_t>(dims[i]));
  }
  if (fits) return true;
  return FailOperand(verdict, broadcast,
                     fmt::format("dimensions={{{}}} do not map it", fmt::join(dims, ",")));
}

bool CheckIota(Verdict& verdict, const Instruction& iota) {
  std::vector<int64_t> dims = Dimensions(iota);
  if (iota.shape->IsArray() && dims.size() == 1 && AreDimensions(dims, iota.shape->rank())) {
    return true;
  }
  return verdict.Fail(iota, fmt::format("iota of {} needs iota_dimension to be one of its "
                                        "dimensions",
                                        Bare(*iota.shape)));
}

bool CheckTuple(Verdict& verdict, const Instruction& tuple) {
  const Shape& shape = *tuple.shape;
  bool fits = shape.IsTuple() && shape.tuple.size() == tuple.operands.size();
  for (size_t i = 0; fits && i < shape.tuple.size(); ++i) {
    fits = Compatible(*shape.tuple[i], *tuple.operands[i]->shape);
  }
  return fits || CheckInferred(verdict, tuple);
}

bool CheckCompare(Verdict& verdict, const Instruction& compare) {
  std::string_view direction = compare.Bytes(Field::kComparisonDirection);
  constexpr std::array<std::string_view, 6> kDirections = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  if (std::ranges::find(kDirections, direction) == kDirections.end()) {
    return verdict.Fail(compare, fmt::format("compare with direction \"{}\"", direction),
                        "it is one of EQ, NE, GE, GT, LE, LT");
  }
  return CheckInferred(verdict, compare);
}

bool CheckFusionKind(Verdict& verdict, const Instruction& fusion) {
  std::string_view kind = fusion.Bytes(Field::kFusionKind);
  if (kind == "kLoop" || kind == "kInput" || kind == "kOutput" || kind == "kCustom") return true;
  return verdict.Fail(fusion, fmt::format("fusion of kind \"{}\"", kind),
                      "it is one of kLoop, kInput, kOutput, kCustom");
}

bool CheckAsyncDone(Verdict& verdict, const Instruction& done) {
  const Shape& start = OperandShape(done, 0);
  bool update = done.opcode == Opcode::kAsyncUpdate;
  if (!start.IsTuple() || start.tuple.size() < 2 ||
      !Compatible(update ? start : *start.tuple[1], *done.shape)) {
    return FailOperand(verdict, done,
                       update ? "the shape stays" : "it is the second element of its operand");
  }
  return true;
}

// Elementwise operations on any type whose operands and result have one shape: nearly all of them.
bool IsPlainArithmetic(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kAdd:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kSubtract: {
      const Shape* bare = instruction.shape->bare;
      return OperandShape(instruction, 0).bare == bare &&
             OperandShape(instruction, 1).bare == bare && bare->IsArray() &&
             bare->type != PrimitiveType::kPred;
    }
    default:
      return false;
  }
}

bool CheckResultShape(Verdict& verdict, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
      return true;
    case Opcode::kConstant:
      return CheckLiteral(verdict, instruction);
    case Opcode::kTuple:
      return CheckTuple(verdict, instruction);
    case Opcode::kConvert:
    case Opcode::kStochasticConvert:
      return CheckConvert(verdict, instruction);
    case Opcode::kReshape:
      return CheckReshape(verdict, instruction);
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
      return CheckBitcast(verdict, instruction);
    case Opcode::kBroadcast:
      return CheckBroadcast(verdict, instruction);
    case Opcode::kIota:
      return CheckIota(verdict, instruction);
    case Opcode::kCompare:
      return CheckCompare(verdict, instruction);
    case Opcode::kFusion:
      return CheckFusionKind(verdict, instruction);
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return CheckAsyncDone(verdict, instruction);
    case Opcode::kCall:  // with their computations: CheckCalled
    case Opcode::kConditional:
      return true;
    // Their forms differ between versions and no reader of ours looks at their shapes.
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kTopK:
      return true;
    default:
      return !IsInferable(instruction.opcode) || CheckInferred(verdict, instruction);
  }
}

}  // namespace

bool ShapeCheck::CheckInstruction(const Instruction& instruction) {
  if (!IsKnown(instruction.shape)) {
    std::string problem = ShapeProblem(*instruction.shape);
    if (!problem.empty()) return verdict_.Fail(instruction, problem);
  }
  if (IsPlainArithmetic(instruction)) return true;
  return CheckResultShape(verdict_, instruction) &&
         (instruction.called.empty() || CheckCalled(verdict_, instruction));
}

bool ShapeCheck::CheckComputation(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions) {
    if (!CheckInstruction(*instruction)) return false;
  }
  return true;
}

}  // namespace eightfold::hlo
