#include "rewrite/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "hlo/views.h"
#include "rewrite/conv_kind.h"
#include "rewrite/cudnn_calls.h"
#include "rewrite/match.h"

namespace eightfold::rewrite {
namespace {

using hlo::Opcode;
using hlo::Shape;
using match::As;
using match::Broadcast;
using match::Op;

// How far up an operand is followed to find out whether its values were FP8.
constexpr int kFarthest = 16;

bool IsF8(const Instruction& i) { return hlo::IsF8(i.shape->type); }

// The operand that `i` only moves or scales; null when it computes something else.
Instruction* Through(const Instruction& i) {
  switch (i.opcode) {
    case Opcode::kMultiply:
    case Opcode::kDivide:
      return i.operands[i.operands[0]->opcode == Opcode::kBroadcast];
    case Opcode::kBitcast:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kOptimizationBarrier:
    case Opcode::kPad:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kTranspose:
      return i.operands[0];
    default:
      return nullptr;
  }
}

// The FP8 value that an operand was made from, if any.
const Instruction* BornInFp8(const Instruction& operand) {
  const Instruction* at = &operand;
  for (int steps = 0; at != nullptr && steps < kFarthest; ++steps) {
    if (IsF8(*at)) return at;
    at = Through(*at);
  }
  return nullptr;
}

// Why `operand`, which is not what MatchFp8Operand takes, is not.
std::string WhyNot(const Instruction& operand, std::string_view which) {
  const Instruction* born = BornInFp8(operand);
  if (operand.opcode == Opcode::kConstant) {
    return fmt::format(
        "the {} is a constant in {}: of FP8 constants XLA computes the conversion when "
        "it compiles, but not of arguments",
        which, hlo::Name(operand.shape->type));
  }
  if (born == nullptr) {
    return fmt::format("the {} is not made from FP8 values: {}", which,
                       hlo::ToString(*operand.shape, false));
  }
  std::string_view type = hlo::Name(born->shape->type);
  if (operand.opcode == Opcode::kOptimizationBarrier) {
    return fmt::format("the {} is behind an optimization barrier", which);
  }
  if (operand.opcode == Opcode::kMultiply || operand.opcode == Opcode::kDivide) {
    return fmt::format(
        "the {} is scaled by something else than one scalar: only those can move "
        "behind the convolution",
        which);
  }
  if (operand.opcode == Opcode::kConvert) {
    return fmt::format("the {} is converted from {} in steps: only one conversion is seen through",
                       which, type);
  }
  return fmt::format("a {} stands between the {} values of the {} and the convolution",
                     hlo::Name(operand.opcode), type, which);
}

// The convolution whose tensor `i` is.
Instruction* ConvolutionOf(Instruction& i) {
  if (i.opcode == Opcode::kConvolution) return &i;
  if (i.opcode != Opcode::kGetTupleElement || i.Int(hlo::Field::kTupleIndex) != 0) return nullptr;
  Instruction* call = i.operands[0];
  bool is_legacy = call->opcode == Opcode::kCustomCall &&
                   call->custom_call_target() == kForwardTarget && call->shape->IsTuple() &&
                   call->shape->tuple.size() == 2;
  return is_legacy ? call : nullptr;
}

// Whether a legacy call has the dimension numbers of a convolution of `shapes`: input, filter and
// result. Only of convolutions is that verified.
bool NumbersFit(const Instruction& call, std::span<const Shape* const> shapes) {
  hlo::ConvolutionDimensions numbers =
      hlo::DecodeConvolutionDimensions(call.Bytes(hlo::Field::kConvolutionDimensionNumbers));
  auto fit = [](const Shape& shape, int64_t batch, int64_t feature, std::vector<int64_t> all) {
    all.insert(all.end(), {batch, feature});
    std::ranges::sort(all);
    std::vector<int64_t> each(shape.dims.size());
    std::iota(each.begin(), each.end(), 0);
    return shape.IsArray() && all == each;
  };
  return numbers.ok &&
         fit(*shapes[0], numbers.input_batch, numbers.input_feature, numbers.input_spatial) &&
         fit(*shapes[1], numbers.kernel_input_feature, numbers.kernel_output_feature,
             numbers.kernel_spatial) &&
         fit(*shapes[2], numbers.output_batch, numbers.output_feature, numbers.output_spatial);
}

// What keeps a convolution on FP8 operands from being replaced; "" when nothing does.
std::string Obstacle(const Editor& editor, const Instruction& result, const Instruction& conv) {
  if (editor.HasControl(conv) || editor.HasControl(result)) return "it has control dependencies";
  const Shape* const shapes[] = {conv.operands[0]->shape, conv.operands[1]->shape, result.shape};
  if (std::ranges::any_of(shapes, [](const Shape* shape) { return !shape->dynamic.empty(); })) {
    return "one of its dimensions is dynamic, which no call's can be";
  }
  if (&conv != &result) {
    if (!NumbersFit(conv, shapes)) return "its dimension numbers do not fit its operands";
    if (conv.Find(hlo::Field::kOutputOperandAliasing) != nullptr) return "its result is an operand";
    return editor.Users(conv).size() == 1 ? "" : "the call is used for more than its tensor";
  }
  ConvDecision decision = DecideKind(conv);
  if (decision.kind != ConvKind::kForward) return decision.why;
  if (int64_t groups = conv.Int(hlo::Field::kBatchGroupCount, 1); groups > 1) {
    return fmt::format("it has {} batch groups, which XLA makes feature groups only later", groups);
  }
  return {};
}

// Of the type that an operand is converted to, or that the result has.
TypeConflict ConflictOf(hlo::PrimitiveType type, bool is_result) {
  using enum hlo::PrimitiveType;
  constexpr int kNarrowestTaken = 8;  // bits of the integers that XLA makes calls of
  if (type == kF32 || type == kBF16 || type == kF16) return TypeConflict::kNone;
  if (is_result && (type == kF8E4M3FN || type == kF8E5M2)) return TypeConflict::kNone;
  if (type == kF64) return TypeConflict::kInexact;
  if (hlo::IsIntegral(type) && hlo::BitWidth(type) >= kNarrowestTaken) {
    return TypeConflict::kInteger;
  }
  return TypeConflict::kNoCall;
}

std::string_view WhyConflict(TypeConflict conflict, hlo::PrimitiveType type) {
  if (conflict == TypeConflict::kInexact) return "and graph calls add in f32";
  if (conflict == TypeConflict::kInteger) {
    return "which is not a float; hidden from XLA's own rewriter it would not compile";
  }
  return hlo::IsFloating(type) ? "which graph calls do not have" : "which is not a float";
}

}  // namespace

std::optional<Fp8Operand> MatchFp8Operand(Instruction& operand) {
  Fp8Operand found;
  if (IsF8(operand)) {
    found.value = &operand;
    return found;
  }
  auto converted =
      As(&found.wide, Op(Opcode::kConvert, match::Where(match::Any(&found.value), IsF8)));
  auto scale = Broadcast(match::Scalar(&found.scale));
  if (converted(&operand)) return found;
  if (match::EitherOrder(Opcode::kMultiply, converted, scale)(&operand)) return found;
  found.divides = true;
  if (Op(Opcode::kDivide, converted, scale)(&operand)) return found;
  return std::nullopt;
}

TypeFinding CheckTypes(const Site& site) {
  const std::pair<std::string_view, const Instruction*> parts[] = {
      {"input is converted to", site.input.wide},
      {"filter is converted to", site.filter.wide},
      {"result is", site.result}};
  TypeFinding worst;
  for (auto [what, at] : parts) {
    if (at == nullptr) continue;
    TypeConflict conflict = ConflictOf(at->shape->type, at == site.result);
    if (conflict <= worst.conflict) continue;
    worst = {conflict, at,
             fmt::format("the {} {}, {}", what, hlo::Name(at->shape->type),
                         WhyConflict(conflict, at->shape->type))};
  }
  return worst;
}

bool IsConvolution(const Instruction& i) {
  return i.opcode == Opcode::kConvolution ||
         (i.opcode == Opcode::kCustomCall && i.custom_call_target() == kForwardTarget);
}

Finding FindSite(const Editor& editor, Instruction& i) {
  Finding finding;
  Instruction* conv = ConvolutionOf(i);
  if (conv == nullptr || conv->operands.size() != 2) return finding;
  Instruction &input = *conv->operands[0], &filter = *conv->operands[1];
  finding.conv = conv;
  std::optional<Fp8Operand> fp8_input = MatchFp8Operand(input);
  std::optional<Fp8Operand> fp8_filter = MatchFp8Operand(filter);
  if (!fp8_input || !fp8_filter) {
    if (BornInFp8(input) == nullptr && BornInFp8(filter) == nullptr) return finding;
    finding.at = fp8_input ? &filter : &input;
    finding.condition = WhyNot(*finding.at, fp8_input ? "filter" : "input");
    return finding;
  }
  finding.at = conv;
  finding.condition = Obstacle(editor, i, *conv);
  if (finding.condition.empty()) finding.site = Site{&i, conv, *fp8_input, *fp8_filter};
  return finding;
}

}  // namespace eightfold::rewrite
