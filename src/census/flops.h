#ifndef EIGHTFOLD_CENSUS_FLOPS_H_
#define EIGHTFOLD_CENSUS_FLOPS_H_

#include "hlo/module.h"
#include "hlo/views.h"

namespace eightfold::census {

// All counts are nominal: 2 · output elements · terms summed for each, padding included, for one
// run on one device. 0 when a shape is missing or dynamic.

// A plain convolution or one of the cuDNN convolution calls. Backward calls carry the dimension
// numbers of the forward convolution they belong to, and cost as much as it: 2 · output elements ·
// kernel window · input channels per group.
double ConvolutionFlops(const hlo::Instruction& convolution);

// 2 · result elements · product of the contracting dimensions of `lhs`.
double DotFlops(const hlo::Shape& lhs, const hlo::Shape& result,
                const std::vector<int64_t>& contracting);

// A dot, scaled-dot or ragged-dot instruction. A ragged contracting dimension is split between the
// groups.
double DotFlops(const hlo::Instruction& dot);

// A cuBLAS or cuBLASLt call, from the dot_dimension_numbers of its backend_config.
double GemmCallFlops(const hlo::Instruction& call);

// A cuDNN attention call: the two products of the forward pass, five of the backward pass, from the
// shape of the score matrix in its backend_config.
double AttentionFlops(const hlo::Instruction& call);

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_FLOPS_H_
