#ifndef EIGHTFOLD_SELFPLAY_PUCT_H_
#define EIGHTFOLD_SELFPLAY_PUCT_H_

#include <cstdint>

#include "selfplay/policy.h"

namespace eightfold::selfplay {

// MuZero's selection (appendix B of its paper), with Q-values scaled to [0, 1] by those of the node
// and its children.
class PuctPolicy : public Policy {
 public:
  // `b` is at the outer computation.
  PuctPolicy(hlo::Builder& b, const PuctOptions& options, const SearchOptions& search);

  hlo::Instruction* RootLogits(hlo::Builder& b, const Values& kept,
                               hlo::Instruction* logits) const override;
  hlo::Instruction* SelectAtRoot(hlo::Builder& b, const Values& kept, const Tree& tree,
                                 const At& at) const override;
  hlo::Instruction* SelectBelow(hlo::Builder& b, const Values& kept, const Tree& tree,
                                const At& at) const override;
  Outcome Finish(hlo::Builder& b, const Tree& tree) const override;

 private:
  hlo::Instruction* Score(hlo::Builder& b, const Values& kept, const Tree& tree,
                          const At& at) const;

  PuctOptions options_;
  size_t dirichlet_, invalid_, tie_noise_ = 0;
  hlo::Instruction* gumbel_;  // [A,B], used in the outer computation only
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_PUCT_H_
