#include <fmt/format.h>

#include "worker/worker.h"

namespace eightfold {
namespace {

Result<std::unique_ptr<pjrt::Pass>> MakePass(const std::string& description) {
  return FailCompiler(fmt::format("this worker knows no pass '{}'", description));
}

}  // namespace
}  // namespace eightfold

int main(int argc, char** argv) { return eightfold::worker::Main(argc, argv, eightfold::MakePass); }
