#include "rewrite/epilogues.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/float_types.h"
#include "rewrite/match.h"

namespace eightfold::rewrite {
namespace {

using hlo::Opcode;
using match::As;
using match::Broadcast;
using match::EitherOrder;
using match::Is;
using match::Op;

using Level = Capture::Level;

constexpr std::string_view kCycle =
    "its other operand depends on an amax of this convolution, which would make a cycle";

// Absorbs `user` as an operation on the value and perhaps an external scalar or tensor.
void AbsorbInto(Capture& capture, Level& level, std::string_view name, Instruction& user,
                Instruction* operand) {
  std::vector<const Instruction*> operands = {level.value};
  if (operand != nullptr) operands.push_back(operand);
  if (!capture.Append(name, user, std::move(operands))) return;
  if (operand != nullptr) capture.operands().push_back(operand);
  ++level.absorbed;
  capture.Follow(user);
}

bool AbsorbAdd(Capture& capture, Level& level, Instruction& user) {
  Instruction* other = nullptr;
  if (!EitherOrder(Opcode::kAdd, Is(level.value), match::Any(&other))(&user)) return false;
  // XLA takes the value for its own external operand, and computes the convolution twice.
  if (other == level.value) return capture.Refuse(user, "it adds a value to itself"), false;
  if (!capture.MayTake(*other)) return capture.Refuse(user, std::string(kCycle)), false;
  if (!capture.graph().Contains(user)) {
    AbsorbInto(capture, level, "add", user, other);
    return true;
  }
  // Met before from its other operand, which took this value for an external one.
  std::erase(capture.operands(), level.value);
  ++level.existing;
  return true;
}

bool AbsorbScalar(Capture& capture, Level& level, Instruction& user, std::string_view name,
                  bool matches, Instruction* scalar) {
  if (!matches) return false;
  if (!scalar->shape->IsScalar()) {
    return capture.Refuse(user, "its other operand is not the broadcast of a scalar"), false;
  }
  if (!capture.MayTake(*scalar)) return capture.Refuse(user, std::string(kCycle)), false;
  AbsorbInto(capture, level, name, user, scalar);
  return true;
}

bool AbsorbScale(Capture& capture, Level& level, Instruction& user) {
  Instruction* scalar = nullptr;
  bool matches =
      EitherOrder(Opcode::kMultiply, Is(level.value), Broadcast(match::Any(&scalar)))(&user);
  return AbsorbScalar(capture, level, user, "scale", matches, scalar);
}

bool AbsorbInverseScale(Capture& capture, Level& level, Instruction& user) {
  Instruction* scalar = nullptr;
  bool matches = Op(Opcode::kDivide, Is(level.value), Broadcast(match::Any(&scalar)))(&user);
  return AbsorbScalar(capture, level, user, "invscale", matches, scalar);
}

bool AbsorbRelu(Capture& capture, Level& level, Instruction& user) {
  if (user.opcode != Opcode::kMaximum) return false;
  auto zero = Broadcast(match::Constant(0));
  if (!EitherOrder(Opcode::kMaximum, Is(level.value), zero)(&user)) {
    return capture.Refuse(user, "only the maximum with a broadcast 0 is a ReLU"), false;
  }
  AbsorbInto(capture, level, "relu", user, nullptr);
  return true;
}

// A max-reduction to a scalar, from a constant that no absolute value is below.
bool IsMaximum(const Instruction& reduce) {
  if (reduce.operands.size() != 2 || reduce.called.size() != 1) return false;
  const Instruction* root = reduce.called[0]->root;
  std::optional<double> initial = match::OneValue(*reduce.operands[1]);
  auto parameter = [](Instruction* i) { return i->opcode == Opcode::kParameter; };
  return reduce.shape->IsScalar() && reduce.operands[1]->shape->IsScalar() && initial &&
         *initial <= 0 &&
         Op(Opcode::kMaximum, parameter, parameter)(const_cast<Instruction*>(root));
}

bool AbsorbAmaxOf(Capture& capture, Level& level, Instruction& reduce) {
  if (!capture.takes_amaxes()) {
    return capture.Refuse(reduce, "a graph call returns a tensor, and here only an amax is used"),
           false;
  }
  if (!IsMaximum(reduce)) {
    return capture.Refuse(reduce,
                          "an amax is a maximum over all elements from a constant of at most 0"),
           false;
  }
  if (capture.editor().IsTired()) {
    return capture.Refuse(reduce, "too many amaxes were followed in this computation"), false;
  }
  if (!capture.MayReturn(reduce)) {
    return capture.Refuse(reduce, "an operand of the graph depends on this amax: a cycle"), false;
  }
  if (capture.Append("amax", reduce, {level.value})) {
    capture.AddAmax(reduce);
    ++level.absorbed;
  }
  return true;
}

// After a ReLU there is no absolute value to take.
bool AbsorbAmaxOfRelu(Capture& capture, Level& level, Instruction& user) {
  if (!Op(Opcode::kReduce, Is(level.value), match::Any())(&user)) return false;
  if (!capture.graph().Contains(*level.value, "relu")) {
    return capture.Refuse(user, "an amax is taken of an absolute value or directly of a ReLU"),
           false;
  }
  return AbsorbAmaxOf(capture, level, user);
}

auto OneUser(const Editor& editor) {
  return [&editor](const Instruction& i) { return editor.Users(i).size() == 1; };
}

bool AbsorbRelu6(Capture& capture, Level& level, Instruction& user) {
  Instruction *zero = nullptr, *six = nullptr;
  if (!Op(Opcode::kClamp, As(&zero, Broadcast(match::One(0))), Is(level.value),
          As(&six, Broadcast(match::One(6))))(&user)) {
    return false;
  }
  auto one_user = OneUser(capture.editor());
  if (!one_user(*zero) || !one_user(*six)) {
    return capture.Refuse(user, "the broadcasts of its bounds serve something else, too"), false;
  }
  if (!capture.MayTake(*six)) return false;
  // The broadcast 0 stands for the ReLU inside, which no instruction of its own computes.
  if (capture.graph().Contains(*zero) || capture.graph().Contains(user)) return true;
  capture.Append("relu", *zero, {level.value});
  capture.Append("min", user, {zero, six});
  ++level.absorbed;
  capture.operands().push_back(six);
  capture.Follow(user);
  return true;
}

auto IsGreater() {
  return [](const Instruction& i) { return i.Bytes(hlo::Field::kComparisonDirection) == "GT"; };
}

// Behind one select stand three users of the value: itself, the comparison and a third.
constexpr size_t kUsersOfSelect = 3;

bool AbsorbElu(Capture& capture, Level& level, Instruction& user) {
  auto value = Is(level.value);
  Instruction *compare = nullptr, *expm1 = nullptr;
  auto positive = match::Where(Op(Opcode::kCompare, value, Broadcast(match::One(0))), IsGreater());
  if (!Op(Opcode::kSelect, As(&compare, positive), value,
          As(&expm1, Op(Opcode::kExpm1, value)))(&user)) {
    return false;
  }
  auto one_user = OneUser(capture.editor());
  if (!capture.exact() && (!one_user(*compare) || !one_user(*expm1))) {
    return capture.Refuse(user, "parts of the ELU serve something else, too"), false;
  }
  if (!capture.Append("elu", user, {level.value})) return true;
  level.absorbed += kUsersOfSelect;
  capture.Follow(user);
  return true;
}

// The only user of `user`, or null.
Instruction* OnlyUser(const Capture& capture, const Instruction& user) {
  const auto& users = capture.editor().Users(user);
  return users.size() == 1 ? users.front() : nullptr;
}

// The largest finite value of the FP8 types that convolutions have; 0 for other types.
double Largest(hlo::PrimitiveType type) {
  if (type != hlo::PrimitiveType::kF8E4M3FN && type != hlo::PrimitiveType::kF8E5M2) return 0;
  const FloatFormat& format = *FindFloatFormat(hlo::Name(type));
  return DecodeFloat(format, format.largest());
}

bool AbsorbSaturatingConversion(Capture& capture, Level& level, Instruction& user) {
  Instruction* convert = OnlyUser(capture, user);
  if (user.opcode != Opcode::kClamp || convert == nullptr || convert->opcode != Opcode::kConvert) {
    if (user.opcode == Opcode::kConvert && hlo::IsF8(user.shape->type)) {
      capture.Refuse(user,
                     fmt::format("it does not saturate: only a clamp to the range of {} makes "
                                 "it a conversion that cuDNN does",
                                 hlo::Name(user.shape->type)));
    }
    return false;
  }
  double largest = Largest(convert->shape->type);
  if (largest == 0) return false;
  if (!Op(Opcode::kClamp, Broadcast(match::Constant(-largest)), Is(level.value),
          Broadcast(match::Constant(largest)))(&user)) {
    return capture.Refuse(user, fmt::format("its bounds are not ±{}, the range of {}", largest,
                                            hlo::Name(convert->shape->type))),
           false;
  }
  // In the call they would; XLA gives it an amax that sees nothing above the type's range.
  if (!capture.exact() && capture.editor().Users(*level.value).size() > 1) {
    return capture.Refuse(user,
                          fmt::format("the value has other uses, which would read it rounded to {}",
                                      hlo::Name(convert->shape->type))),
           false;
  }
  capture.Retype(level, convert->shape->type);
  ++level.absorbed;
  capture.Follow(*convert);
  return true;
}

bool AbsorbAmax(Capture& capture, Level& level, Instruction& user) {
  Instruction* reduce = OnlyUser(capture, user);
  if (reduce == nullptr || user.opcode != Opcode::kAbs) return false;
  if (!Op(Opcode::kReduce, Op(Opcode::kAbs, Is(level.value)), match::Any())(reduce)) return false;
  return AbsorbAmaxOf(capture, level, *reduce);
}

bool AbsorbLeakyRelu(Capture& capture, Level& level, Instruction& user) {
  Instruction* select = OnlyUser(capture, user);
  if (select == nullptr || select->opcode != Opcode::kSelect) return false;
  auto value = Is(level.value);
  auto one_user = OneUser(capture.editor());
  Instruction *compare = nullptr, *zero = nullptr, *multiply = nullptr, *slope = nullptr;
  auto positive = match::Where(
      match::Where(Op(Opcode::kCompare, value, As(&zero, Broadcast(match::One(0)))), IsGreater()),
      one_user);
  auto scaled = match::Where(
      EitherOrder(Opcode::kMultiply, value, Broadcast(As(&slope, match::One()))), one_user);
  if (!Op(Opcode::kSelect, As(&compare, positive), value, As(&multiply, scaled))(select) ||
      !capture.MayTake(*zero) || !capture.MayTake(*slope)) {
    return false;
  }
  // Where α is above 1, max(α · min(v, 0), v) is v itself for negative v. XLA does not look.
  if (!capture.exact() && !(match::OneValue(*slope) <= 1.)) {
    capture.Refuse(user, "its slope is above 1, for which a maximum is no leaky ReLU");
    return false;
  }
  OpGraph& graph = capture.graph();
  if (graph.Contains(*compare) || graph.Contains(*multiply) || graph.Contains(*select)) {
    return true;
  }
  // max(α · min(v, 0), v): the comparison stands for the minimum, of the value's type.
  capture.Append("min", *compare, select->shape->type, {level.value, zero});
  capture.Append("scale", *multiply, {compare, slope});
  capture.Append("max", *select, {multiply, level.value});
  level.absorbed += kUsersOfSelect;
  capture.operands().push_back(zero);
  capture.operands().push_back(slope);
  capture.Follow(*select);
  return true;
}

constexpr Epilogue kEpilogues[] = {
    {"add", AbsorbAdd},
    {"scale", AbsorbScale},
    {"inverse scale", AbsorbInverseScale},
    {"ReLU", AbsorbRelu},
    {"amax of a ReLU", AbsorbAmaxOfRelu},
    {"ReLU6", AbsorbRelu6},
    {"ELU", AbsorbElu},
    {"saturating conversion", AbsorbSaturatingConversion},
    {"amax", AbsorbAmax},
    {"leaky ReLU", AbsorbLeakyRelu},
};

}  // namespace

std::span<const Epilogue> Epilogues() { return kEpilogues; }

}  // namespace eightfold::rewrite
