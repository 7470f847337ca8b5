#include <fmt/format.h>

#include "hlo/infer_internal.h"
#include "hlo/verify_internal.h"

namespace eightfold::hlo {
namespace {

// `callee` takes exactly `arguments`, which are operands of `caller`.
bool CheckArguments(Verdict& verdict, const Instruction& caller, const Computation& callee,
                    std::span<Instruction* const> arguments) {
  if (callee.parameters.size() != arguments.size()) {
    return verdict.Fail(caller, fmt::format("{} passes {} operands to %{}, which has {} parameters",
                                            Name(caller.opcode), arguments.size(), callee.name,
                                            callee.parameters.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Instruction& parameter = *callee.parameters[i];
    if (Compatible(*arguments[i]->shape, *parameter.shape)) continue;
    return verdict.Fail(
        caller, fmt::format("{} passes %{}, {}, to parameter {} of %{}, which is {}",
                            Name(caller.opcode), arguments[i]->name, Bare(*arguments[i]->shape), i,
                            callee.name, Bare(*parameter.shape)));
  }
  return true;
}

bool CheckResult(Verdict& verdict, const Instruction& caller, const Computation& callee,
                 const Shape& wanted) {
  const Shape& result = *callee.root->shape;
  if (Compatible(result, wanted)) return true;
  return verdict.Fail(caller, fmt::format("{} is {}, but %{} returns {}", Name(caller.opcode),
                                          Bare(wanted), callee.name, Bare(result)));
}

bool CheckPredicate(Verdict& verdict, const Instruction& caller, const Computation& callee) {
  const Shape& result = *callee.root->shape;
  if (result.type == PrimitiveType::kPred && result.IsScalar()) return true;
  return verdict.Fail(caller, fmt::format("{} needs a pred[] from %{}, which returns {}",
                                          Name(caller.opcode), callee.name, Bare(result)));
}

bool CheckWhile(Verdict& verdict, const Instruction& loop) {
  const Computation& body = *loop.called[0];
  const Computation& condition = *loop.called[1];
  return CheckArguments(verdict, loop, body, loop.operands) &&
         CheckArguments(verdict, loop, condition, loop.operands) &&
         CheckResult(verdict, loop, body, *loop.shape) && CheckPredicate(verdict, loop, condition);
}

bool CheckConditional(Verdict& verdict, const Instruction& conditional) {
  const Shape& selector = OperandShape(conditional, 0);
  size_t branches = conditional.called.size();
  bool binary = selector.type == PrimitiveType::kPred;
  if (!selector.IsScalar() || (!binary && selector.type != PrimitiveType::kS32) ||
      (binary && branches != 2)) {
    return verdict.Fail(conditional,
                        fmt::format("conditional on {} with {} branches: it takes a pred[] for two "
                                    "branches or an s32[]",
                                    Bare(selector), branches));
  }
  if (conditional.operands.size() != branches + 1) {
    return verdict.Fail(
        conditional, fmt::format("conditional with {} branches and {} operands for them", branches,
                                 conditional.operands.size() - 1));
  }
  for (size_t i = 0; i < branches; ++i) {
    const Computation& branch = *conditional.called[i];
    if (!CheckArguments(verdict, conditional, branch, conditional.operands.subspan(i + 1, 1)) ||
        !CheckResult(verdict, conditional, branch, *conditional.shape)) {
      return false;
    }
  }
  return true;
}

bool TypesMeet(const Shape& a, const Shape& b) {
  return WiderType(a.type, b.type) != PrimitiveType::kInvalid;
}

bool CheckScalarParameters(Verdict& verdict, const Instruction& caller, const Computation& callee,
                           size_t wanted) {
  bool fits = callee.parameters.size() == wanted;
  for (size_t i = 0; fits && i < wanted; ++i) fits = callee.parameters[i]->shape->IsScalar();
  if (fits) return true;
  return verdict.Fail(caller, fmt::format("{} needs a computation of {} scalar parameters; %{} is "
                                          "not one",
                                          Name(caller.opcode), wanted, callee.name));
}

// reduce, reduce-window and scatter: (accumulators…, values…) -> accumulators. The values are
// `values`, one array for each.
bool CheckReducer(Verdict& verdict, const Instruction& caller, const Computation& reducer,
                  std::span<Instruction* const> values) {
  size_t count = values.size();
  if (!CheckScalarParameters(verdict, caller, reducer, 2 * count)) return false;
  const Shape& root = *reducer.root->shape;
  bool fits = root.IsTuple() ? root.tuple.size() == count : count == 1;
  for (size_t i = 0; fits && i < count; ++i) {
    const Shape& result = root.IsTuple() ? *root.tuple[i] : root;
    fits = result.IsScalar() && TypesMeet(result, *reducer.parameters[i]->shape) &&
           TypesMeet(*values[i]->shape, *reducer.parameters[count + i]->shape);
  }
  if (fits) return true;
  return verdict.Fail(caller,
                      fmt::format("{} of {} with %{}, whose parameters or result are of "
                                  "other types",
                                  Name(caller.opcode), Bare(*values[0]->shape), reducer.name));
}

bool CheckMap(Verdict& verdict, const Instruction& map) {
  const Computation& callee = *map.called[0];
  if (!CheckScalarParameters(verdict, map, callee, map.operands.size())) return false;
  for (size_t i = 0; i < map.operands.size(); ++i) {
    if (TypesMeet(OperandShape(map, i), *callee.parameters[i]->shape)) continue;
    return verdict.Fail(
        map, fmt::format("map passes {} to a parameter {} of %{}", Name(OperandShape(map, i).type),
                         Bare(*callee.parameters[i]->shape), callee.name));
  }
  return true;
}

bool CheckSort(Verdict& verdict, const Instruction& sort) {
  const Computation& comparator = *sort.called[0];
  if (!CheckScalarParameters(verdict, sort, comparator, 2 * sort.operands.size())) return false;
  for (size_t i = 0; i < comparator.parameters.size(); ++i) {
    if (TypesMeet(OperandShape(sort, i / 2), *comparator.parameters[i]->shape)) continue;
    return verdict.Fail(sort, fmt::format("sort passes {} to a parameter {} of %{}",
                                          Name(OperandShape(sort, i / 2).type),
                                          Bare(*comparator.parameters[i]->shape), comparator.name));
  }
  return CheckPredicate(verdict, sort, comparator);
}

bool CheckSelectAndScatter(Verdict& verdict, const Instruction& instruction) {
  const Computation& select = *instruction.called[0];
  const Computation& scatter = *instruction.called[1];
  return CheckScalarParameters(verdict, instruction, select, 2) &&
         CheckPredicate(verdict, instruction, select) &&
         CheckScalarParameters(verdict, instruction, scatter, 2);
}

// ((operands…), result, contexts…) async-start(operands…), calls=%wrapped
bool CheckAsyncStart(Verdict& verdict, const Instruction& start) {
  const Computation& wrapped = *start.called[0];
  const Shape& shape = *start.shape;
  if (!shape.IsTuple() || shape.tuple.size() < 2 || !shape.tuple[0]->IsTuple()) {
    return verdict.Fail(start,
                        fmt::format("async-start is {}, not ((operands), result, …)", Bare(shape)));
  }
  return CheckArguments(verdict, start, wrapped, start.operands) &&
         CheckResult(verdict, start, wrapped, *shape.tuple[1]);
}

}  // namespace

bool CheckCalled(Verdict& verdict, const Instruction& caller) {
  std::span<Instruction* const> operands = caller.operands;
  switch (caller.opcode) {
    case Opcode::kCall:
    case Opcode::kFusion:
      return CheckArguments(verdict, caller, *caller.called[0], operands) &&
             CheckResult(verdict, caller, *caller.called[0], *caller.shape);
    case Opcode::kWhile:
      return CheckWhile(verdict, caller);
    case Opcode::kConditional:
      return CheckConditional(verdict, caller);
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return CheckReducer(verdict, caller, *caller.called[0], operands.first(operands.size() / 2));
    case Opcode::kScatter:
      return CheckReducer(verdict, caller, *caller.called[0], operands.last(operands.size() / 2));
    case Opcode::kMap:
      return CheckMap(verdict, caller);
    case Opcode::kSort:
      return CheckSort(verdict, caller);
    case Opcode::kSelectAndScatter:
      return CheckSelectAndScatter(verdict, caller);
    case Opcode::kAsyncStart:
      return CheckAsyncStart(verdict, caller);
    default:
      return true;
  }
}

}  // namespace eightfold::hlo
