#ifndef EIGHTFOLD_PJRT_DESCRIBE_H_
#define EIGHTFOLD_PJRT_DESCRIBE_H_

#include <string>

#include "base/result.h"
#include "pjrt/plugin.h"

namespace eightfold::pjrt {

// Loads a library that came without package metadata (in a worker) and derives its version from the
// ABI version that it reports. Errors: not a plugin, or one that cannot be loaded.
Result<Plugin> DescribeLibrary(const std::string& library);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_DESCRIBE_H_
