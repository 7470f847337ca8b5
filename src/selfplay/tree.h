#ifndef EIGHTFOLD_SELFPLAY_TREE_H_
#define EIGHTFOLD_SELFPLAY_TREE_H_

#include <cstdint>

#include "hlo/builder.h"
#include "selfplay/loop.h"

namespace eightfold::selfplay {

// The search trees of a batch of B games: N nodes each, node 0 the root, A actions. Node i is the
// one that simulation i adds, in every game, so a new node is one contiguous write, and the actions
// of a node are one contiguous read.
struct Tree {
  // [N,B]
  hlo::Instruction* visits = nullptr;      // f32
  hlo::Instruction* values = nullptr;      // f32, mean over the visits
  hlo::Instruction* raw_values = nullptr;  // f32, as predicted
  hlo::Instruction* parents = nullptr;     // s32
  hlo::Instruction* actions = nullptr;     // s32, of the parent
  hlo::Instruction* rewards = nullptr;     // f32, on the way from the parent
  hlo::Instruction* discounts = nullptr;   // f32
  // [N,B,A]
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

// Reads of one node per game, `node` s32[B]. [B,…] of an array [N,B,…]:
hlo::Instruction* AtNode(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node);
// A row [A,B], as in rows.h, of [N,B,A]; of the root without a gather.
hlo::Instruction* RowAtNode(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node);
hlo::Instruction* RowAtRoot(hlo::Builder& b, hlo::Instruction* array);
// [B] of [N,B,A] at an action s32[B] of a node.
hlo::Instruction* AtEdge(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                         hlo::Instruction* action);

// Writes `update` [B,…] as node `node`, s32[], of all games.
hlo::Instruction* WriteNode(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* update,
                            hlo::Instruction* node);
// Writes `update` [B] at one node, s32[B], of each game; nothing where the node is not in [0, N).
hlo::Instruction* SetAtNode(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                            hlo::Instruction* update);
hlo::Instruction* SetAtEdge(hlo::Builder& b, hlo::Instruction* array, hlo::Instruction* node,
                            hlo::Instruction* action, hlo::Instruction* update);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_TREE_H_
