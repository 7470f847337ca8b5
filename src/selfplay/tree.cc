#include "selfplay/tree.h"

#include <array>
#include <numeric>

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;

constexpr std::array<Instruction * Tree::*, Tree::kArrays> kMembers = {
    &Tree::visits,       &Tree::values,        &Tree::raw_values, &Tree::parents,
    &Tree::actions,      &Tree::rewards,       &Tree::discounts,  &Tree::children,
    &Tree::child_visits, &Tree::child_qvalues, &Tree::logits,     &Tree::probabilities};

// s32[B,2] of (node, action) pairs.
Instruction* Edges(Builder& b, Instruction* node, Instruction* action) {
  int64_t batch = node->shape->dims[0];
  return b.Concatenate({b.Reshape(node, {batch, 1}), b.Reshape(action, {batch, 1})}, 1);
}

}  // namespace

Values Tree::Pack() const {
  Values values_of;
  for (auto member : kMembers) values_of.push_back(this->*member);
  return values_of;
}

Tree Tree::Unpack(const Values& carried, size_t first) {
  Tree tree;
  for (auto member : kMembers) tree.*member = carried.at(first++);
  return tree;
}

Tree EmptyTree(Builder& b, int64_t nodes, int64_t actions, int64_t batch) {
  Tree tree;
  for (auto member :
       {&Tree::visits, &Tree::values, &Tree::raw_values, &Tree::rewards, &Tree::discounts}) {
    tree.*member = b.Zeros(kF32, {nodes, batch});
  }
  tree.parents = b.Zeros(kS32, {nodes, batch});
  tree.actions = b.Zeros(kS32, {nodes, batch});
  tree.children = b.Full(kS32, {nodes, batch, actions}, Tree::kUnvisited);
  for (auto member :
       {&Tree::child_visits, &Tree::child_qvalues, &Tree::logits, &Tree::probabilities}) {
    tree.*member = b.Zeros(kF32, {nodes, batch, actions});
  }
  return tree;
}

Instruction* AtNode(Builder& b, Instruction* array, Instruction* node) {
  // Whole slices: their last dimension is copied, not gathered one by one.
  std::vector<int64_t> sizes(array->shape->dims.begin(), array->shape->dims.end());
  sizes[0] = sizes[1] = 1;
  std::vector<int64_t> offset(sizes.size() - 2);
  std::iota(offset.begin(), offset.end(), 1);
  return b.Gather(array, node,
                  {.offset = offset,
                   .collapsed = {0},
                   .start_index_map = {0},
                   .operand_batching = {1},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* RowAtNode(Builder& b, Instruction* array, Instruction* node) {
  return b.Transpose(AtNode(b, array, node), {1, 0});
}

Instruction* AtEdge(Builder& b, Instruction* array, Instruction* node, Instruction* action) {
  int64_t sizes[] = {1, 1, 1};
  return b.Gather(array, Edges(b, node, action),
                  {.collapsed = {0, 2},
                   .start_index_map = {0, 2},
                   .operand_batching = {1},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* RowAtRoot(Builder& b, Instruction* array) {
  int64_t batch = array->shape->dims[1];
  int64_t actions = array->shape->dims[2];
  Instruction* root = b.Slice(array, {{0, 1, 1}, {0, batch, 1}, {0, actions, 1}});
  return b.Transpose(b.Reshape(root, {batch, actions}), {1, 0});
}

Instruction* WriteNode(Builder& b, Instruction* array, Instruction* update, Instruction* node) {
  std::vector<int64_t> dims(array->shape->dims.begin(), array->shape->dims.end());
  dims[0] = 1;
  Values starts(dims.size(), b.Constant(PrimitiveType::kS32, 0));
  starts[0] = node;
  return b.DynamicUpdateSlice(array, b.Reshape(update, dims), starts);
}

Instruction* SetAtNode(Builder& b, Instruction* array, Instruction* node, Instruction* update) {
  return b.Scatter(array, node, update,
                   {.inserted_window = {0},
                    .to_operand = {0},
                    .input_batching = {1},
                    .indices_batching = {0},
                    .index_vector_dim = 1},
                   b.SetCombiner(array->shape->type), /*unique_indices=*/true);
}

Instruction* SetAtEdge(Builder& b, Instruction* array, Instruction* node, Instruction* action,
                       Instruction* update) {
  return b.Scatter(array, Edges(b, node, action), update,
                   {.inserted_window = {0, 2},
                    .to_operand = {0, 2},
                    .input_batching = {1},
                    .indices_batching = {0},
                    .index_vector_dim = 1},
                   b.SetCombiner(array->shape->type), /*unique_indices=*/true);
}

}  // namespace eightfold::selfplay
