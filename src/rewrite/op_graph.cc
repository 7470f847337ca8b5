#include "rewrite/op_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace eightfold::rewrite {

using hlo::Instruction;

const OpGraph::Node* OpGraph::Find(const Instruction& value) const {
  auto found = std::ranges::find(nodes_, &value, &Node::value);
  return found == nodes_.end() ? nullptr : &*found;
}

bool OpGraph::Contains(const Instruction& value, std::string_view name) const {
  const Node* found = Find(value);
  return found != nullptr && found->name == name;
}

bool OpGraph::Append(Node node) {
  if (Contains(*node.value)) return false;
  auto first_use = std::ranges::find_if(nodes_, [&](const Node& user) {
    return std::ranges::find(user.operands, node.value) != user.operands.end();
  });
  auto position = static_cast<size_t>(first_use - nodes_.begin());
  nodes_.insert(first_use, std::move(node));
  MoveOperandsBefore(position);
  return true;
}

// What the node at `position` uses and comes later goes before it, then what that uses, depth
// first: XLA's order. Nodes that several use move several times, so there is a limit; IsOrdered
// tells.
void OpGraph::MoveOperandsBefore(size_t position) {
  constexpr int kMostMoves = 4096;
  auto push = [this](std::vector<const Instruction*>& pending, size_t at) {
    const auto& operands = nodes_[at].operands;
    pending.insert(pending.end(), operands.rbegin(), operands.rend());
  };
  std::vector<const Instruction*> pending;
  push(pending, position);
  for (int moves = 0; !pending.empty() && moves < kMostMoves;) {
    const Instruction* operand = pending.back();
    pending.pop_back();
    auto to = nodes_.begin() + static_cast<std::ptrdiff_t>(position);
    auto found = std::ranges::find(to, nodes_.end(), operand, &Node::value);
    if (found == nodes_.end()) continue;
    std::rotate(to, found, found + 1);
    push(pending, position);
    ++moves;
  }
}

bool OpGraph::IsOrdered() const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Instruction* operand : nodes_[i].operands) {
      const Node* inside = Find(*operand);
      if (inside != nullptr && inside >= &nodes_[i]) return false;
    }
  }
  return !nodes_.empty() && nodes_[0].name == "conv";
}

void OpGraph::Retype(const Instruction& value, hlo::PrimitiveType type) {
  auto found = std::ranges::find(nodes_, &value, &Node::value);
  if (found != nodes_.end()) found->type = type;
}

std::string OpGraph::Serialize() const {
  std::string text;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    text += fmt::format("{}:[{}]{}(", i + 1, hlo::Name(node.type), node.name);
    const char* separator = "";
    for (const Instruction* operand : node.operands) {
      const Node* inside = Find(*operand);
      if (inside == nullptr) continue;
      text += fmt::format("{}{}", separator, inside - nodes_.data() + 1);
      separator = ",";
    }
    text += ");";
  }
  return text;
}

}  // namespace eightfold::rewrite
