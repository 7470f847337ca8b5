#ifndef EIGHTFOLD_NATIVE_DEVICE_H_
#define EIGHTFOLD_NATIVE_DEVICE_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "target/gpu.h"

namespace eightfold::python {

// The first GPU of this process, as CUDA's libraries describe it: name, compute capability, and the
// versions of cuDNN and of the CUDA runtime (zeros where those libraries are not found). Nothing
// without a driver or a device.
std::optional<target::Gpu> DeviceHere();

// The GPU that this process compiles for: the one called `name` where that is not empty, else its
// own, else the one that EIGHTFOLD_TARGET or eightfold.toml names; nothing when none of them says.
// Error: an unknown name.
Result<std::optional<target::Gpu>> GpuFor(const std::string& name);

}  // namespace eightfold::python

#endif  // EIGHTFOLD_NATIVE_DEVICE_H_
