#ifndef EIGHTFOLD_DIAGNOSE_RULES_H_
#define EIGHTFOLD_DIAGNOSE_RULES_H_

#include <set>
#include <span>

#include "diagnose/diagnose.h"

namespace eightfold::diagnose {

// What rules may look at besides the kernel itself.
struct Facts {
  const Setting& setting;
  std::set<const hlo::Computation*> with_graph_calls;  // computations with an FP8 graph convolution
};

// One diagnosis. The first rule that applies to a kernel takes it.
struct Rule {
  const char* id;
  Severity severity;
  bool (*applies)(const census::Kernel& kernel, const Facts& facts);
  const char* title;  // after "20 convolutions in main "; {types} stands for what they run in
  const char* cause;
  const char* fix;
};

std::span<const Rule> Rules();

}  // namespace eightfold::diagnose

#endif  // EIGHTFOLD_DIAGNOSE_RULES_H_
