#include "native/hooks.h"

#include <fmt/format.h>

#include <utility>

#include "fix/fix_pass.h"
#include "native/live_audit.h"
#include "pjrt/api.h"

namespace eightfold::python {

// The plugin, attached to; one that takes passes.
Result<Hooks> Hooks::Attach(const std::string& library, const std::optional<target::Gpu>& gpu) {
  Hooks hooks;
  EF_TRY(hooks.plugin_, pjrt::FindPlugin(library));
  EF_TRY(hooks.api_, pjrt::Api::Attach(library));
  if (!pjrt::PassHook::Supported(*hooks.api_)) {
    return FailCompiler(fmt::format("{} takes no passes", hooks.plugin_.Name()),
                        "jax-cuda12-pjrt and jax-cuda13-pjrt do from 0.10.2 on");
  }
  if (gpu) {
    hooks.target_ =
        fmt::format("{} ({})", gpu->title.empty() ? "GPU" : gpu->title, gpu->Architecture());
  }
  return hooks;
}

Result<Hooks> Hooks::Fix(const std::string& library, const target::Gpu& gpu,
                         const std::string& extent) {
  EF_TRY(Hooks hooks, Attach(library, gpu));
  hooks.upstream_ = fix::WayFor(hooks.plugin_.version) == fix::Way::kUpstream;
  auto options =
      fix::OptionsFor(hooks.plugin_.version, gpu,
                      extent == "all" ? rewrite::Extent::kAll : rewrite::Extent::kPlanned);
  if (!options) return hooks;
  EF_TRY(hooks.fix_, fix::MakeFixPass(fix::Describe(*options)));
  EF_TRY(pjrt::PassHook hook, pjrt::PassHook::Register(*hooks.api_, "eightfold fix",
                                                       pjrt::Stage::kPreScheduler, hooks.fix_));
  hooks.hooks_.push_back(std::move(hook));
  return hooks;
}

Result<Hooks> Hooks::Audit(const std::string& library, const std::optional<target::Gpu>& gpu,
                           const std::string& folder) {
  EF_TRY(Hooks hooks, Attach(library, gpu));
  LiveAudit audit = MakeLiveAudit(hooks.plugin_, gpu, folder);
  EF_TRY(pjrt::PassHook before, pjrt::PassHook::Register(*hooks.api_, "eightfold audit",
                                                         pjrt::Stage::kPreScheduler, audit.before));
  hooks.hooks_.push_back(std::move(before));
  EF_TRY(pjrt::PassHook after, pjrt::PassHook::Register(*hooks.api_, "eightfold audit",
                                                        pjrt::Stage::kPostScheduler, audit.after));
  hooks.hooks_.push_back(std::move(after));
  return hooks;
}

pjrt::PassHook::Counts Hooks::counts() const {
  pjrt::PassHook::Counts sum;
  for (const pjrt::PassHook& hook : hooks_) {
    pjrt::PassHook::Counts one = hook.counts();
    sum.calls += one.calls;
    sum.changed += one.changed;
    sum.failed += one.failed;
    sum.seconds += one.seconds;
  }
  return sum;
}

size_t Hooks::rewritten() const {
  if (fix_ == nullptr) return 0;
  auto report = fix::ParseReport(fix_->Report());
  return report ? report->rewritten.size() : 0;
}

std::string Hooks::error() const {
  for (const pjrt::PassHook& hook : hooks_) {
    if (auto error = hook.first_error()) return error->Format();
  }
  return "";
}

}  // namespace eightfold::python
