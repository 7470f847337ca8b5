#ifndef EIGHTFOLD_TESTS_PJRT_CPU_H_
#define EIGHTFOLD_TESTS_PJRT_CPU_H_

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "hlo/module.h"
#include "pjrt/execute.h"

// Running modules on this machine's CPU, for tests.
namespace eightfold {

// The value, or an exception with the error's text: a test has nothing to do without it.
template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().Format());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// The CPU plugin of the cache, fetched first when it is not there.
const pjrt::Client& Cpu();
// Verifies and compiles `module`.
pjrt::LoadedExecutable CompileForCpu(const hlo::Module& module);

}  // namespace eightfold

#endif  // EIGHTFOLD_TESTS_PJRT_CPU_H_
