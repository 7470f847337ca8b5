#ifndef EIGHTFOLD_REWRITE_EDITOR_H_
#define EIGHTFOLD_REWRITE_EDITOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hlo/module.h"

namespace eightfold::rewrite {

using hlo::Instruction;

// Names that no instruction of a module has yet.
class Names {
 public:
  explicit Names(hlo::Module& module) : module_(module) {}
  // `base`, or base.1, base.2 …
  std::string_view Make(std::string_view base);

 private:
  hlo::Module& module_;
  std::unordered_set<std::string_view> taken_;  // filled at the first question
  std::unordered_map<std::string, int> last_;   // the last number behind each base
};

// One computation while it is being rewritten. Instructions are shared with the computation, whose
// own list is as it was until Commit; users follow every change. Users are in the order in which
// they came to use a value, as XLA keeps them: by id, new ones last.
class Editor {
 public:
  Editor(hlo::Computation& computation, Names& names);
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  hlo::Module& module() { return *computation_.module; }
  const std::vector<Instruction*>& Users(const Instruction& i) const { return users_[i.index]; }
  bool IsRoot(const Instruction& i) const { return computation_.root == &i; }
  // A part of control dependencies, which would stay behind when it is replaced.
  bool HasControl(const Instruction& i) const { return has_control_[i.index] != 0; }
  // Root, or a part of control dependencies: it has a use that its users do not show.
  bool IsPinned(const Instruction& i) const { return IsRoot(i) || HasControl(i); }
  bool IsAlive(const Instruction& i) const { return is_alive_[i.index]; }

  // Adds a copy of `draft`, of which name (as a base for one), opcode, shape, operands, metadata,
  // backend_config and attributes count, and which the arena keeps.
  Instruction* Add(const Instruction& draft);
  void ReplaceOperand(Instruction& user, size_t position, Instruction& by);
  // In all users but `by` itself.
  void ReplaceUses(Instruction& replaced, Instruction& by);
  // Removes what has no use, and then what only that used.
  void RemoveUnused(Instruction& first);

  // What depends on `from`, itself included: by index.
  std::vector<char> Reach(const Instruction& from) const;
  // Whether Reach has walked so much that asking more would take too long.
  bool IsTired() const { return steps_ > kMostSteps; }

  // Gives the computation its new list. hlo::Finish is up to the caller.
  void Commit();

 private:
  void Link(Instruction& user);
  bool CanRemove(const Instruction& i) const;

  hlo::Computation& computation_;
  Names& names_;
  std::vector<Instruction*> instructions_;
  std::vector<std::vector<Instruction*>> users_;
  std::vector<std::vector<Instruction*>> control_successors_;  // empty when there are none at all
  std::vector<char> has_control_;
  std::vector<char> is_alive_;
  static constexpr size_t kMostSteps = 20'000'000;  // a second or two
  mutable size_t steps_ = 0;
  int64_t next_id_ = 0;  // 0: the computation has no ids
};

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_EDITOR_H_
