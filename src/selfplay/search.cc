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

// A new node state.node in all games; `logits` [A,B] as the search uses them, `value` [B].
void AddNode(Builder& b, State& state, Instruction* logits, Instruction* value) {
  Tree& tree = state.tree;
  Instruction* probabilities = SoftmaxOver(b, logits);
  tree.logits = WriteNode(b, tree.logits, Turn(b, logits), state.node);
  tree.probabilities = WriteNode(b, tree.probabilities, Turn(b, probabilities), state.node);
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
  Instruction* node = AtEdge(b, state.tree.children, root, action);
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
  Instruction* next = AtEdge(b, tree.children, here, action);
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
  Instruction* parent = AtNode(b, state.embeddings, edge.parent);
  Transition step = model_.step(b, state.weights, edge.action, parent);
  Instruction* is_root = b.Equal(state.node, b.Constant(kS32, 0));
  // The predicate is broadcast: XLA's GPU compiler fails on some selects with a scalar one.
  auto at_root = [&](Instruction* like) { return b.Broadcast(is_root, like->shape->dims); };
  Instruction* embedding = step.embedding;
  if (options_.root_in_loop) embedding = b.Select(at_root(parent), parent, embedding);
  Prediction prediction = model_.predict(b, state.weights, embedding);
  Instruction* value = b.Convert(prediction.value, kF32);
  Instruction* logits = Turn(b, b.Convert(prediction.logits, kF32));
  if (options_.root_in_loop) {
    logits = b.Select(at_root(logits), policy_.RootLogits(b, state.kept, logits), logits);
  }
  AddNode(b, state, logits, value);
  state.embeddings = WriteNode(b, state.embeddings, embedding, state.node);
  tree.parents = WriteNode(b, tree.parents, edge.parent, state.node);
  tree.actions = WriteNode(b, tree.actions, edge.action, state.node);
  tree.rewards = WriteNode(b, tree.rewards, b.Convert(step.reward, kF32), state.node);
  tree.discounts = WriteNode(b, tree.discounts, b.Convert(step.discount, kF32), state.node);

  Instruction* fresh = b.Less(edge.node, b.ZerosLike(edge.node));
  if (options_.root_in_loop) fresh = b.And(fresh, b.Not(at_root(fresh)));
  Instruction* link = b.Select(fresh, edge.parent, b.Like(edge.parent, kNowhere));
  tree.children = SetAtEdge(b, tree.children, link, edge.action, leaf);
  return value;
}

// What the way back to the root carries.
enum Back : size_t {
  kNode,  // s32[B]
  kSeen,  // f32[B], what the new visit is worth from there
  // Of the tree, what changes and what is only read.
  kVisits,
  kValues,
  kChildVisits,
  kChildQvalues,
  kParents,
  kActions,
  kRewards,
  kDiscounts,
};

Instruction* BelowRoot(Builder& b, Instruction* node) { return b.Greater(node, b.ZerosLike(node)); }

// One level up: adds the visit to the parent and to its edge.
Values Rise(Builder& b, const Values& carried) {
  Instruction* node = carried[kNode];
  auto of_node = [&](Back array) { return AtNode(b, carried[array], node); };
  Instruction* above = of_node(kParents);
  auto of_parent = [&](Back array) { return AtNode(b, carried[array], above); };
  // Games that have arrived at the root write nowhere.
  Instruction* active = BelowRoot(b, node);
  Instruction* parent = b.Select(active, above, b.Like(above, kNowhere));
  Instruction* action = of_node(kActions);
  Instruction* reward = of_node(kRewards);
  Instruction* discount = of_node(kDiscounts);
  Instruction* seen = b.Add(reward, b.Multiply(discount, carried[kSeen]));
  Instruction* count = of_parent(kVisits);
  Instruction* sum = b.Add(b.Multiply(of_parent(kValues), count), seen);
  Instruction* q = b.Add(reward, b.Multiply(discount, of_node(kValues)));
  count = b.Add(count, b.Like(count, 1));

  Values next = carried;
  next[kNode] = b.Select(active, above, node);
  next[kSeen] = seen;
  next[kVisits] = SetAtNode(b, carried[kVisits], parent, count);
  next[kValues] = SetAtNode(b, carried[kValues], parent, b.Divide(sum, count));
  // An action has been taken as often as its node has been visited.
  next[kChildVisits] = SetAtEdge(b, carried[kChildVisits], parent, action, of_node(kVisits));
  next[kChildQvalues] = SetAtEdge(b, carried[kChildQvalues], parent, action, q);
  return next;
}

// Adds the visit of `leaf` s32[B], worth `value` f32[B], to it and to the nodes above, up to the
// root.
void Backward(Builder& b, Tree& tree, Instruction* leaf, Instruction* value) {
  Instruction* visits = AtNode(b, tree.visits, leaf);
  tree.visits = SetAtNode(b, tree.visits, leaf, b.Add(visits, b.Like(visits, 1)));
  tree.values = SetAtNode(b, tree.values, leaf, value);
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
  auto more = [](Builder& in, const Values& carried) {
    return Any(in, BelowRoot(in, carried[kNode]));
  };
  Values end = Loop(b, "backward", start, more, Rise);
  tree.visits = end[kVisits];
  tree.values = end[kValues];
  tree.child_visits = end[kChildVisits];
  tree.child_qvalues = end[kChildQvalues];
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
  result.visit_counts = b.Convert(Turn(b, RowAtRoot(b, tree.child_visits)), kS32);
  result.qvalues = Turn(b, RowAtRoot(b, tree.child_qvalues));
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
