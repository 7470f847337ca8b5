#ifndef EIGHTFOLD_TARGET_TEXT_CONFIG_H_
#define EIGHTFOLD_TARGET_TEXT_CONFIG_H_

#include <memory>

#include "base/result.h"
#include "base/source.h"
#include "target/gpu.h"

namespace eightfold::target {

// Reads a user's own target: a text-format GpuTargetConfigProto such as XLA dumps or ships. Fields
// that we do not know are kept as written. Errors carry file, line and column: bad syntax, a known
// field with a value of the wrong kind or given twice, no compute capability or core count.
Result<Gpu> ParseTargetConfig(const std::shared_ptr<const Source>& source);

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_TEXT_CONFIG_H_
