#include "rewrite/editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rewrite/cudnn_calls.h"

namespace eightfold::rewrite {

using hlo::Opcode;

std::string_view Names::Make(std::string_view base) {
  if (taken_.empty()) {
    for (const hlo::Computation* computation : module_.computations) {
      for (const Instruction* i : computation->instructions) taken_.insert(i->name);
    }
  }
  std::string name(base);
  int& suffix = last_[name];
  while (taken_.contains(name)) name = fmt::format("{}.{}", base, ++suffix);
  return *taken_.insert(module_.arena.Copy(std::string_view(name))).first;
}

Editor::Editor(hlo::Computation& computation, Names& names)
    : computation_(computation),
      names_(names),
      instructions_(computation.instructions.begin(), computation.instructions.end()),
      users_(instructions_.size()),
      has_control_(instructions_.size()),
      is_alive_(instructions_.size(), 1) {
  hlo::Users users(computation);
  int64_t last_id = 0;
  for (const Instruction* i : instructions_) {
    auto of = users.Of(*i);
    users_[i->index].assign(of.begin(), of.end());
    std::ranges::stable_sort(users_[i->index], {}, &Instruction::id);
    last_id = std::max(last_id, i->id);
    for (const Instruction* before : i->control_predecessors) {
      has_control_[i->index] = has_control_[before->index] = 1;
      control_successors_.resize(instructions_.size());
      control_successors_[before->index].push_back(instructions_[i->index]);
    }
  }
  if (last_id > 0) next_id_ = last_id + 1;
}

void Editor::Link(Instruction& user) {
  for (Instruction* operand : user.operands) {
    auto& users = users_[operand->index];
    if (std::ranges::find(users, &user) == users.end()) users.push_back(&user);
  }
}

Instruction* Editor::Add(const Instruction& draft) {
  hlo::Module& module = *computation_.module;
  Instruction* made = module.arena.New<Instruction>(draft);
  made->name = names_.Make(draft.name);
  made->index = static_cast<uint32_t>(instructions_.size());
  made->parent = &computation_;
  made->id = next_id_ == 0 ? 0 : next_id_++;
  made->operands = module.arena.Copy(std::span<Instruction* const>(draft.operands));
  made->attributes = module.arena.Copy(std::span<const hlo::Attribute>(draft.attributes));
  instructions_.push_back(made);
  users_.emplace_back();
  has_control_.push_back(0);
  is_alive_.push_back(1);
  Link(*made);
  return made;
}

void Editor::ReplaceOperand(Instruction& user, size_t position, Instruction& by) {
  Instruction* old = user.operands[position];
  user.operands[position] = &by;
  if (std::ranges::find(user.operands, old) == user.operands.end()) {
    std::erase(users_[old->index], &user);
  }
  Link(user);
}

void Editor::ReplaceUses(Instruction& replaced, Instruction& by) {
  std::vector<Instruction*> kept;
  for (Instruction* user : std::exchange(users_[replaced.index], {})) {
    if (user == &by) {
      kept.push_back(user);
      continue;
    }
    std::ranges::replace(user->operands, &replaced, &by);
    users_[by.index].push_back(user);
  }
  users_[replaced.index] = std::move(kept);
  if (computation_.root == &replaced) computation_.root = &by;
}

bool Editor::CanRemove(const Instruction& i) const {
  if (!is_alive_[i.index] || !users_[i.index].empty() || IsPinned(i)) return false;
  if (hlo::IsElementwiseUnary(i.opcode) || hlo::IsElementwiseBinary(i.opcode)) return true;
  switch (i.opcode) {
    case Opcode::kBroadcast:
    case Opcode::kClamp:
    case Opcode::kCompare:
    case Opcode::kConstant:
    case Opcode::kConvert:
    case Opcode::kConvolution:
    case Opcode::kGetTupleElement:
    case Opcode::kReduce:
    case Opcode::kSelect:
      return true;
    case Opcode::kCustomCall:
      return i.custom_call_target() == kForwardTarget || i.custom_call_target() == kGraphTarget;
    default:
      return false;  // left to XLA, which knows what has an effect
  }
}

void Editor::RemoveUnused(Instruction& first) {
  std::vector<Instruction*> pending = {&first};
  while (!pending.empty()) {
    Instruction& i = *pending.back();
    pending.pop_back();
    if (!CanRemove(i)) continue;
    is_alive_[i.index] = 0;
    for (Instruction* operand : i.operands) {
      std::erase(users_[operand->index], &i);
      pending.push_back(operand);
    }
  }
}

std::vector<char> Editor::Reach(const Instruction& from) const {
  std::vector<char> reached(instructions_.size());
  std::vector<const Instruction*> pending = {&from};
  reached[from.index] = 1;
  steps_ += reached.size();
  auto visit = [&](const std::vector<Instruction*>& next) {
    steps_ += next.size();
    for (const Instruction* i : next) {
      if (std::exchange(reached[i->index], 1) == 0) pending.push_back(i);
    }
  };
  while (!pending.empty()) {
    size_t at = pending.back()->index;
    pending.pop_back();
    visit(users_[at]);
    if (at < control_successors_.size()) visit(control_successors_[at]);
  }
  return reached;
}

void Editor::Commit() {
  std::vector<Instruction*> alive;
  for (Instruction* i : instructions_) {
    if (is_alive_[i->index]) alive.push_back(i);
  }
  computation_.instructions = computation_.module->arena.Copy(alive);
  for (uint32_t i = 0; i < alive.size(); ++i) alive[i]->index = i;
}

}  // namespace eightfold::rewrite
