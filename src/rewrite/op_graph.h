#ifndef EIGHTFOLD_REWRITE_OP_GRAPH_H_
#define EIGHTFOLD_REWRITE_OP_GRAPH_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"

namespace eightfold::rewrite {

// The operations of one `__cudnn$convForwardGraph` call, each computed from those before it. The
// convolution is the first.
class OpGraph {
 public:
  struct Node {
    std::string_view name;                          // as cuDNN's graph calls it: "conv", "add" …
    const hlo::Instruction* value = nullptr;        // the instruction whose result it is
    hlo::PrimitiveType type{};                      // of its output
    std::vector<const hlo::Instruction*> operands;  // those outside the graph too
  };

  // Adds an operation before the first one that uses it, or at the end, and what it uses before it.
  // False, and nothing happens, when `node.value` is there already.
  bool Append(Node node);
  bool Contains(const hlo::Instruction& value) const { return Find(value) != nullptr; }
  bool Contains(const hlo::Instruction& value, std::string_view name) const;
  // Gives the operation whose result is `value` another output type.
  void Retype(const hlo::Instruction& value, hlo::PrimitiveType type);
  // The same for the last operation in the list.
  void RetypeLast(hlo::PrimitiveType type) { nodes_.back().type = type; }

  // Whether every operation comes after those that it uses, the convolution first.
  bool IsOrdered() const;
  const std::vector<Node>& nodes() const { return nodes_; }
  // "ID:[type]name(ID,ID);" for each, only operands inside the graph being listed. IDs count
  // from 1.
  std::string Serialize() const;

 private:
  const Node* Find(const hlo::Instruction& value) const;
  void MoveOperandsBefore(size_t position);

  std::vector<Node> nodes_;
};

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_OP_GRAPH_H_
