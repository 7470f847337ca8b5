#ifndef EIGHTFOLD_REWRITE_CONV_KIND_H_
#define EIGHTFOLD_REWRITE_CONV_KIND_H_

#include <string>

#include "hlo/module.h"

namespace eightfold::rewrite {

// What XLA's convolution canonicalization makes of a convolution.
enum class ConvKind {
  kForward,
  kBackwardFilter,
  kBackwardInput,
  kNone,  // cuDNN does not take it
};
struct ConvDecision {
  ConvKind kind = ConvKind::kNone;
  std::string why;  // for people, unless forward: "a kernel larger than its output is a …"
};

// Decides as every plugin does that compiles without a device (0.9.2 to 0.12.0.1 were seen to agree
// on all that tells the orders apart): backward input is tried first, then backward filter, which a
// convolution that looks forward never is; the rest is forward where cuDNN takes it.
// `conv` is a verified `convolution`.
ConvDecision DecideKind(const hlo::Instruction& conv);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_CONV_KIND_H_
