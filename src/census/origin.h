#ifndef EIGHTFOLD_CENSUS_ORIGIN_H_
#define EIGHTFOLD_CENSUS_ORIGIN_H_

#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "census/call_graph.h"
#include "census/kernel.h"

namespace eightfold::census {

// The way from the entry to a computation: the call taken last and the way before it. A null
// Context stands for "from anywhere": a parameter is then traced to all its callers.
struct Context {
  const Context* parent = nullptr;
  CallSite site;  // its callee is the computation that the context is for
};

// Makes contexts; equal ways have equal addresses.
class Contexts {
 public:
  const Context* Enter(const Context* parent, const CallSite& site);

 private:
  std::map<std::tuple<const Context*, const hlo::Instruction*, Via, int>, const Context*> made_;
  std::deque<Context> storage_;
};

// Traces values backwards to the type they were born in, through everything that keeps a value:
// exact widening converts, copies, reshapes and the like, tuples, loop carries, calls, branches and
// fusions, and through multiplication by a scale where what is scaled has at most 8 bits
// (dequantization). A narrowing convert is a birth too: the value has no more bits than that. A
// value that is only ever a constant has its own type.
class OriginTracer {
 public:
  OriginTracer(const CallGraph& graph, Contexts& contexts) : graph_(graph), contexts_(contexts) {}

  struct Origin {
    hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
    Scale scale = Scale::kNone;  // met on the way to a value of at most 8 bits
  };
  Origin Trace(const hlo::Instruction& value, const Context* context);
  // What both operands of a kernel were born in.
  Ask TraceAsk(const Kernel& kernel, const Context* context);

 private:
  const CallGraph& graph_;
  Contexts& contexts_;
};

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_ORIGIN_H_
