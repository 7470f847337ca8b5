#ifndef EIGHTFOLD_BENCH_LARGE_MODULE_H_
#define EIGHTFOLD_BENCH_LARGE_MODULE_H_

#include <memory>

#include "hlo/module.h"

namespace eightfold::bench {

// A module `copies` times as large: that many copies of all computations, each with its number
// behind its names ("add.3" becomes "add.3.r0", "add.3.r1" …), and a new entry that calls every
// copy of the old one with its own parameters and returns the results as a tuple. What names
// parameters or results of the old entry (aliases, donors, shardings, the program shape) is left
// out. `module` may be gone afterwards. Scheduled modules stay scheduled.
std::unique_ptr<hlo::Module> Repeat(const hlo::Module& module, int copies);

}  // namespace eightfold::bench

#endif  // EIGHTFOLD_BENCH_LARGE_MODULE_H_
