#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/hash.h"
#include "hlo/verify_internal.h"

namespace eightfold::hlo {
namespace {

// A set of keys for one scope after another: open addressing, sized once for the largest scope, and
// emptied by counting rounds.
template <class Key>
class ScopedSet {
 public:
  explicit ScopedSet(size_t largest) : slots_(std::bit_ceil(largest * 2 + 2)) {}

  void Clear(size_t expected) {
    mask_ = std::min(std::bit_ceil(expected * 2 + 2), slots_.size()) - 1;
    ++round_;
  }
  // False when it is there already.
  bool Insert(Key key) {
    auto hash = static_cast<uint32_t>(Hash(key));
    size_t i = hash & mask_;
    for (; slots_[i].round == round_; i = (i + 1) & mask_) {
      if (slots_[i].hash == hash && slots_[i].key == key) return false;
    }
    slots_[i] = {round_, hash, key};
    return true;
  }

 private:
  struct Slot {
    uint32_t round = 0;
    uint32_t hash = 0;
    Key key{};
  };
  static uint64_t Hash(std::string_view key) { return HashBytes(key); }
  static uint64_t Hash(int64_t key) {
    return (static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u) >> 32;
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  uint32_t round_ = 0;
};

struct CalledCount {
  int fewest;
  int most;  // -1: any number
};

CalledCount CalledBy(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncStart:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceScatter:
    case Opcode::kReduceWindow:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kSort:
      return {1, 1};
    case Opcode::kSelectAndScatter:
    case Opcode::kWhile:
      return {2, 2};
    case Opcode::kConditional:
      return {1, -1};
    case Opcode::kAsyncDone:
    case Opcode::kAsyncUpdate:
    case Opcode::kCollectiveReduce:
      return {0, 1};
    case Opcode::kCustomCall:
      return {0, -1};
    default:
      return {0, 0};
  }
}

std::string CountText(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool CheckCounts(Verdict& verdict, const Instruction& instruction) {
  const OpcodeInfo& info = Info(instruction.opcode);
  auto operands = static_cast<int64_t>(instruction.operands.size());
  if (operands < info.fewest_operands || (info.most_operands >= 0 && operands > info.most_operands))
      [[unlikely]] {
    std::string wanted =
        info.most_operands == info.fewest_operands ? CountText(info.fewest_operands, "operand")
        : info.most_operands < 0
            ? "at least " + CountText(info.fewest_operands, "operand")
            : fmt::format("{} to {} operands", info.fewest_operands, info.most_operands);
    return verdict.Fail(instruction,
                        fmt::format("{} takes {} and has {}", info.name, wanted, operands));
  }
  CalledCount count = CalledBy(instruction.opcode);
  auto called = static_cast<int64_t>(instruction.called.size());
  if (called < count.fewest || (count.most >= 0 && called > count.most)) [[unlikely]] {
    return verdict.Fail(instruction, fmt::format("{} calls {}{} and has {}", info.name,
                                                 count.fewest == count.most ? "" : "at least ",
                                                 CountText(count.fewest, "computation"), called));
  }
  return true;
}

// Pointers of one instruction. `in_order` becomes false when something it needs comes later.
bool CheckLinks(Verdict& verdict, const Instruction& instruction, bool* in_order,
                bool* callees_first) {
  const Computation& computation = *instruction.parent;
  for (std::span<Instruction* const> before :
       {std::span<Instruction* const>(instruction.operands),
        std::span<Instruction* const>(instruction.control_predecessors)}) {
    for (const Instruction* needed : before) {
      if (needed == nullptr || needed->parent != &computation) [[unlikely]] {
        return verdict.Fail(
            instruction,
            needed == nullptr ? std::string("an operand is missing")
                              : fmt::format("%{} is not in this computation", needed->name),
            "operands and control predecessors are instructions of the same computation; values "
            "from elsewhere come in through parameters");
      }
      *in_order = *in_order && needed->index < instruction.index;
    }
  }
  std::span<Computation* const> all = verdict.module().computations;
  for (const Computation* called : instruction.called) {
    if (called == nullptr || called->index >= all.size() || all[called->index] != called)
        [[unlikely]] {
      return verdict.Fail(instruction, "it calls a computation that the module does not have");
    }
    *callees_first = *callees_first && called->index < computation.index;
  }
  return true;
}

// Follows `previous` from `start` until something comes again, and names the members of the cycle.
template <class Node, class Previous>
std::string DescribeCycle(const Node* start, size_t count, Previous previous, const Node** member) {
  std::vector<bool> seen(count);
  const Node* at = start;
  while (!seen[at->index]) {
    seen[at->index] = true;
    at = previous(*at);
  }
  *member = at;
  constexpr int kMost = 8;
  std::string text;
  const Node* step = at;
  for (int i = 0; i < kMost; ++i) {
    text += fmt::format("%{} → ", step->name);
    step = previous(*step);
    if (step == at) return text + fmt::format("%{}", at->name);
  }
  return text + "…";
}

bool CheckOperandCycles(Verdict& verdict, const Computation& computation) {
  std::vector<Instruction*> order = OperandsFirst(computation);
  if (order.size() == computation.instructions.size()) return true;
  std::vector<bool> done(computation.instructions.size());
  for (const Instruction* instruction : order) done[instruction->index] = true;
  auto previous = [&](const Instruction& instruction) -> const Instruction* {
    for (const Instruction* operand : instruction.operands) {
      if (!done[operand->index]) return operand;
    }
    for (const Instruction* predecessor : instruction.control_predecessors) {
      if (!done[predecessor->index]) return predecessor;
    }
    return &instruction;
  };
  auto first = std::ranges::find(done, false) - done.begin();
  const Instruction* member = nullptr;
  std::string cycle = DescribeCycle<Instruction>(
      computation.instructions[static_cast<size_t>(first)], done.size(), previous, &member);
  return verdict.Fail(*member, "it needs its own result: " + cycle);
}

bool CheckParameterNumbers(Verdict& verdict, const Computation& computation) {
  if (std::ranges::find(computation.parameters, nullptr) == computation.parameters.end()) {
    return true;
  }
  std::vector<bool> seen(computation.parameters.size());
  for (const Instruction* instruction : computation.instructions) {
    if (instruction->opcode != Opcode::kParameter) continue;
    auto number = static_cast<uint64_t>(instruction->parameter_number());
    if (number < seen.size() && !seen[number]) {
      seen[number] = true;
      continue;
    }
    std::string_view problem = number < seen.size() ? "is there twice" : "leaves a gap";
    return verdict.Fail(
        *instruction, fmt::format("parameter number {} {}", static_cast<int64_t>(number), problem),
        fmt::format("the {} parameters of a computation are numbered from 0", seen.size()));
  }
  return true;
}

// Ids that were never assigned are 0 and not compared.
bool CheckIds(Verdict& verdict, ScopedSet<int64_t>& ids, const Computation& computation) {
  int64_t last = 0;
  bool ascending = true;
  for (const Instruction* instruction : computation.instructions) {
    if (instruction->id == 0) continue;
    ascending = ascending && instruction->id > last;
    last = instruction->id;
  }
  if (ascending) return true;
  ids.Clear(computation.instructions.size());
  for (const Instruction* instruction : computation.instructions) {
    if (instruction->id == 0 || ids.Insert(instruction->id)) continue;
    return verdict.Fail(
        *instruction, fmt::format("its id {} is there twice in the computation", instruction->id));
  }
  return true;
}

}  // namespace

struct StructureCheck::Sets {
  explicit Sets(size_t largest) : names(largest), ids(largest) {}
  ScopedSet<std::string_view> names;
  ScopedSet<int64_t> ids;
};

StructureCheck::StructureCheck(Verdict& verdict) : verdict_(verdict) {
  size_t largest = verdict.module().computations.size();
  for (const Computation* computation : verdict.module().computations) {
    if (computation != nullptr) largest = std::max(largest, computation->instructions.size());
  }
  sets_ = std::make_unique<Sets>(largest);
}

StructureCheck::~StructureCheck() = default;

bool StructureCheck::CheckModule() {
  const Module& module = verdict_.module();
  sets_->names.Clear(module.computations.size());
  sets_->ids.Clear(module.computations.size());
  uint32_t index = 0;
  for (const Computation* computation : module.computations) {
    if (computation == nullptr || computation->module != &module || computation->index != index++) {
      return verdict_.Fail("the computations are not linked to their module");
    }
    if (computation->name.empty()) return verdict_.Fail(*computation, "it has no name");
    if (!sets_->names.Insert(computation->name)) {
      return verdict_.Fail(*computation, "its name is there twice",
                           "names of computations are unique within a module");
    }
    if (computation->id != 0 && !sets_->ids.Insert(computation->id)) {
      return verdict_.Fail(*computation, fmt::format("its id {} is there twice", computation->id));
    }
  }
  if (module.entry == nullptr || module.entry->index >= module.computations.size() ||
      module.computations[module.entry->index] != module.entry) {
    return verdict_.Fail("the module has no entry computation",
                         "in text, ENTRY marks it; in a proto, entry_computation_id names it");
  }
  return true;
}

bool StructureCheck::CheckComputation(const Computation& computation, bool* callees_first) {
  if (computation.instructions.empty()) return verdict_.Fail(computation, "it has no instructions");
  sets_->names.Clear(computation.instructions.size());
  bool in_order = true;
  *callees_first = true;
  uint32_t index = 0;
  for (const Instruction* instruction : computation.instructions) {
    if (instruction == nullptr || instruction->parent != &computation ||
        instruction->index != index++) {
      return verdict_.Fail(computation, "its instructions are not linked to it");
    }
    if (instruction->name.empty()) return verdict_.Fail(*instruction, "it has no name");
    if (instruction->shape == nullptr) return verdict_.Fail(*instruction, "it has no shape");
    if (!sets_->names.Insert(instruction->name)) [[unlikely]] {
      return verdict_.Fail(*instruction, "its name is there twice",
                           "names are unique within a computation");
    }
    if (!CheckCounts(verdict_, *instruction) ||
        !CheckLinks(verdict_, *instruction, &in_order, callees_first)) {
      return false;
    }
  }
  if (computation.root == nullptr || computation.root->parent != &computation) {
    return verdict_.Fail(computation, computation.root == nullptr
                                          ? "it has no root"
                                          : "its root is in another computation");
  }
  return CheckIds(verdict_, sets_->ids, computation) &&
         CheckParameterNumbers(verdict_, computation) &&
         (in_order || CheckOperandCycles(verdict_, computation));
}

bool StructureCheck::CheckCallCycles() {
  const Module& module = verdict_.module();
  std::vector<Computation*> order = CalleesFirst(module);
  if (order.size() == module.computations.size()) return true;
  std::vector<bool> done(module.computations.size());
  for (const Computation* computation : order) done[computation->index] = true;
  auto previous = [&](const Computation& computation) -> const Computation* {
    for (const Instruction* instruction : computation.instructions) {
      for (const Computation* called : instruction->called) {
        if (!done[called->index]) return called;
      }
    }
    return &computation;
  };
  auto first = std::ranges::find(done, false) - done.begin();
  const Computation* member = nullptr;
  std::string cycle = DescribeCycle<Computation>(module.computations[static_cast<size_t>(first)],
                                                 done.size(), previous, &member);
  return verdict_.Fail(*member, "it calls itself: " + cycle, "HLO has no recursion");
}

}  // namespace eightfold::hlo
