#include "selfplay/search.h"

#include <fmt/format.h>

#include <stdexcept>

#include "selfplay/gumbel.h"
#include "selfplay/ops.h"
#include "selfplay/policy.h"
#include "selfplay/puct.h"
#include "selfplay/rows.h"
#include "selfplay/tree.h"

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;
constexpr auto kPred = PrimitiveType::kPred;

// An index outside every tree: a scatter leaves it out.
constexpr double kNowhere = -1;

// What the simulations' loop carries.
struct State {
  Instruction* node = nullptr;        // s32[]: the node to add next
  Instruction* embeddings = nullptr;  // [N,B,…]
  Tree tree;
  Values weights, kept;  // only read

  Values Pack() const {
    Values all = {node, embeddings};
    for (const Values& part : {tree.Pack(), weights, kept}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  static State Unpack(const Values& all, size_t weights) {
    constexpr size_t kFirst = 2 + Tree::kArrays;
    auto at = [&](size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    return {all[0], all[1], Tree::Unpack(all, 2), Values(at(kFirst), at(kFirst + weights)),
            Values(at(kFirst + weights), all.end())};
  }
};

// Where a simulation leaves the tree: `node` is the child, or kUnvisited when there is none yet.
// All s32[B].
struct Edge {
  Instruction *parent, *action, *node;
};

class Search {
 public:
  Search(const Model& model, const SearchOptions& options, const Policy& policy)
      : model_(model), options_(options), policy_(policy) {}

  // The tree after all simulations.
  Tree Build(Builder& b, Instruction* embedding) const;

 private:
  int64_t MaxDepth() const {
    return options_.max_depth > 0 ? options_.max_depth : options_.simulations;
  }

  State Start(Builder& b, Instruction* embedding) const;
  State Simulate(Builder& b, State state) const;
  Edge Traverse(Builder& b, const State& state) const;
  Values Descend(Builder& b, const Values& carried) const;
  Instruction* Expand(Builder& b, State& state, const Edge& edge, Instruction* leaf) const;

  const Model& model_;
  const SearchOptions& options_;
  const Policy& policy_;
};

// A new node state.node in all games; `logits` [B,A] as the search uses them, `value` [B].
void AddNode(Builder& b, State& state, Instruction* logits, Instruction* value) {
  Tree& tree = state.tree;
  tree.logits = WriteNode(b, tree.logits, logits, state.node);
  tree.probabilities = WriteNode(b, tree.probabilities, SoftmaxOver(b, logits), state.node);
  tree.raw_values = WriteNode(b, tree.raw_values, value, state.node);
}

// The tree with its root; with root_in_loop only the root's embedding is there.
State Search::Start(Builder& b, Instruction* embedding) const {
  int64_t batch = embedding->shape->dims[0];
  int64_t nodes = options_.simulations + 1;
  std::vector<int64_t> dims(embedding->shape->dims.begin(), embedding->shape->dims.end());
  dims.insert(dims.begin(), nodes);
  State state;
  state.node = b.Constant(kS32, 0);
  state.tree = EmptyTree(b, nodes, model_.actions, batch);
  state.weights = model_.weights;
  state.kept = policy_.Kept();
  state.embeddings = WriteNode(b, b.Zeros(embedding->shape->type, dims), embedding, state.node);
  if (options_.root_in_loop) return state;
  Prediction root = model_.predict(b, state.weights, embedding);
  Instruction* value = b.Convert(root.value, kF32);
  Instruction* logits = Turn(b, b.Convert(root.logits, kF32));
  AddNode(b, state, policy_.RootLogits(b, state.kept, logits), value);
  state.tree.visits = WriteNode(b, state.tree.visits, b.Like(value, 1), state.node);
  state.tree.values = WriteNode(b, state.tree.values, value, state.node);
  state.node = b.Constant(kS32, 1);
  return state;
}

// Follows the policy from the root to an action that has no node yet, or to MaxDepth().
Edge Search::Traverse(Builder& b, const State& state) const {
  int64_t batch = state.tree.visits->shape->dims[1];
  Instruction* root = b.Zeros(kS32, {batch});
  Instruction* simulation = b.Subtract(state.node, b.Constant(kS32, 1));
  Instruction* depth = b.Constant(kS32, 0);
  Instruction* action = policy_.SelectAtRoot(b, state.kept, state.tree, {root, simulation, depth});
  Instruction* node = EdgeColumn(b, state.tree.children, root, action);
  Values start = {root, action, node, b.Constant(kS32, 1), simulation};
  for (const Values& part : {state.tree.Pack(), state.kept}) {
    start.insert(start.end(), part.begin(), part.end());
  }
  auto more = [&](Builder& in, const Values& carried) {
    Instruction* any = Any(in, in.GreaterEqual(carried[2], in.ZerosLike(carried[2])));
    return in.And(any, in.Less(carried[3], in.Like(carried[3], static_cast<double>(MaxDepth()))));
  };
  auto descend = [&](Builder& in, const Values& carried) { return Descend(in, carried); };
  Values end = Loop(b, "traverse", start, more, descend);
  return {end[0], end[1], end[2]};
}

// One level further in the games that are at a node; the others stay. Carried: parent, action and
// node of Edge, depth and simulation s32[], the tree, what the policy keeps.
Values Search::Descend(Builder& b, const Values& carried) const {
  constexpr size_t kTree = 5;
  Tree tree = Tree::Unpack(carried, kTree);
  Values kept(carried.begin() + kTree + Tree::kArrays, carried.end());
  Instruction* node = carried[2];
  Instruction* active = b.GreaterEqual(node, b.ZerosLike(node));
  Instruction* here = b.Select(active, node, carried[0]);
  Instruction* action = policy_.SelectBelow(b, kept, tree, {here, carried[4], carried[3]});
  Instruction* next = EdgeColumn(b, tree.children, here, action);
  Values moved = carried;
  moved[0] = here;
  moved[1] = b.Select(active, action, carried[1]);
  moved[2] = b.Select(active, next, node);
  moved[3] = b.Add(carried[3], b.Constant(kS32, 1));
  return moved;
}

// Evaluates the end of `edge` as node state.node, and links it where there was none: `leaf` s32[B]
// is state.node there. Elsewhere (at MaxDepth()) it repeats the numbers of `leaf` and is not used.
// Returns its value, f32[B].
Instruction* Search::Expand(Builder& b, State& state, const Edge& edge, Instruction* leaf) const {
  Tree& tree = state.tree;
  Instruction* parent = NodeEmbedding(b, state.embeddings, edge.parent);
  Transition step = model_.step(b, state.weights, edge.action, parent);
  Instruction* is_root = b.Equal(state.node, b.Constant(kS32, 0));
  Instruction* embedding =
      options_.root_in_loop ? b.Select(is_root, parent, step.embedding) : step.embedding;
  Prediction prediction = model_.predict(b, state.weights, embedding);
  Instruction* value = b.Convert(prediction.value, kF32);
  Instruction* logits = Turn(b, b.Convert(prediction.logits, kF32));
  if (options_.root_in_loop) {
    logits = b.Select(is_root, policy_.RootLogits(b, state.kept, logits), logits);
  }
  AddNode(b, state, logits, value);
  state.embeddings = WriteNode(b, state.embeddings, embedding, state.node);
  tree.parents = WriteNode(b, tree.parents, edge.parent, state.node);
  tree.actions = WriteNode(b, tree.actions, edge.action, state.node);
  tree.rewards = WriteNode(b, tree.rewards, b.Convert(step.reward, kF32), state.node);
  tree.discounts = WriteNode(b, tree.discounts, b.Convert(step.discount, kF32), state.node);

  Instruction* fresh = b.Less(edge.node, b.ZerosLike(edge.node));
  if (options_.root_in_loop) {
    fresh = b.And(fresh, b.Broadcast(b.Not(is_root), fresh->shape->dims));
  }
  Instruction* link = b.Select(fresh, edge.parent, b.Like(edge.parent, kNowhere));
  tree.children = SetEdge(b, tree.children, link, edge.action, leaf);
  return value;
}

// Adds the visit of `leaf` s32[B], worth `value` f32[B], to it and to the nodes above, up to the
// root. Carried: node s32[B] and the value seen from it; what changes of the tree; the rest of it.
void Backward(Builder& b, Tree& tree, Instruction* leaf, Instruction* value) {
  Instruction* visits = NodeColumn(b, tree.visits, leaf);
  tree.visits = SetColumn(b, tree.visits, leaf, b.Add(visits, b.Like(visits, 1)));
  tree.values = SetColumn(b, tree.values, leaf, value);
  Values start = {leaf,
                  value,
                  tree.visits,
                  tree.values,
                  tree.child_visits,
                  tree.child_qvalues,
                  tree.parents,
                  tree.actions,
                  tree.rewards,
                  tree.discounts};
  auto below_root = [](Builder& in, Instruction* node) {
    return in.Greater(node, in.ZerosLike(node));
  };
  auto more = [&](Builder& in, const Values& carried) {
    return Any(in, below_root(in, carried[0]));
  };
  auto rise = [&](Builder& in, const Values& carried) {
    Instruction* node = carried[0];
    Instruction* reward = NodeColumn(in, carried[8], node);
    Instruction* discount = NodeColumn(in, carried[9], node);
    Instruction* action = NodeColumn(in, carried[7], node);
    Instruction* above = NodeColumn(in, carried[6], node);
    // Games that have arrived write nowhere.
    Instruction* active = below_root(in, node);
    Instruction* parent = in.Select(active, above, in.Like(above, kNowhere));
    Instruction* seen = in.Add(reward, in.Multiply(discount, carried[1]));
    Instruction* count = NodeColumn(in, carried[2], above);
    Instruction* more_count = in.Add(count, in.Like(count, 1));
    Instruction* sum = in.Add(in.Multiply(NodeColumn(in, carried[3], above), count), seen);
    Instruction* q = in.Add(reward, in.Multiply(discount, NodeColumn(in, carried[3], node)));
    Values next = carried;
    next[0] = in.Select(active, above, node);
    next[1] = seen;
    next[2] = SetColumn(in, carried[2], parent, more_count);
    next[3] = SetColumn(in, carried[3], parent, in.Divide(sum, more_count));
    // An action has been taken as often as its node has been visited.
    next[4] = SetEdge(in, carried[4], parent, action, NodeColumn(in, carried[2], node));
    next[5] = SetEdge(in, carried[5], parent, action, q);
    return next;
  };
  Values end = Loop(b, "backward", start, more, rise);
  tree.visits = end[2];
  tree.values = end[3];
  tree.child_visits = end[4];
  tree.child_qvalues = end[5];
}

State Search::Simulate(Builder& b, State state) const {
  Edge edge = Traverse(b, state);
  Instruction* leaf = b.Broadcast(state.node, edge.node->shape->dims);
  if (MaxDepth() < options_.simulations) {
    leaf = b.Select(b.Less(edge.node, b.ZerosLike(edge.node)), leaf, edge.node);
  }
  Instruction* value = Expand(b, state, edge, leaf);
  Backward(b, state.tree, leaf, value);
  state.node = b.Add(state.node, b.Constant(kS32, 1));
  return state;
}

Tree Search::Build(Builder& b, Instruction* embedding) const {
  size_t weights = model_.weights.size();
  auto more = [&](Builder& in, const Values& carried) {
    return in.LessEqual(carried[0], in.Constant(kS32, static_cast<double>(options_.simulations)));
  };
  auto simulate = [&](Builder& in, const Values& carried) {
    return Simulate(in, State::Unpack(carried, weights)).Pack();
  };
  Values end = Loop(b, "search", Start(b, embedding).Pack(), more, simulate);
  return State::Unpack(end, weights).tree;
}

void Check(const Model& model, Instruction* embedding, const SearchOptions& options) {
  auto fail = [](std::string_view what) {
    throw std::logic_error(fmt::format("search: {}", what));
  };
  if (model.actions < 1 || !model.step || !model.predict)
    fail("a model without actions or functions");
  if (options.simulations < 1) fail("a search needs at least one simulation");
  if (options.max_depth < 0) fail("a negative max_depth");
  if (embedding->shape->rank() < 1) fail("an embedding without a batch dimension");
}

SearchResult Run(Builder& b, const Model& model, Instruction* embedding,
                 const SearchOptions& options, const Policy& policy) {
  Tree tree = Search(model, options, policy).Build(b, embedding);
  Policy::Outcome outcome = policy.Finish(b, tree);
  int64_t batch = embedding->shape->dims[0];
  SearchResult result;
  result.action = outcome.action;
  result.action_weights = Turn(b, outcome.weights);
  result.value = b.Reshape(b.Slice(tree.values, {{0, 1, 1}, {0, batch, 1}}), {batch});
  result.visit_counts = b.Convert(Turn(b, RootRow(b, tree.child_visits)), kS32);
  result.qvalues = Turn(b, RootRow(b, tree.child_qvalues));
  return result;
}

}  // namespace

SearchResult GumbelMuZero(Builder& b, const Model& model, Instruction* embedding,
                          const SearchOptions& options, const GumbelOptions& gumbel) {
  Check(model, embedding, options);
  GumbelPolicy policy(b, gumbel, options, model.actions, embedding->shape->dims[0]);
  return Run(b, model, embedding, options, policy);
}

SearchResult MuZero(Builder& b, const Model& model, Instruction* embedding,
                    const SearchOptions& options, const PuctOptions& puct) {
  Check(model, embedding, options);
  PuctPolicy policy(b, puct, options);
  return Run(b, model, embedding, options, policy);
}

}  // namespace eightfold::selfplay
