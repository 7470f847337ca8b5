#ifndef EIGHTFOLD_TESTS_PJRT_TEST_PASSES_H_
#define EIGHTFOLD_TESTS_PJRT_TEST_PASSES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pjrt/pass.h"

namespace eightfold::pjrt {

// A pass that is a function.
class FunctionPass : public Pass {
 public:
  using Function = std::function<Result<std::optional<std::string>>(std::string_view)>;
  explicit FunctionPass(Function function) : function_(std::move(function)) {}
  Result<std::optional<std::string>> Run(std::string_view module) override {
    return function_(module);
  }
  std::string Report() const override { return "a report"; }

 private:
  Function function_;
};

inline std::shared_ptr<Pass> MakeFunctionPass(FunctionPass::Function function) {
  return std::make_shared<FunctionPass>(std::move(function));
}

// Adds `text` to the end of every module.
inline std::shared_ptr<Pass> Appending(std::string text) {
  return MakeFunctionPass([text = std::move(text)](std::string_view module) {
    return std::optional(std::string(module) + text);
  });
}

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_TESTS_PJRT_TEST_PASSES_H_
