#ifndef EIGHTFOLD_NATIVE_FAILURE_H_
#define EIGHTFOLD_NATIVE_FAILURE_H_

#include <exception>
#include <string>

#include "base/result.h"

namespace eightfold::python {

// An Error on its way to Python, where it becomes eightfold.InputError or eightfold.CompilerError.
class Failure : public std::exception {
 public:
  explicit Failure(const Error& error);
  const char* what() const noexcept override { return message_.c_str(); }
  bool is_compiler() const { return is_compiler_; }

 private:
  std::string message_;
  bool is_compiler_;
};

template <class T>
T ValueOrThrow(Result<T> result) {
  if (!result) throw Failure(result.error());
  return *std::move(result);
}

// Has the module turn every Failure into a Python exception.
void RaiseFailures();

}  // namespace eightfold::python

#endif  // EIGHTFOLD_NATIVE_FAILURE_H_
