#ifndef EIGHTFOLD_SELFPLAY_POLICY_H_
#define EIGHTFOLD_SELFPLAY_POLICY_H_

#include <cstddef>

#include "hlo/builder.h"
#include "selfplay/loop.h"
#include "selfplay/search.h"
#include "selfplay/tree.h"

namespace eightfold::selfplay {

// How a search chooses. The functions build in whatever computation `b` is at; `kept` are the
// values of Kept() as they are called there. Rows are [A,B], columns [B], as in rows.h.
class Policy {
 public:
  // Where a choice is made: the numbers of one node per game.
  struct At {
    hlo::Instruction* node = nullptr;        // s32[B]
    hlo::Instruction* simulation = nullptr;  // s32[], from 0
    hlo::Instruction* depth = nullptr;       // s32[]
  };

  virtual ~Policy() = default;
  // What loops have to carry.
  const Values& Kept() const { return kept_; }
  // The logits of the root as the search uses them, from the predicted ones.
  virtual hlo::Instruction* RootLogits(hlo::Builder& b, const Values& kept,
                                       hlo::Instruction* logits) const = 0;
  // s32[B]: the action to follow from the root, and from another node.
  virtual hlo::Instruction* SelectAtRoot(hlo::Builder& b, const Values& kept, const Tree& tree,
                                         const At& at) const = 0;
  virtual hlo::Instruction* SelectBelow(hlo::Builder& b, const Values& kept, const Tree& tree,
                                        const At& at) const = 0;
  // Action s32[B] and weights f32[A,B] after the search, built where the policy was made.
  struct Outcome {
    hlo::Instruction* action = nullptr;
    hlo::Instruction* weights = nullptr;
  };
  virtual Outcome Finish(hlo::Builder& b, const Tree& tree) const = 0;

 protected:
  static constexpr size_t kNone = SIZE_MAX;
  // Keeps a value of the outer computation for the loops: its place in `kept`.
  size_t Keep(hlo::Instruction* value) {
    if (value == nullptr) return kNone;
    kept_.push_back(value);
    return kept_.size() - 1;
  }
  static hlo::Instruction* Get(const Values& kept, size_t place) {
    return place == kNone ? nullptr : kept.at(place);
  }

 private:
  Values kept_;
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_POLICY_H_
