#ifndef EIGHTFOLD_REWRITE_CAPTURE_H_
#define EIGHTFOLD_REWRITE_CAPTURE_H_

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rewrite/editor.h"
#include "rewrite/op_graph.h"

namespace eightfold::rewrite {

// An operation that looks like one to absorb and was not.
struct Refusal {
  const Instruction* at = nullptr;
  std::string why;
};

// What became part of a graph call.
struct Captured {
  OpGraph graph;
  std::vector<Instruction*> operands;  // from outside
  std::vector<Instruction*> amaxes;    // extra scalar results
  Instruction* endpoint = nullptr;     // whose value the call's tensor result is
  std::vector<Refusal> refusals;       // why the endpoint's users stay outside
};

// Collects the operations behind one convolution into its graph: users are absorbed as long as
// every user of the current value can be and a single tensor leaves the graph; otherwise what was
// absorbed from that value on is given up. The order in which users are tried decides what is
// found, so it is XLA's.
class Capture {
 public:
  // `exact`: as XLA writes it, even where that is not sound: it gives the type of a saturating
  // conversion to the last operation, which may be an amax, and lists external operands in the
  // order in which they were absorbed even when the operations were reordered since. It absorbs
  // what reads a value beside or behind its conversion to FP8, a leaky ReLU of any slope, and an
  // ELU whose parts serve something else, for which the convolution is computed once more.
  Capture(const Editor& editor, bool exact) : editor_(editor), exact_(exact) {}

  // Of the convolution's result, whose first operations are `moved`: multiplications and divisions
  // by the broadcast of a scalar, each of the one before. When what XLA would absorb does not leave
  // the module sound, it is just those.
  Captured Run(Instruction& result, std::span<Instruction* const> moved);

  // --- For the operations of epilogues.cc. ---
  // A value whose users are being absorbed.
  struct Level {
    Instruction* value;
    size_t absorbed = 0;  // how many of its users are in the graph now …
    size_t existing = 0;  // … or were already
  };
  const Editor& editor() const { return editor_; }
  bool exact() const { return exact_; }
  OpGraph& graph() { return now_.graph; }
  std::vector<Instruction*>& operands() { return now_.operands; }
  // Adds an operation whose result is `value`; false when it is there already.
  bool Append(std::string_view name, const Instruction& value,
              std::vector<const Instruction*> operands);
  bool Append(std::string_view name, const Instruction& value, hlo::PrimitiveType type,
              std::vector<const Instruction*> operands);
  // The value of `level` is rounded to `type`, saturating.
  void Retype(const Level& level, hlo::PrimitiveType type);
  // Goes on with the users of `value`, an operation just appended.
  void Follow(Instruction& value);
  // Whether `operand` may be an external operand / `amax` an extra result: an external operand that
  // depends on an extra result would wait for itself.
  bool MayTake(const Instruction& operand);
  bool MayReturn(const Instruction& amax);
  void AddAmax(Instruction& amax) { now_.amaxes.push_back(&amax); }
  bool takes_amaxes() const { return takes_amaxes_; }
  void Refuse(const Instruction& user, std::string why);

 private:
  void Start(Instruction& result);
  Captured Finish();
  void Visit(Instruction& value);
  bool Absorb(Level& level, Instruction& user);
  bool IsSound() const;

  const Editor& editor_;
  bool exact_;
  bool takes_amaxes_ = true;
  Captured now_;
  std::unordered_set<const Instruction*> visited_;
  size_t endpoints_ = 0;
  size_t depth_ = 0;
  bool revisited_ = false;
  std::vector<Refusal> refusals_;
  std::vector<std::pair<const Instruction*, std::vector<char>>> reach_;  // of amaxes, when asked
};

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_CAPTURE_H_
