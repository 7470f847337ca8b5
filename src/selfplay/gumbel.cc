#include "selfplay/gumbel.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "selfplay/rows.h"

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;

}  // namespace

std::vector<int64_t> ConsideredVisits(int64_t considered, int64_t simulations) {
  std::vector<int64_t> sequence;
  auto full = [&] { return static_cast<int64_t>(sequence.size()) >= simulations; };
  auto halvings = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(considered - 1)));
  int64_t remaining = std::max<int64_t>(considered, 1);
  for (int64_t visits = 0; !full();) {
    int64_t rounds =
        considered <= 1 ? 1 : std::max<int64_t>(1, simulations / (halvings * remaining));
    for (; rounds > 0; --rounds, ++visits) {
      sequence.insert(sequence.end(), static_cast<size_t>(remaining), visits);
    }
    if (considered > 1) remaining = std::max<int64_t>(2, remaining / 2);
  }
  sequence.resize(static_cast<size_t>(simulations));
  return sequence;
}

GumbelPolicy::GumbelPolicy(Builder& b, const GumbelOptions& options, const SearchOptions& search,
                           int64_t actions, int64_t batch)
    : options_(options),
      gumbel_(Keep(Turn(b, options.gumbel))),
      invalid_(Keep(Turn(b, search.invalid))),
      considered_(Keep(ConsideredTable(b, search, actions, batch))) {}

// f32[S,B]: ConsideredVisits of every game, which has at most as many actions as are valid.
Instruction* GumbelPolicy::ConsideredTable(Builder& b, const SearchOptions& search, int64_t actions,
                                           int64_t batch) const {
  int64_t most = std::min(options_.max_considered, actions);
  std::vector<double> table;
  for (int64_t m = 0; m <= most; ++m) {
    for (int64_t visits : ConsideredVisits(m, search.simulations)) {
      table.push_back(static_cast<double>(visits));
    }
  }
  int64_t dims[] = {most + 1, search.simulations};
  Instruction* visits = b.ConstantArray(kF32, dims, table);
  Instruction* considered = b.Full(kS32, {batch}, static_cast<double>(most));
  if (search.invalid != nullptr) {
    Instruction* valid = SumOver(b, b.Convert(b.Not(Turn(b, search.invalid)), kS32));
    considered = b.Minimum(considered, valid);
  }
  int64_t sizes[] = {1, search.simulations};
  return b.Gather(visits, considered,
                  {.offset = {0}, .collapsed = {0}, .start_index_map = {0}, .index_vector_dim = 1},
                  sizes);
}

Instruction* GumbelPolicy::RootLogits(Builder& b, const Values& kept, Instruction* logits) const {
  return MaskLogits(b, logits, Get(kept, invalid_));
}

GumbelPolicy::Node GumbelPolicy::Root(Builder& b, const Tree& tree) {
  int64_t batch = tree.raw_values->shape->dims[1];
  Instruction* raw = b.Reshape(b.Slice(tree.raw_values, {{0, 1, 1}, {0, batch, 1}}), {batch});
  return {RowAtRoot(b, tree.logits), RowAtRoot(b, tree.probabilities),
          RowAtRoot(b, tree.child_visits), RowAtRoot(b, tree.child_qvalues), raw};
}

// Appendix D: what the node is worth by its prediction and by its visited actions, f32[B].
Instruction* GumbelPolicy::MixedValue(Builder& b, const Node& node) const {
  constexpr float kTiny = std::numeric_limits<float>::min();
  Instruction* zero = b.ZerosLike(node.visits);
  Instruction* visited = b.Greater(node.visits, zero);
  Instruction* prior = b.Maximum(node.probabilities, b.Like(zero, kTiny));
  Instruction* mass = Spread(b, SumOver(b, b.Select(visited, prior, zero)), prior);
  Instruction* share = b.Divide(b.Multiply(prior, node.qvalues), mass);
  Instruction* weighted_q = SumOver(b, b.Select(visited, share, zero));
  Instruction* visits = SumOver(b, node.visits);
  Instruction* sum = b.Add(node.raw_value, b.Multiply(visits, weighted_q));
  return b.Divide(sum, b.Add(visits, b.Like(visits, 1)));
}

