#include <algorithm>

#include "hlo/text/writer.h"

namespace eightfold::hlo::text {
namespace {

enum class State : uint8_t { kNew, kOpen, kDone };

// Pushes what must come before `instruction` so that control predecessors are taken off first, then
// the operands in order: XLA's order of visits.
void PushBefore(const Instruction& instruction, std::vector<Instruction*>& stack) {
  stack.insert(stack.end(), instruction.operands.rbegin(), instruction.operands.rend());
  stack.insert(stack.end(), instruction.control_predecessors.begin(),
               instruction.control_predecessors.end());
}

// A node stays on the stack while what is above it is visited, and is listed when it is met again.
void Visit(Instruction* start, std::vector<State>& states, std::vector<Instruction*>& stack,
           std::vector<Instruction*>& order) {
  stack.push_back(start);
  while (!stack.empty()) {
    Instruction* top = stack.back();
    State& state = states[top->index];
    if (state == State::kNew) {
      state = State::kOpen;
      PushBefore(*top, stack);
      continue;
    }
    stack.pop_back();
    if (state == State::kDone) continue;
    state = State::kDone;
    order.push_back(top);
  }
}

void Visit(Computation* start, std::vector<State>& states, std::vector<Computation*>& order) {
  struct Frame {
    Computation* computation;
    std::vector<Computation*> called;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto open = [&](Computation* computation) {
    State& state = states[computation->index];
    if (state != State::kNew) return;
    state = State::kOpen;
    Frame& frame = stack.emplace_back(Frame{computation, {}});
    for (Instruction* instruction : ById(*computation)) {
      frame.called.insert(frame.called.end(), instruction->called.begin(),
                          instruction->called.end());
    }
  };
  open(start);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.called.size()) {
      open(top.called[top.next++]);
      continue;
    }
    order.push_back(top.computation);
    stack.pop_back();
  }
}

}  // namespace

std::vector<Instruction*> ById(const Computation& computation) {
  std::vector<Instruction*> sorted(computation.instructions.begin(),
                                   computation.instructions.end());
  if (!std::ranges::is_sorted(sorted, {}, &Instruction::id)) {
    std::ranges::stable_sort(sorted, {}, &Instruction::id);
  }
  return sorted;
}

std::vector<Instruction*> PrintingOrder(const Computation& computation) {
  std::vector<Instruction*> by_id = ById(computation);
  std::vector<bool> used(by_id.size());
  for (const Instruction* instruction : by_id) {
    for (const Instruction* operand : instruction->operands) used[operand->index] = true;
  }
  std::vector<State> states(by_id.size(), State::kNew);
  std::vector<Instruction*> stack;
  std::vector<Instruction*> order;
  order.reserve(by_id.size());
  for (Instruction* instruction : by_id) {
    if (!used[instruction->index]) Visit(instruction, states, stack, order);
  }
  for (Instruction* instruction : by_id) Visit(instruction, states, stack, order);
  return order;
}

std::vector<Computation*> PrintingOrder(const Module& module) {
  std::vector<bool> called(module.computations.size());
  for (const Computation* computation : module.computations) {
    for (const Instruction* instruction : computation->instructions) {
      for (const Computation* callee : instruction->called) called[callee->index] = true;
    }
  }
  std::vector<State> states(module.computations.size(), State::kNew);
  std::vector<Computation*> order;
  order.reserve(module.computations.size());
  for (Computation* computation : module.computations) {
    if (!called[computation->index]) Visit(computation, states, order);
  }
  for (Computation* computation : module.computations) Visit(computation, states, order);
  return order;
}

}  // namespace eightfold::hlo::text
