#ifndef EIGHTFOLD_CENSUS_MATCH_H_
#define EIGHTFOLD_CENSUS_MATCH_H_

#include <string>
#include <vector>

#include "census/kernel.h"
#include "census/origin.h"

namespace eightfold::census {

// One kernel of the module before optimization, on one way from the entry to it: XLA inlines calls,
// so a computation that is called twice becomes two kernels.
struct Asked {
  const Kernel* kernel = nullptr;
  // Reached in too many ways to tell them apart: the ask is that of all.
  bool from_anywhere = false;
  // As XLA names the inlined instruction: the op_names of the calls on the way, then its own.
  std::string op_name;
  Ask ask;
};

// Every kernel of `kernels` on every way to it, in program order, with what it asks for.
std::vector<Asked> FindAsked(const hlo::Module& before, const CallGraph& graph,
                             const std::vector<Kernel>& kernels);

// What each compiled kernel came from: an index into the asked ones, or -1 where nothing fits or
// several do that ask for different things. Several compiled kernels may come from one (clones,
// split kernels). Matched by op_name, source frames and FLOPs (which survive splitting and
// transposing), most exact first, then in order.
std::vector<int> Match(const std::vector<Asked>& asked, const std::vector<Kernel>& compiled);

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_MATCH_H_
