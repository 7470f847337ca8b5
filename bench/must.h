#ifndef EIGHTFOLD_BENCH_MUST_H_
#define EIGHTFOLD_BENCH_MUST_H_

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace eightfold {

// The value; or the error's text on standard error and the end of the program.
template <class T>
T Must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().Format().c_str());
    std::exit(static_cast<int>(result.error().exit_code));
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace eightfold

#endif  // EIGHTFOLD_BENCH_MUST_H_
