#ifndef EIGHTFOLD_REWRITE_EXPAND_H_
#define EIGHTFOLD_REWRITE_EXPAND_H_

#include "base/result.h"
#include "hlo/module.h"

namespace eightfold::rewrite {

// The inverse of ConvGraph: replaces every `__cudnn$convForwardGraph` call by plain HLO with the
// same results (conversions, the convolution, the operations of its serialized graph, the outputs),
// so that it runs on a CPU and can be read. Returns how many calls were replaced. Error: a call
// whose backend_config or serialized graph does not make sense; the module is unchanged then.
//
// The convolution is computed in f32, and every operation's result is rounded to the type that the
// graph lists: to FP8 saturating, as the pattern clamp-and-convert says that such a type stands for
// (NaN stays NaN). Operands from outside the graph go to the operations in the graph's order. A
// scheduled module loses its schedule.
Result<int> Expand(hlo::Module& module);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_EXPAND_H_
