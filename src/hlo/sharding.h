#ifndef EIGHTFOLD_HLO_SHARDING_H_
#define EIGHTFOLD_HLO_SHARDING_H_

#include <cstdint>

#include "hlo/module.h"

namespace eightfold::hlo {

// The most devices that a sharding in `module` spreads a value over: GSPMD's `sharding` attributes
// and Shardy's meshes among the module's frontend attributes. 1: nothing is sharded. An
// HloModuleProto does not say how many partitions it is for, but its shardings do.
int64_t ShardedOver(const Module& module);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_SHARDING_H_
