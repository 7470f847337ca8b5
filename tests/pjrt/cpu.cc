#include "cpu.h"

#include <stdlib.h>

#include "hlo/proto/proto.h"
#include "hlo/verifier.h"
#include "pjrt/fetch.h"

namespace eightfold {

const pjrt::Client& Cpu() {
  static const pjrt::Client client = [] {
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    Result<pjrt::Plugin> plugin = pjrt::FindCpuPlugin();
    if (!plugin) plugin = pjrt::FetchCpuPlugin(nullptr);
    return Must(pjrt::Client::Create(Must(std::move(plugin)), pjrt::Platform::kCpu));
  }();
  return client;
}

pjrt::LoadedExecutable CompileForCpu(const hlo::Module& module) {
  if (auto verdict = hlo::Verify(module); !verdict) {
    throw std::runtime_error(verdict.error().Format());
  }
  return Must(pjrt::LoadedExecutable::Compile(Cpu(), Must(hlo::WriteProto(module))));
}

}  // namespace eightfold
