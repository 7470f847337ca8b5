#include "pjrt/run_job.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/source.h"
#include "pjrt/api.h"
#include "pjrt/pass_hook.h"

namespace eightfold::pjrt {
namespace {

// Leaves what the pass has done so far where the parent finds it, as an answer, should the plugin
// take the process with it later: 0.12 does, on machines without CUDA's tools.
class NotedPass : public Pass {
 public:
  NotedPass(std::shared_ptr<Pass> pass, path folder, Answer answer)
      : pass_(std::move(pass)), folder_(std::move(folder)), answer_(std::move(answer)) {}

  Result<std::optional<std::string>> Run(std::string_view module) override {
    Result<std::optional<std::string>> after = pass_->Run(module);
    const std::lock_guard lock(mutex_);
    ++answer_.pass_calls;
    if (!after && answer_.pass_failed++ == 0) answer_.pass_error = after.error().what;
    if (after && *after) ++answer_.pass_changed;
    answer_.pass_report = pass_->Report();
    EF_CHECK_OK(WriteAnswer(folder_, answer_));
    return after;
  }
  std::string Report() const override { return pass_->Report(); }

 private:
  const std::shared_ptr<Pass> pass_;
  const path folder_;
  std::mutex mutex_;
  Answer answer_;  // guarded by the mutex
};

class Runner {
 public:
  Runner(const path& folder, const Job& job, const MakePass& make_pass)
      : folder_(folder), job_(job), make_pass_(make_pass) {}

  Answer Run() {
    if (Result<void> done = Steps(); !done) {
      answer_.error = done.error().what;
      answer_.advice = done.error().next;
    }
    if (hook_) CollectPassResults();
    return answer_;
  }

 private:
  Result<void> Enter(const char* stage) {
    answer_.stage = stage;
    return WriteFile((folder_ / kStageFile).string(), stage);
  }
  Result<void> Steps();
  Result<void> Hook(const Api& api);
  void CollectPassResults();
  Result<void> Compile(const Api& api);

  const path& folder_;
  const Job& job_;
  const MakePass& make_pass_;
  Answer answer_;
  std::shared_ptr<Pass> pass_;
  std::optional<PassHook> hook_;
};

Result<void> Runner::Steps() {
  EF_CHECK_OK(Enter("loading"));
  if (!job_.pass.empty()) {
    EF_TRY(pass_, make_pass_(job_.pass));
  }
  EF_TRY(Api api, Api::Load(job_.plugin_path));
  answer_.api_minor = api.minor_version();
  for (auto& [name, value] : api.Attributes()) answer_.attributes[name] = value;
  if (job_.kind == Job::Kind::kDescribe) return {};
  if (pass_ != nullptr) EF_CHECK_OK(Hook(api));
  return Compile(api);
}

Result<void> Runner::Hook(const Api& api) {
  EF_CHECK_OK(Enter("hooking"));
  auto noted = std::make_shared<NotedPass>(pass_, folder_, answer_);
  EF_TRY(PassHook hook, PassHook::Register(api, "eightfold", Stage::kPreScheduler, noted));
  hook_.emplace(std::move(hook));
  return {};
}

void Runner::CollectPassResults() {
  const PassHook::Counts counts = hook_->counts();
  answer_.pass_calls = counts.calls;
  answer_.pass_changed = counts.changed;
  answer_.pass_failed = counts.failed;
  answer_.pass_seconds = counts.seconds;
  answer_.pass_report = pass_->Report();
  if (std::optional<Error> error = hook_->first_error()) answer_.pass_error = error->what;
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

Answer RunJob(const path& folder, const Job& job, const MakePass& make_pass) {
  return Runner(folder, job, make_pass).Run();
}

}  // namespace eightfold::pjrt
