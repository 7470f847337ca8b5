#ifndef EIGHTFOLD_CENSUS_CENSUS_H_
#define EIGHTFOLD_CENSUS_CENSUS_H_

#include <memory>
#include <vector>

#include "census/call_graph.h"
#include "census/kernel.h"
#include "census/match.h"
#include "hlo/module.h"

namespace eightfold::census {

// What really runs in a module, and what was asked for.
struct Census {
  std::shared_ptr<const hlo::Module> module;  // the one counted
  std::shared_ptr<const hlo::Module> before;  // before optimization; null: asks are inferred
  std::unique_ptr<CallGraph> graph;           // of `module`
  std::vector<Kernel> kernels;                // of `module`, in program order

  // Kernels of the module before that nothing compiled was matched with: computed away, or
  // unrecognized.
  struct Gone {
    std::string op_name;
    Ask ask;
    Family family;
    std::vector<hlo::StackFrames::Frame> frames;
  };
  std::vector<Gone> gone;
  int opaque_kernels = 0;          // hand-written ones, which are not looked into
  bool reached_too_often = false;  // the ways to kernels were too many to follow one by one
};

// Counts `after`, matched against `before` (null: asks are inferred). Both must be verified.
Census TakeCensus(std::shared_ptr<const hlo::Module> before,
                  std::shared_ptr<const hlo::Module> after);

// True when a compile without Triton could change the verdict: some dot asked for FP8 and runs
// wider inside a Triton fusion.
bool NeedsOtherCandidate(const Census& census);

// Adds the same program compiled with Triton matmuls off: what runs wider in the census and in FP8
// there is undecided.
void AddOtherCandidate(Census& census, const hlo::Module& without_triton);

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_CENSUS_H_
