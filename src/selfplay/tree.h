#ifndef EIGHTFOLD_SELFPLAY_TREE_H_
#define EIGHTFOLD_SELFPLAY_TREE_H_

#include <cstdint>

#include "hlo/builder.h"
#include "selfplay/loop.h"

namespace eightfold::selfplay {

// The search trees of a batch of B games: N nodes each, node 0 the root, A actions. Node i is the
// one that simulation i adds, in every game, so a new node is one contiguous write; games are the
// minor dimension (see rows.h).
struct Tree {
  // [N,B]
  hlo::Instruction* visits = nullptr;      // f32
  hlo::Instruction* values = nullptr;      // f32, mean over the visits
  hlo::Instruction* raw_values = nullptr;  // f32, as predicted
  hlo::Instruction* parents = nullptr;     // s32
  hlo::Instruction* actions = nullptr;     // s32, of the parent
  hlo::Instruction* rewards = nullptr;     // f32, on the way from the parent
  hlo::Instruction* discounts = nullptr;   // f32
  // [N,A,B]
  hlo::Instruction* children = nullptr;       // s32, kUnvisited or a node
  hlo::Instruction* child_visits = nullptr;   // f32
  hlo::Instruction* child_qvalues = nullptr;  // f32, 0 for unvisited actions
  hlo::Instruction* logits = nullptr;         // f32
  hlo::Instruction* probabilities = nullptr;  // f32, softmax of the logits

  static constexpr int kUnvisited = -1;
  static constexpr size_t kArrays = 12;

  // All arrays in a fixed order, for loops to carry, and back from `values` at `first`.
  Values Pack() const;
  static Tree Unpack(const Values& values, size_t first);
};

// A tree without nodes.
Tree EmptyTree(hlo::Builder& b, int64_t nodes, int64_t actions, int64_t batch);

// Reads of one node per game, `node` s32[B]: [B] of an array [N,B], [A,B] of [N,A,B].
hlo::Instruction* NodeColumn(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node);
hlo::Instruction* NodeRow(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node);
// [B,…] of embeddings [N,B,…].
hlo::Instruction* NodeEmbedding(hlo::Builder& b, hlo::Instruction* embeddings,
                                hlo::Instruction* node);
// [B] of [N,A,B] at an action s32[B] of a node.
hlo::Instruction* EdgeColumn(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                             hlo::Instruction* action);
// The row of the root, without a gather.
hlo::Instruction* RootRow(hlo::Builder& b, hlo::Instruction* array);

// Writes `update` [B], [A,B] or [B,…] as node `node`, s32[], of all games.
hlo::Instruction* WriteNode(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* update,
                            hlo::Instruction* node);
// Writes `update` [B] at one node, s32[B], of each game; nothing where the node is not in [0, N).
hlo::Instruction* SetColumn(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                            hlo::Instruction* update);
hlo::Instruction* SetEdge(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                          hlo::Instruction* action, hlo::Instruction* update);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_TREE_H_
