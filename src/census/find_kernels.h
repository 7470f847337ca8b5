#ifndef EIGHTFOLD_CENSUS_FIND_KERNELS_H_
#define EIGHTFOLD_CENSUS_FIND_KERNELS_H_

#include <vector>

#include "census/kernel.h"

namespace eightfold::census {

// Every kernel of every computation in `graph`, in the order of its computations and their
// instructions. Frames and metadata are filled in; what the kernels asked for is not.
std::vector<Kernel> FindKernels(const hlo::Module& module, const CallGraph& graph);

// Calls of kernels that somebody wrote by hand (Triton, Mosaic): what they compute cannot be seen.
int CountOpaqueKernels(const CallGraph& graph);

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_FIND_KERNELS_H_
