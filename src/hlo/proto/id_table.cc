#include "hlo/proto/id_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

uint32_t LowBits(const Instruction* instruction) { return static_cast<uint32_t>(instruction->id); }

[[noreturn]] void ThrowRepeated(std::span<Instruction* const> instructions) {
  std::unordered_map<int64_t, size_t> first;
  for (size_t i = 0; i < instructions.size(); ++i) {
    auto [it, is_new] = first.emplace(instructions[i]->id, i);
    if (is_new) continue;
    wire::Damage damage(
        fmt::format("{} is also the id of instructions[{}]", instructions[i]->id, it->second));
    damage.Prepend(fmt::format("instructions[{}].id", i));
    throw damage;
  }
  throw wire::Damage("ids are not unique");
}

}  // namespace

void IdTable::Build(std::span<Instruction* const> instructions) {
  if (BuildDense(instructions) || BuildSparse(instructions, Mode::kLowBits) ||
      BuildSparse(instructions, Mode::kWhole)) {
    return;
  }
  ThrowRepeated(instructions);
}

bool IdTable::BuildDense(std::span<Instruction* const> instructions) {
  mode_ = Mode::kDense;
  dense_.clear();
  if (instructions.empty()) return true;
  auto [fewest, most] = std::ranges::minmax(instructions, {}, LowBits);
  base_ = LowBits(fewest);
  size_t range = size_t{LowBits(most)} - base_ + 1;
  if (range > 4 * instructions.size() + 64) return false;
  dense_.assign(range, nullptr);
  for (Instruction* instruction : instructions) {
    Instruction*& slot = dense_[LowBits(instruction) - base_];
    if (slot != nullptr) return false;
    slot = instruction;
  }
  return true;
}

bool IdTable::BuildSparse(std::span<Instruction* const> instructions, Mode mode) {
  mode_ = mode;
  sparse_.clear();
  sparse_.reserve(instructions.size());
  for (Instruction* instruction : instructions) {
    int64_t key = mode == Mode::kLowBits ? LowBits(instruction) : instruction->id;
    if (!sparse_.emplace(key, instruction).second) return false;
  }
  return true;
}

Instruction* IdTable::FindSparse(int64_t id) const {
  auto it = sparse_.find(mode_ == Mode::kLowBits ? static_cast<uint32_t>(id) : id);
  return it == sparse_.end() ? nullptr : it->second;
}

}  // namespace eightfold::hlo
