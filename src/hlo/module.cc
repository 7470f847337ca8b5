#include "hlo/module.h"

#include <algorithm>

namespace eightfold::hlo {
namespace {

// Orders `nodes` so that everything `before(node)` names comes first; depth-first with an explicit
// stack. `index(node)` is its position in `nodes`. Nodes on or behind a cycle are left out.
template <class Node, class Index, class Before>
std::vector<Node*> DependenciesFirst(std::span<Node* const> nodes, Index index, Before before) {
  enum class State : uint8_t { kNew, kOpen, kDone, kBroken };
  std::vector<State> states(nodes.size(), State::kNew);
  struct Frame {
    Node* node;
    std::vector<Node*> before;
    size_t next = 0;
    bool broken = false;
  };
  std::vector<Node*> order;
  order.reserve(nodes.size());
  std::vector<Frame> stack;
  for (Node* start : nodes) {
    if (states[index(*start)] != State::kNew) continue;
    stack.push_back({start, before(*start)});
    states[index(*start)] = State::kOpen;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.before.size()) {
        Node* next = top.before[top.next++];
        State& state = states[index(*next)];
        if (state == State::kNew) {
          state = State::kOpen;
          stack.push_back({next, before(*next)});
        } else if (state != State::kDone) {
          top.broken = true;
        }
        continue;
      }
      bool broken = top.broken;
      states[index(*top.node)] = broken ? State::kBroken : State::kDone;
      if (!broken) order.push_back(top.node);
      stack.pop_back();
      if (broken && !stack.empty()) stack.back().broken = true;
    }
  }
  return order;
}

}  // namespace

void FinishInstructions(Module& module, Computation& computation) {
  size_t parameters = 0;
  for (uint32_t i = 0; i < computation.instructions.size(); ++i) {
    Instruction& instruction = *computation.instructions[i];
    instruction.index = i;
    instruction.parent = &computation;
    parameters += instruction.opcode == Opcode::kParameter;
  }
  computation.parameters = module.arena.NewArray<Instruction*>(parameters);
  for (Instruction* instruction : computation.instructions) {
    if (instruction->opcode != Opcode::kParameter) continue;
    auto number = static_cast<uint64_t>(instruction->parameter_number());
    if (number < parameters) computation.parameters[number] = instruction;
  }
}

void Finish(Module& module) {
  for (uint32_t i = 0; i < module.computations.size(); ++i) {
    Computation& computation = *module.computations[i];
    computation.index = i;
    computation.module = &module;
    computation.is_fusion = false;
    FinishInstructions(module, computation);
  }
  for (Computation* computation : module.computations) {
    for (Instruction* instruction : computation->instructions) {
      if (instruction->opcode != Opcode::kFusion) continue;
      for (Computation* called : instruction->called) called->is_fusion = true;
    }
  }
}

Users::Users(const Computation& computation) : first_(computation.instructions.size() + 1) {
  // Two passes over the operands: count, then fill; `seen` keeps a user from being listed twice.
  std::vector<uint32_t> seen(computation.instructions.size(), UINT32_MAX);
  auto for_each_use = [&](auto visit) {
    std::ranges::fill(seen, UINT32_MAX);
    for (Instruction* user : computation.instructions) {
      for (Instruction* operand : user->operands) {
        if (seen[operand->index] == user->index) continue;
        seen[operand->index] = user->index;
        visit(operand->index, user);
      }
    }
  };
  for_each_use([&](uint32_t used, Instruction*) { ++first_[used + 1]; });
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  users_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for_each_use([&](uint32_t used, Instruction* user) { users_[next[used]++] = user; });
}

std::vector<Computation*> CalleesFirst(const Module& module) {
  return DependenciesFirst<Computation>(
      module.computations, [](const Computation& c) { return c.index; },
      [](const Computation& c) {
        std::vector<Computation*> called;
        for (const Instruction* instruction : c.instructions) {
          called.insert(called.end(), instruction->called.begin(), instruction->called.end());
        }
        return called;
      });
}

std::vector<Instruction*> OperandsFirst(const Computation& computation) {
  return DependenciesFirst<Instruction>(
      computation.instructions, [](const Instruction& i) { return i.index; },
      [](const Instruction& i) {
        std::vector<Instruction*> before(i.operands.begin(), i.operands.end());
        before.insert(before.end(), i.control_predecessors.begin(), i.control_predecessors.end());
        return before;
      });
}

Location Locate(const Module& module, std::string_view view) {
  if (module.source == nullptr) return {};
  view = module.InSource(view);
  if (!module.source->Contains(view)) return {.file = module.source->name()};
  return LocateInText(module.source->name(), module.source->bytes(),
                      static_cast<size_t>(view.data() - module.source->bytes().data()),
                      view.size());
}

}  // namespace eightfold::hlo