// sigma(completed Q), f32[A,B]: equations 8 and 10.
Instruction* GumbelPolicy::CompletedQ(Builder& b, const Node& node) const {
  Instruction* value = options_.use_mixed_value ? MixedValue(b, node) : node.raw_value;
  Instruction* visited = b.Greater(node.visits, b.ZerosLike(node.visits));
  Instruction* q = b.Select(visited, node.qvalues, Spread(b, value, node.qvalues));
  if (options_.rescale_values) {
    Instruction* low = MinOver(b, q);
    Instruction* range = b.Subtract(MaxOver(b, q), low);
    range = b.Maximum(range, b.Like(range, options_.epsilon));
    q = b.Divide(b.Subtract(q, Spread(b, low, q)), Spread(b, range, q));
  }
  Instruction* most = MaxOver(b, node.visits);
  Instruction* scale = b.Multiply(b.Add(b.Like(most, options_.maxvisit_init), most),
                                  b.Like(most, options_.value_scale));
  return b.Multiply(Spread(b, scale, q), q);
}

// gumbel + logits + sigma(completed Q) of the actions that have been visited `considered` times,
// f32[B]; minus infinity for the others.
Instruction* GumbelPolicy::Score(Builder& b, const Values& kept, const Node& root,
                                 Instruction* completed, Instruction* considered) const {
  // An action that is valid may have a prior of next to nothing; it still comes before the others.
  constexpr double kLow = -1e9;
  Instruction* score = b.Subtract(root.logits, Spread(b, MaxOver(b, root.logits), root.logits));
  if (Instruction* gumbel = Get(kept, gumbel_)) score = b.Add(gumbel, score);
  score = b.Maximum(b.Add(score, completed), b.Like(score, kLow));
  Instruction* candidate = b.Equal(root.visits, Spread(b, considered, score));
  return b.Select(candidate, score, b.Like(score, -std::numeric_limits<double>::infinity()));
}

Instruction* GumbelPolicy::SelectAtRoot(Builder& b, const Values& kept, const Tree& tree,
                                        const At& at) const {
  Node root = Root(b, tree);
  Instruction* table = Get(kept, considered_);
  int64_t batch = table->shape->dims[1];
  Instruction* row = b.DynamicSlice(table, {at.simulation, b.Constant(kS32, 0)}, {1, batch});
  Instruction* considered = b.Reshape(row, {batch});
  Instruction* score = Score(b, kept, root, CompletedQ(b, root), considered);
  return ArgMaxValid(b, score, Get(kept, invalid_));
}

// Section 5: the action whose share of the visits falls behind the improved policy the most.
Instruction* GumbelPolicy::SelectBelow(Builder& b, const Values&, const Tree& tree,
                                       const At& at) const {
  Node node = {RowAtNode(b, tree.logits, at.node), RowAtNode(b, tree.probabilities, at.node),
               RowAtNode(b, tree.child_visits, at.node), RowAtNode(b, tree.child_qvalues, at.node),
               AtNode(b, tree.raw_values, at.node)};
  Instruction* policy = SoftmaxOver(b, b.Add(node.logits, CompletedQ(b, node)));
  Instruction* total = SumOver(b, node.visits);
  total = b.Add(b.Like(total, 1), total);
  return ArgMaxOver(b, b.Subtract(policy, b.Divide(node.visits, Spread(b, total, node.visits))));
}

Policy::Outcome GumbelPolicy::Finish(Builder& b, const Tree& tree) const {
  Node root = Root(b, tree);
  Instruction* completed = CompletedQ(b, root);
  Instruction* score = Score(b, Kept(), root, completed, MaxOver(b, root.visits));
  Instruction* invalid = Get(Kept(), invalid_);
  Instruction* improved = MaskLogits(b, b.Add(root.logits, completed), invalid);
  return {ArgMaxValid(b, score, invalid), SoftmaxOver(b, improved)};
}

}  // namespace eightfold::selfplay
