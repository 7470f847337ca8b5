#ifndef EIGHTFOLD_REWRITE_CUDNN_PLANS_H_
#define EIGHTFOLD_REWRITE_CUDNN_PLANS_H_

#include <array>
#include <string>

#include "hlo/module.h"

namespace eightfold::rewrite {

// Why an FP8 graph call in place of `conv` (a verified `convolution` or cuDNN call) on values of
// type `input` and `filter` may fail on the device: "cuDNN 9.10 has no plan for 64 groups of 1
// input channel". "" when cuDNN was seen to have a plan. The reasons are one table in
// cudnn_plans.cc.
std::string MissingPlan(const hlo::Instruction& conv, hlo::PrimitiveType input,
                        hlo::PrimitiveType filter, const std::array<int, 3>& cudnn_version);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_CUDNN_PLANS_H_
