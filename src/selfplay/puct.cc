#include "selfplay/puct.h"

#include <algorithm>
#include <limits>

#include "selfplay/rows.h"

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;

PuctPolicy::PuctPolicy(Builder& b, const PuctOptions& options, const SearchOptions& search)
    : options_(options),
      dirichlet_(Keep(Turn(b, options.dirichlet))),
      invalid_(Keep(Turn(b, search.invalid))),
      tie_noise_(Kept().size()),
      gumbel_(Turn(b, options.gumbel)) {
  for (Instruction* value : options.tie_noise.values) Keep(value);
}

Instruction* PuctPolicy::RootLogits(Builder& b, const Values& kept, Instruction* logits) const {
  Instruction* prior = SoftmaxOver(b, logits);
  if (Instruction* noise = Get(kept, dirichlet_)) {
    double fraction = options_.dirichlet_fraction;
    prior = b.Add(b.Multiply(b.Like(prior, 1 - fraction), prior),
                  b.Multiply(b.Like(noise, fraction), noise));
  }
  return MaskLogits(b, SafeLog(b, prior), Get(kept, invalid_));
}

namespace {

// Q-values on a scale from the lowest to the highest of the node's value and its visited actions;
// unvisited actions have the lowest.
Instruction* NormalizedQ(Builder& b, Instruction* visits, Instruction* qvalues, Instruction* value,
                         double epsilon) {
  Instruction* visited = b.Greater(visits, b.ZerosLike(visits));
  Instruction* known = b.Select(visited, qvalues, Spread(b, value, qvalues));
  Instruction* low = b.Minimum(value, MinOver(b, known));
  Instruction* high = b.Maximum(value, MaxOver(b, known));
  Instruction* range = b.Maximum(b.Subtract(high, low), b.Like(low, epsilon));
  Instruction* lowest = Spread(b, low, qvalues);
  Instruction* completed = b.Select(visited, qvalues, lowest);
  return b.Divide(b.Subtract(completed, lowest), Spread(b, range, qvalues));
}

}  // namespace

Instruction* PuctPolicy::Score(Builder& b, const Values& kept, const Tree& tree,
                               const At& at) const {
  Instruction* visits = RowAtNode(b, tree.child_visits, at.node);
  Instruction* prior = RowAtNode(b, tree.probabilities, at.node);
  Instruction* node_visits = AtNode(b, tree.visits, at.node);
  Instruction* base = b.Like(node_visits, options_.pb_c_base);
  Instruction* grown = b.Divide(b.Add(b.Add(node_visits, base), b.Like(node_visits, 1)), base);
  Instruction* factor = b.Add(b.Like(grown, options_.pb_c_init), b.Log(grown));
  factor = b.Multiply(b.Sqrt(node_visits), factor);
  Instruction* explore =
      b.Divide(b.Multiply(Spread(b, factor, prior), prior), b.Add(visits, b.Like(visits, 1)));
  Instruction* value = NormalizedQ(b, visits, RowAtNode(b, tree.child_qvalues, at.node),
                                   AtNode(b, tree.values, at.node), options_.epsilon);
  Instruction* score = b.Add(value, explore);
  if (!options_.tie_noise.at) return score;
  Values its(kept.begin() + static_cast<std::ptrdiff_t>(tie_noise_), kept.end());
  constexpr double kTieBreak = 1e-7;
  Instruction* noise = Turn(b, options_.tie_noise.at(b, its, at.simulation, at.depth));
  return b.Add(score, b.Multiply(b.Like(noise, kTieBreak), noise));
}

Instruction* PuctPolicy::SelectAtRoot(Builder& b, const Values& kept, const Tree& tree,
                                      const At& at) const {
  return ArgMaxValid(b, Score(b, kept, tree, at), Get(kept, invalid_));
}

Instruction* PuctPolicy::SelectBelow(Builder& b, const Values& kept, const Tree& tree,
                                     const At& at) const {
  return ArgMaxOver(b, Score(b, kept, tree, at));
}

Policy::Outcome PuctPolicy::Finish(Builder& b, const Tree& tree) const {
  Instruction* visits = RowAtRoot(b, tree.child_visits);
  Instruction* weights = b.Divide(visits, Spread(b, SumOver(b, visits), visits));
  Instruction* logits = SafeLog(b, weights);
  logits = b.Subtract(logits, Spread(b, MaxOver(b, logits), logits));
  double temperature = std::max<double>(options_.temperature, std::numeric_limits<float>::min());
  logits = b.Divide(logits, b.Like(logits, temperature));
  if (gumbel_ != nullptr) logits = b.Add(gumbel_, logits);
  return {ArgMaxOver(b, logits), weights};
}

}  // namespace eightfold::selfplay
