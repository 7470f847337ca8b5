#include "selfplay/tree.h"

#include <array>
#include <numeric>

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

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
  constexpr auto kF32 = PrimitiveType::kF32;
  constexpr auto kS32 = PrimitiveType::kS32;
  Tree tree;
  for (auto member :
       {&Tree::visits, &Tree::values, &Tree::raw_values, &Tree::rewards, &Tree::discounts}) {
    tree.*member = b.Zeros(kF32, {nodes, batch});
  }
  tree.parents = b.Zeros(kS32, {nodes, batch});
  tree.actions = b.Zeros(kS32, {nodes, batch});
  tree.children = b.Full(kS32, {nodes, actions, batch}, Tree::kUnvisited);
  for (auto member :
       {&Tree::child_visits, &Tree::child_qvalues, &Tree::logits, &Tree::probabilities}) {
    tree.*member = b.Zeros(kF32, {nodes, actions, batch});
  }
  return tree;
}

Instruction* NodeColumn(Builder& b, Instruction* array, Instruction* node) {
  int64_t sizes[] = {1, 1};
  return b.Gather(array, node,
                  {.collapsed = {0},
                   .start_index_map = {0},
                   .operand_batching = {1},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* NodeRow(Builder& b, Instruction* array, Instruction* node) {
  int64_t sizes[] = {1, array->shape->dims[1], 1};
  return b.Gather(array, node,
                  {.offset = {0},
                   .collapsed = {0},
                   .start_index_map = {0},
                   .operand_batching = {2},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* NodeEmbedding(Builder& b, Instruction* embeddings, Instruction* node) {
  std::vector<int64_t> sizes(embeddings->shape->dims.begin(), embeddings->shape->dims.end());
  sizes[0] = sizes[1] = 1;
  std::vector<int64_t> offset(sizes.size() - 2);
  std::iota(offset.begin(), offset.end(), 1);
  return b.Gather(embeddings, node,
                  {.offset = offset,
                   .collapsed = {0},
                   .start_index_map = {0},
                   .operand_batching = {1},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* EdgeColumn(Builder& b, Instruction* array, Instruction* node, Instruction* action) {
  int64_t sizes[] = {1, 1, 1};
  return b.Gather(array, Edges(b, node, action),
                  {.collapsed = {0, 1},
                   .start_index_map = {0, 1},
                   .operand_batching = {2},
                   .indices_batching = {0},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* RootRow(Builder& b, Instruction* array) {
  int64_t actions = array->shape->dims[1];
  int64_t batch = array->shape->dims[2];
  return b.Reshape(b.Slice(array, {{0, 1, 1}, {0, actions, 1}, {0, batch, 1}}), {actions, batch});
}

Instruction* WriteNode(Builder& b, Instruction* array, Instruction* update, Instruction* node) {
  std::vector<int64_t> dims(array->shape->dims.begin(), array->shape->dims.end());
  dims[0] = 1;
  Values starts(dims.size(), b.Constant(PrimitiveType::kS32, 0));
  starts[0] = node;
  return b.DynamicUpdateSlice(array, b.Reshape(update, dims), starts);
}

Instruction* SetColumn(Builder& b, Instruction* array, Instruction* node, Instruction* update) {
  return b.Scatter(array, node, update,
                   {.inserted_window = {0},
                    .to_operand = {0},
                    .input_batching = {1},
                    .indices_batching = {0},
                    .index_vector_dim = 1},
                   b.SetCombiner(array->shape->type), /*unique_indices=*/true);
}

Instruction* SetEdge(Builder& b, Instruction* array, Instruction* node, Instruction* action,
                     Instruction* update) {
  return b.Scatter(array, Edges(b, node, action), update,
                   {.inserted_window = {0, 1},
                    .to_operand = {0, 1},
                    .input_batching = {2},
                    .indices_batching = {0},
                    .index_vector_dim = 1},
                   b.SetCombiner(array->shape->type), /*unique_indices=*/true);
}

}  // namespace eightfold::selfplay
