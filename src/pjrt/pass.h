#ifndef EIGHTFOLD_PJRT_PASS_H_
#define EIGHTFOLD_PJRT_PASS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace eightfold::pjrt {

// What a plugin calls with every module that it compiles: any thread, also concurrently.
class Pass {
 public:
  virtual ~Pass() = default;
  // `module` is a serialized HloModuleProto. Returns the module to go on with; nothing: unchanged.
  // After an error the module goes on unchanged, and the error is counted and kept.
  virtual Result<std::optional<std::string>> Run(std::string_view module) = 0;
  // What the pass did so far, for CompileResult::pass_report; any text.
  virtual std::string Report() const = 0;
};

// Makes the pass that CompileRequest::pass describes. The worker is given one; this room knows no
// passes.
using MakePass = std::function<Result<std::unique_ptr<Pass>>(const std::string& description)>;

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PASS_H_
