#include "pjrt/pass_hook.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

namespace eightfold::pjrt {
namespace {

const abi::TransformExtension* FindTransforms(const Api& api) {
  const abi::Extension* extension = api.FindExtension(abi::kTransformExtension);
  if (extension == nullptr || extension->struct_size < sizeof(abi::TransformExtension)) {
    return nullptr;
  }
  return reinterpret_cast<const abi::TransformExtension*>(extension);
}

// Results that leave the module as it is.
void SetUnchanged(abi::TransformArgs* args) {
  args->header.data = nullptr;
  args->header.cleanup = nullptr;
  args->header.has_error = false;
  args->hlo_out = {nullptr, 0};
  args->changed = false;
}

void FreeString(void* string) { delete static_cast<std::string*>(string); }

Result<std::optional<std::string>> RunWithoutThrowing(Pass& pass, std::string_view module) {
  try {
    return pass.Run(module);
  } catch (const std::exception& exception) {
    return FailCompiler(fmt::format("unexpected exception: {}", exception.what()));
  } catch (...) {
    return FailCompiler("unexpected exception");
  }
}

}  // namespace

// What the plugin points to, so it lives until the plugin has called Destroyed, which can be long
// after the hook is gone: a compile calls all transforms that were registered when it began.
// Without a pass it lets every module through.
struct PassHook::State : abi::TransformCallbacks {
  State(const Api& api_, std::string name_, Stage stage_, std::shared_ptr<Pass> pass_)
      : TransformCallbacks{1, &Destroyed, &Transform},
        api(api_),
        name(std::move(name_)),
        unique_name(fmt::format("{}@{}", name, fmt::ptr(this))),
        stage(stage_),
        pass(std::move(pass_)) {}

  const Api api;
  const std::string name;
  const std::string unique_name;  // plugins remove by name
  const Stage stage;

  std::mutex mutex;
  std::condition_variable idle;
  // The mutex guards the rest.
  std::shared_ptr<Pass> pass;
  uint64_t running = 0;
  Counts counts;
  std::optional<Error> first_error;
  std::shared_ptr<State> held_by_plugin;  // this state, while the plugin points to it

  static void Destroyed(abi::TransformCallbacks* self);
  static void Transform(abi::TransformCallbacks* self, abi::TransformArgs* args) noexcept;
  void Run(Pass& current, abi::TransformArgs* args);
  void RecordError(const Error& error);
  void WaitAndDropPass();
  void Remove();
};

void PassHook::State::Destroyed(abi::TransformCallbacks* self) {
  auto* state = static_cast<State*>(self);
  std::shared_ptr<State> last;
  const std::lock_guard lock(state->mutex);
  last.swap(state->held_by_plugin);
}

void PassHook::State::Transform(abi::TransformCallbacks* self, abi::TransformArgs* args) noexcept {
  SetUnchanged(args);
  auto* state = static_cast<State*>(self);
  std::shared_ptr<Pass> pass;
  {
    const std::lock_guard lock(state->mutex);
    if (state->pass == nullptr) return;
    pass = state->pass;
    ++state->running;
  }
  const auto start = std::chrono::steady_clock::now();
  state->Run(*pass, args);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  pass.reset();
  const std::lock_guard lock(state->mutex);
  ++state->counts.calls;
  if (args->changed) ++state->counts.changed;
  state->counts.seconds += elapsed.count();
  --state->running;
  state->idle.notify_all();
}

void PassHook::State::Run(Pass& current, abi::TransformArgs* args) {
  try {
    const std::string_view before(args->hlo_in.data, args->hlo_in.size);
    Result<std::optional<std::string>> after = RunWithoutThrowing(current, before);
    if (!after) return RecordError(after.error());
    // XLA can reject a module that is said to have changed but did not.
    if (!*after || **after == before) return;
    auto* bytes = new std::string(**std::move(after));
    args->header.data = bytes;
    args->header.cleanup = &FreeString;
    args->hlo_out = {bytes->data(), bytes->size()};
    args->changed = true;
  } catch (const std::exception&) {
    // No memory, not even for the message of an error.
    const std::lock_guard lock(mutex);
    ++counts.failed;
  }
}

void PassHook::State::RecordError(const Error& error) {
  const std::lock_guard lock(mutex);
  ++counts.failed;
  if (first_error) return;
  first_error = error;
  fmt::print(stderr, "warning: {}: {}\n  the module goes on as it was\n", name, error.what);
}

void PassHook::State::WaitAndDropPass() {
  std::shared_ptr<Pass> last;  // may be anything, so it goes without the lock
  std::unique_lock lock(mutex);
  last.swap(pass);
  idle.wait(lock, [this] { return running == 0; });
}

// Also after a registration that failed.
void PassHook::State::Remove() {
  const abi::TransformExtension* transforms = FindTransforms(api);
  abi::RemoveTransformArgs args{};
  args.struct_size = sizeof(args);
  args.stage = static_cast<int>(stage);
  args.name = unique_name.data();
  args.name_size = unique_name.size();
  // A plugin that cannot remove it goes on calling a state without a pass.
  (void)api.Check(transforms->remove_transform(&args));
}

bool PassHook::Supported(const Api& api) { return FindTransforms(api) != nullptr; }

Result<PassHook> PassHook::Register(const Api& api, std::string name, Stage stage,
                                    std::shared_ptr<Pass> pass) {
  const abi::TransformExtension* transforms = FindTransforms(api);
  if (transforms == nullptr) {
    return FailCompiler("no pass can run in it: it lacks the transform extension",
                        "jax-cuda12-pjrt and jax-cuda13-pjrt have it from 0.10.2 on");
  }
  auto state = std::make_shared<State>(api, std::move(name), stage, std::move(pass));
  state->held_by_plugin = state;
  abi::RegisterTransformArgs args{};
  args.struct_size = sizeof(args);
  args.name = state->unique_name.data();
  args.name_size = state->unique_name.size();
  args.stage = static_cast<int>(stage);
  args.callbacks = state.get();
  Result<void> registered = api.Check(transforms->register_transform(&args));
  if (!registered) {
    State::Destroyed(state.get());  // not every refusal calls it
    return tl::unexpected(std::move(registered).error());
  }
  return PassHook(std::move(state));
}

PassHook::PassHook(std::shared_ptr<State> state) : state_(std::move(state)) {}

PassHook::PassHook(PassHook&& other) noexcept = default;

PassHook::~PassHook() {
  if (state_ == nullptr) return;
  state_->WaitAndDropPass();
  state_->Remove();
}

PassHook::Counts PassHook::counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

std::optional<Error> PassHook::first_error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->first_error;
}

}  // namespace eightfold::pjrt
