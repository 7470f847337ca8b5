#ifndef EIGHTFOLD_REWRITE_MATCH_H_
#define EIGHTFOLD_REWRITE_MATCH_H_

#include <cstddef>
#include <optional>

#include "hlo/literal.h"
#include "hlo/module.h"

// A small matcher: a pattern is anything that says of an instruction whether it is what the pattern
// describes, and patterns are made from patterns.
//
//   Instruction* scale;
//   if (Op(Opcode::kDivide, Is(value), Broadcast(Scalar(&scale)))(user)) …
//
// A capture is set where its own part matched, so captures count only when the whole pattern did.
namespace eightfold::rewrite::match {

using hlo::Instruction;
using hlo::Opcode;

// Anything.
inline auto Any() {
  return [](Instruction*) { return true; };
}
inline auto Any(Instruction** into) {
  return [into](Instruction* i) { return *into = i, true; };
}
// This very instruction.
inline auto Is(const Instruction* which) {
  return [which](Instruction* i) { return i == which; };
}
// `pattern`, kept in `*into`.
template <class Pattern>
auto As(Instruction** into, Pattern pattern) {
  return [=](Instruction* i) { return pattern(i) && (*into = i, true); };
}
// `pattern`, and `predicate(instruction)` holds.
template <class Pattern, class Predicate>
auto Where(Pattern pattern, Predicate predicate) {
  return [=](Instruction* i) { return pattern(i) && predicate(*i); };
}
// The first of `patterns` that matches.
template <class... Patterns>
auto AnyOf(Patterns... patterns) {
  return [=](Instruction* i) { return (patterns(i) || ...); };
}
// An instruction with exactly these operands.
template <class... Patterns>
auto Op(Opcode opcode, Patterns... patterns) {
  return [=](Instruction* i) {
    size_t next = 0;
    return i->opcode == opcode && i->operands.size() == sizeof...(patterns) &&
           (patterns(i->operands[next++]) && ...);
  };
}
// One with two operands, in either order; the given order is tried first.
template <class A, class B>
auto EitherOrder(Opcode opcode, A a, B b) {
  return AnyOf(Op(opcode, a, b), Op(opcode, b, a));
}
template <class Pattern>
auto Broadcast(Pattern pattern) {
  return Op(Opcode::kBroadcast, pattern);
}
// Rank 0.
inline auto Scalar(Instruction** into) {
  return Where(Any(into), [](const Instruction& i) { return i.shape->IsScalar(); });
}

// The value of a constant with one element of a real type.
inline std::optional<double> OneValue(const Instruction& i) {
  if (i.opcode != Opcode::kConstant || !i.shape->IsArray()) return std::nullopt;
  if (hlo::ElementCount(*i.shape) != 1 || hlo::IsComplex(i.shape->type)) return std::nullopt;
  hlo::Literal literal = hlo::Literal::Decode(i.Bytes(hlo::Field::kLiteral));
  if (!literal.ok() || literal.size() != 1) return std::nullopt;
  return literal.AsDouble(0);
}
// A constant of one element, whatever its rank; with this value, -0 being 0.
inline auto One() {
  return [](Instruction* i) { return OneValue(*i).has_value(); };
}
inline auto One(double value) {
  return [value](Instruction* i) { return OneValue(*i) == value; };
}
// The same of rank 0.
inline auto Constant() {
  return Where(One(), [](const Instruction& i) { return i.shape->IsScalar(); });
}
inline auto Constant(double value) {
  return Where(One(value), [](const Instruction& i) { return i.shape->IsScalar(); });
}

}  // namespace eightfold::rewrite::match

#endif  // EIGHTFOLD_REWRITE_MATCH_H_
