#include "hlo/proto/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace eightfold::hlo {
namespace {

// The indices of `items` in the order of the ids they carry: XLA lists instructions and
// computations by id after loading, so that new ids must keep the order. In the given order when
// ids repeat, as those of built modules do.
template <class Item>
std::vector<uint32_t> ById(std::span<Item* const> items) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  auto id = [&](uint32_t i) { return items[i]->id; };
  std::ranges::sort(order, {}, id);
  if (std::ranges::adjacent_find(order, {}, id) != order.end()) std::ranges::sort(order);
  return order;
}

template <class Item>
bool HasRepeatedId(std::span<Item* const> items) {
  std::unordered_set<int64_t> seen;
  return !std::ranges::all_of(items, [&](Item* item) { return seen.insert(item->id).second; });
}

Result<void> KeepIds(const Module& module, Numbering& numbering) {
  bool repeats = HasRepeatedId(std::span<Computation* const>(module.computations));
  for (const Computation* computation : module.computations) {
    repeats |= HasRepeatedId(std::span<Instruction* const>(computation->instructions));
    numbering.computation_ids[computation->index] = computation->id;
    for (const Instruction* instruction : computation->instructions) {
      numbering.instruction_ids[numbering.first[computation->index] + instruction->index] =
          instruction->id;
    }
  }
  if (repeats) return Fail("the module's ids are not unique and cannot be kept");
  return {};
}

void AssignIds(const Module& module, IdScheme scheme, Numbering& numbering) {
  bool sequential = scheme == IdScheme::kSequential;
  int64_t next = 0;
  int64_t number = 0;
  for (uint32_t c : ById(std::span<Computation* const>(module.computations))) {
    const Computation& computation = *module.computations[c];
    if (!sequential) next = number++ << 32;
    for (uint32_t i : ById(std::span<Instruction* const>(computation.instructions))) {
      numbering.instruction_ids[numbering.first[c] + i] = next++;
    }
    // Older versions give a computation the id of its root.
    numbering.computation_ids[c] =
        sequential ? numbering.instruction_ids[numbering.first[c] + computation.root->index]
                   : number - 1;
  }
}

bool IsCalleesFirst(const Module& module) {
  return std::ranges::all_of(module.computations, [](const Computation* caller) {
    return std::ranges::all_of(caller->instructions, [&](const Instruction* instruction) {
      return std::ranges::all_of(instruction->called,
                                 [&](const Computation* c) { return c->index < caller->index; });
    });
  });
}

Result<void> OrderComputations(const Module& module, Numbering& numbering) {
  if (IsCalleesFirst(module)) {
    numbering.computations.assign(module.computations.begin(), module.computations.end());
    return {};
  }
  std::vector<Computation*> order = CalleesFirst(module);
  numbering.computations.assign(order.begin(), order.end());
  if (order.size() == module.computations.size()) return {};
  std::ranges::sort(order);
  for (Computation* computation : module.computations) {
    if (std::ranges::binary_search(order, computation)) continue;
    return Fail(
        fmt::format("computation {} calls itself, possibly through others", computation->name));
  }
  return {};
}

}  // namespace

Result<Numbering> Number(const Module& module, IdScheme scheme) {
  if (module.entry == nullptr) return Fail("the module has no entry computation");
  Numbering numbering;
  numbering.computation_ids.resize(module.computations.size());
  size_t instructions = 0;
  for (const Computation* computation : module.computations) {
    if (computation->root == nullptr) {
      return Fail(fmt::format("computation {} has no root", computation->name));
    }
    numbering.first.push_back(instructions);
    instructions += computation->instructions.size();
  }
  if (instructions > INT32_MAX) return Fail("the module has more than 2^31 instructions");
  numbering.instruction_ids.resize(instructions);
  EF_CHECK_OK(OrderComputations(module, numbering));
  if (scheme == IdScheme::kKeep) {
    EF_CHECK_OK(KeepIds(module, numbering));
  } else {
    AssignIds(module, scheme, numbering);
  }
  return numbering;
}

Result<std::vector<const Instruction*>> WritingOrder(const Computation& computation) {
  bool is_ordered = true;
  for (const Instruction* instruction : computation.instructions) {
    for (auto list : {instruction->operands, instruction->control_predecessors}) {
      for (const Instruction* before : list) {
        if (before->parent != &computation) {
          return Fail(fmt::format("{} uses {}, which is in another computation", instruction->name,
                                  before->name));
        }
        is_ordered &= before->index < instruction->index;
      }
    }
  }
  auto given = computation.instructions;
  if (is_ordered) return std::vector<const Instruction*>(given.begin(), given.end());
  std::vector<Instruction*> order = OperandsFirst(computation);
  std::vector<const Instruction*> result(order.begin(), order.end());
  if (result.size() == given.size()) return result;
  std::ranges::sort(order);
  for (Instruction* instruction : given) {
    if (std::ranges::binary_search(order, instruction)) continue;
    return Fail(fmt::format("{} depends on itself, possibly through others", instruction->name));
  }
  return result;
}

}  // namespace eightfold::hlo
