#ifndef EIGHTFOLD_REWRITE_GRAPH_TEXT_H_
#define EIGHTFOLD_REWRITE_GRAPH_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hlo/primitive_type.h"

namespace eightfold::rewrite {

// What an operation of a serialized graph computes.
enum class GraphOpKind {
  kConv,      // of the call's first two operands
  kAdd,       // a + b
  kScale,     // a × b
  kInvscale,  // a ÷ b
  kMin,       // the smaller of a and b
  kMax,       // the larger of a and b
  kRelu,      // the larger of a and 0
  kElu,       // a where a > 0, else e^a − 1
  kAmax,      // the largest |a|, a scalar: a result of its own
};

// One `ID:[type]name(ID,ID);` of a serialized graph.
struct GraphOp {
  int64_t id = 0;
  hlo::PrimitiveType type{};  // of its output
  GraphOpKind kind{};
  std::string_view name;         // as written; a view into the text
  std::vector<size_t> operands;  // positions of earlier operations
  bool takes_external = false;   // its last operand is the call's next operand from outside
};

// Reads the serialized graph of a `__cudnn$convForwardGraph` call: operations after those that they
// use, a convolution first, each with as many operands as it must have when those that are not
// listed come from outside. Errors say what is wrong where in the text.
Result<std::vector<GraphOp>> ParseGraph(std::string_view text);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_GRAPH_TEXT_H_
