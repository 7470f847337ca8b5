#include "native/failure.h"

#include <nanobind/nanobind.h>

#include <string_view>

namespace nb = nanobind;

namespace eightfold::python {
namespace {

constexpr std::string_view kPrefix = "error: ";

void Translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Failure& failure) {
    nb::object type = nb::module_::import_("eightfold._errors")
                          .attr(failure.is_compiler() ? "CompilerError" : "InputError");
    PyErr_SetString(type.ptr(), failure.what());
  }
}

}  // namespace

// Python prints the kind of error itself.
Failure::Failure(const Error& error)
    : message_(error.Format()), is_compiler_(error.exit_code == ExitCode::kCompiler) {
  if (message_.starts_with(kPrefix)) message_.erase(0, kPrefix.size());
}

void RaiseFailures() { nb::register_exception_translator(&Translate); }

}  // namespace eightfold::python
