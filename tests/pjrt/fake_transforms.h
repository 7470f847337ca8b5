#ifndef EIGHTFOLD_TESTS_PJRT_FAKE_TRANSFORMS_H_
#define EIGHTFOLD_TESTS_PJRT_FAKE_TRANSFORMS_H_

#include <optional>
#include <string>

#include "pjrt/abi.h"

namespace fake {

eightfold::pjrt::abi::Error* NewError(std::string message);

// The transform extension, as the stock plugins behave.
eightfold::pjrt::abi::Extension* TransformExtension();

// Runs `module` through the transforms that are registered at `stage` when it begins. Returns the
// error of the first that has one.
std::optional<std::string> RunTransforms(int stage, std::string& module);

}  // namespace fake

#endif  // EIGHTFOLD_TESTS_PJRT_FAKE_TRANSFORMS_H_
