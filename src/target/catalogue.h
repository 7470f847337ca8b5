#ifndef EIGHTFOLD_TARGET_CATALOGUE_H_
#define EIGHTFOLD_TARGET_CATALOGUE_H_

#include <span>
#include <string_view>

#include "base/result.h"
#include "target/gpu.h"

namespace eightfold::target {

// Every GPU of src/target/data, by name. Lives as long as the process.
std::span<const Gpu> All();

// The GPU called `name` (case and the characters " -_" do not matter: "RTX 5070" is "rtx5070"). The
// error names the nearest and lists all.
Result<const Gpu*> Find(std::string_view name);

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_CATALOGUE_H_
