#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CANONICAL_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CANONICAL_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"

namespace eightfold::differential {

// Everything that `computation` computes, one line per instruction that its root needs, operands by
// number: opcode, type, attributes, metadata, backend_config. Without names, ids, dead code and
// control predecessors. Ids in serialized graphs are numbered anew, called computations are
// written in full. Equal text: the same computation.
std::string Canonical(const hlo::Computation& computation);

// The calls of cuDNN graphs that the root of `computation` needs, sorted: result type, operand
// types, window, dim_labels, groups, metadata, serialized graph.
std::vector<std::string> GraphCalls(const hlo::Computation& computation);

// The serialized graph of a call: "0:[f32]conv();1:[f32]relu(0);"; "" when it is none.
std::string SerializedGraph(const hlo::Instruction& call);

// The serialized graphs of all calls in `module`, sorted, in a form in which the order of
// independent operations does not count: it is that of a value's users, which a module does not
// say.
std::vector<std::string> SerializedGraphs(const hlo::Module& module);

// `bytes` if they can be printed, else in hexadecimal.
std::string PrintableBytes(std::string_view bytes);

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CANONICAL_H_
