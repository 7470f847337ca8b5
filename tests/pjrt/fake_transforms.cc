#include "fake_transforms.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fake {
namespace {

using namespace eightfold::pjrt;

// Holds the caller's callbacks, and tells them when nothing in the plugin does any more.
class Transform {
 public:
  Transform(const abi::RegisterTransformArgs& args)
      : name_(args.name, args.name_size), stage_(args.stage), callbacks_(args.callbacks) {}
  Transform(const Transform&) = delete;
  ~Transform() { callbacks_->dtor(callbacks_); }
  const std::string& name() const { return name_; }
  int stage() const { return stage_; }
  abi::TransformCallbacks* callbacks() const { return callbacks_; }

 private:
  std::string name_;
  int stage_;
  abi::TransformCallbacks* callbacks_;
};

using Transforms = std::vector<std::shared_ptr<const Transform>>;
std::mutex mutex;
Transforms registered;  // guarded by the mutex

abi::Error* Register(abi::RegisterTransformArgs* args) {
  if (args->struct_size < sizeof(*args)) return NewError("Invalid struct_size");
  if (args->callbacks->version != 1) return NewError("Invalid callback version");
  auto transform = std::make_shared<const Transform>(*args);
  if (args->stage != 0 && args->stage != 1) return NewError("Invalid pipeline stage");
  const std::lock_guard lock(mutex);
  registered.push_back(std::move(transform));
  return nullptr;
}

abi::Error* Remove(abi::RemoveTransformArgs* args) {
  constexpr size_t kSmallest = offsetof(abi::RemoveTransformArgs, found) + 1;
  if (args->struct_size < kSmallest) return NewError("Invalid struct_size");
  if (args->name == nullptr) return NewError("Either name or callbacks must be provided");
  if (args->stage != 0 && args->stage != 1) return NewError("Invalid pipeline stage");
  const std::string name(args->name, args->name_size);
  std::shared_ptr<const Transform> removed;
  const std::lock_guard lock(mutex);
  const auto at = std::find_if(registered.begin(), registered.end(), [&](const auto& transform) {
    return transform->name() == name && transform->stage() == args->stage;
  });
  args->found = at != registered.end();
  if (!args->found) return nullptr;
  removed = *at;
  registered.erase(at);
  return nullptr;
}

// Stock plugins count the size up to the end of the last field.
constexpr size_t kArgsSize = offsetof(abi::TransformArgs, changed) + 1;

std::optional<std::string> RunOne(const Transform& transform, std::string& module) {
  abi::TransformArgs args{};
  args.struct_size = kArgsSize;
  args.header.version = 1;
  args.hlo_in = {module.data(), module.size()};
  transform.callbacks()->transform(transform.callbacks(), &args);
  std::optional<std::string> error;
  std::string after;
  if (args.header.has_error) error.emplace(args.header.message.data, args.header.message.size);
  if (args.changed) after.assign(args.hlo_out.data, args.hlo_out.size);
  if (args.header.cleanup != nullptr) args.header.cleanup(args.header.data);
  if (args.changed) module = std::move(after);
  return error;
}

}  // namespace

abi::Extension* TransformExtension() {
  static abi::TransformExtension extension{
      {sizeof(extension), abi::kTransformExtension, nullptr}, &Register, &Remove};
  return &extension.base;
}

std::optional<std::string> RunTransforms(int stage, std::string& module) {
  Transforms now;
  {
    const std::lock_guard lock(mutex);
    now = registered;
  }
  for (const auto& transform : now) {
    if (transform->stage() != stage) continue;
    if (std::optional<std::string> error = RunOne(*transform, module)) return error;
  }
  return std::nullopt;
}

}  // namespace fake
