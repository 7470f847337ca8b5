#ifndef EIGHTFOLD_SELFPLAY_GUMBEL_H_
#define EIGHTFOLD_SELFPLAY_GUMBEL_H_

#include <cstdint>
#include <vector>

#include "selfplay/policy.h"

namespace eightfold::selfplay {

// Sequential halving as visit counts: simulation s goes to one of the actions that have been
// visited result[s] times, the best of them. `considered` actions to begin with; after every phase
// half of them, but at least two, stay. One number per simulation.
std::vector<int64_t> ConsideredVisits(int64_t considered, int64_t simulations);

// Gumbel MuZero: equations and appendices are those of "Policy improvement by planning with
// Gumbel".
class GumbelPolicy : public Policy {
 public:
  // `b` is at the outer computation.
  GumbelPolicy(hlo::Builder& b, const GumbelOptions& options, const SearchOptions& search,
               int64_t actions, int64_t batch);

  hlo::Instruction* RootLogits(hlo::Builder& b, const Values& kept,
                               hlo::Instruction* logits) const override;
  hlo::Instruction* SelectAtRoot(hlo::Builder& b, const Values& kept, const Tree& tree,
                                 const At& at) const override;
  hlo::Instruction* SelectBelow(hlo::Builder& b, const Values& kept, const Tree& tree,
                                const At& at) const override;
  Outcome Finish(hlo::Builder& b, const Tree& tree) const override;

 private:
  // Rows, and the raw value as a column, of one node per game.
  struct Node {
    hlo::Instruction *logits, *probabilities, *visits, *qvalues, *raw_value;
  };
  static Node Root(hlo::Builder& b, const Tree& tree);
  hlo::Instruction* MixedValue(hlo::Builder& b, const Node& node) const;
  hlo::Instruction* CompletedQ(hlo::Builder& b, const Node& node) const;
  hlo::Instruction* Score(hlo::Builder& b, const Values& kept, const Node& root,
                          hlo::Instruction* completed, hlo::Instruction* considered) const;
  hlo::Instruction* ConsideredTable(hlo::Builder& b, const SearchOptions& search, int64_t actions,
                                    int64_t batch) const;

  GumbelOptions options_;
  size_t gumbel_, invalid_, considered_;
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_GUMBEL_H_
