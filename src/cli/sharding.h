#ifndef EIGHTFOLD_CLI_SHARDING_H_
#define EIGHTFOLD_CLI_SHARDING_H_

#include <cstdint>
#include <string_view>

#include "hlo/module.h"

namespace eightfold::cli {

// The most devices that a sharding in `module` spreads a value over: GSPMD's `sharding` attributes
// and Shardy's meshes among the module's frontend attributes. 1: nothing is sharded. An
// HloModuleProto does not say how many partitions it is for, but its shardings do.
int64_t ShardedOver(const hlo::Module& module);

// Whether StableHLO bytecode holds shardings. How many devices they are over is encoded too deep to
// read here.
bool HoldsShardings(std::string_view bytecode);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_SHARDING_H_
