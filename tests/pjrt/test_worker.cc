// A worker whose passes are for tests: "append", "fail", "throw".
#include <stdexcept>
#include <thread>

#include "test_passes.h"
#include "worker/worker.h"

namespace eightfold::pjrt {
namespace {

Result<std::optional<std::string>> Append(std::string_view module) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return std::optional(std::string(module) + "+a");
}

Result<std::optional<std::string>> FailToRead(std::string_view) {
  return FailCompiler("cannot read this module");
}

Result<std::optional<std::string>> Throw(std::string_view) { throw std::runtime_error("oh no"); }

Result<std::unique_ptr<Pass>> MakeTestPass(const std::string& description) {
  if (description == "append") return std::make_unique<FunctionPass>(Append);
  if (description == "fail") return std::make_unique<FunctionPass>(FailToRead);
  if (description == "throw") return std::make_unique<FunctionPass>(Throw);
  return FailCompiler("no pass is called " + description, "there are append, fail and throw");
}

}  // namespace
}  // namespace eightfold::pjrt

int main(int argc, char** argv) {
  return eightfold::worker::Main(argc, argv, eightfold::pjrt::MakeTestPass);
}
