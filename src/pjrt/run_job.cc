#include "pjrt/run_job.h"

#include <chrono>

#include "base/source.h"
#include "pjrt/api.h"

namespace eightfold::pjrt {
namespace {

class Runner {
 public:
  Runner(const path& folder, const Job& job) : folder_(folder), job_(job) {}

  Answer Run() {
    if (Result<void> done = Steps(); !done) answer_.error = done.error().what;
    return answer_;
  }

 private:
  Result<void> Enter(const char* stage) {
    answer_.stage = stage;
    return WriteFile((folder_ / kStageFile).string(), stage);
  }
  Result<void> Steps();
  Result<void> Compile(const Api& api);

  const path& folder_;
  const Job& job_;
  Answer answer_;
};

Result<void> Runner::Steps() {
  EF_CHECK_OK(Enter("loading"));
  EF_TRY(Api api, Api::Load(job_.plugin_path));
  answer_.api_minor = api.minor_version();
  for (auto& [name, value] : api.Attributes()) answer_.attributes[name] = value;
  if (job_.kind == Job::Kind::kDescribe) return {};
  return Compile(api);
}

Result<void> Runner::Compile(const Api& api) {
  EF_TRY(std::string program, ReadFile(folder_ / kProgramFile));
  EF_TRY(std::string options, ReadFile(folder_ / kOptionsFile));
  EF_CHECK_OK(Enter("target"));
  EF_TRY(Topology topology, Topology::Create(api, job_.target_config, "1x1x1"));
  EF_CHECK_OK(Enter("compiling"));
  const auto start = std::chrono::steady_clock::now();
  EF_TRY(Executable executable, Executable::Compile(api, topology, program, job_.format, options));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  answer_.compile_seconds = elapsed.count();
  if (!job_.want_optimized) return {};
  EF_CHECK_OK(Enter("fetching"));
  EF_TRY(OptimizedProgram after, executable.Optimized());
  answer_.after_format = after.format;
  return WriteFile((folder_ / kAfterFile).string(), after.bytes);
}

}  // namespace

Answer RunJob(const path& folder, const Job& job) { return Runner(folder, job).Run(); }

}  // namespace eightfold::pjrt
