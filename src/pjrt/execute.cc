#include "pjrt/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <unordered_set>

namespace eightfold::pjrt {
namespace {

using abi::Function;

// The executable behind a loaded one, destroyed again at the end of the scope.
class Unloaded {
 public:
  static Result<Unloaded> Of(const Api& api, abi::LoadedExecutable* loaded) {
    auto args = NewArgs<abi::LoadedExecutableGetExecutableArgs>();
    args.loaded = loaded;
    EF_CHECK_OK(api.Call(Function::kLoadedExecutableGetExecutable, args));
    return Unloaded(api, args.executable);
  }
  Unloaded(Unloaded&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Unloaded& operator=(Unloaded&&) = delete;
  ~Unloaded() {
    if (handle_ == nullptr) return;
    auto args = NewArgs<abi::ExecutableDestroyArgs>();
    args.executable = handle_;
    (void)api_.Call(Function::kExecutableDestroy, args);
  }
  abi::Executable* get() const { return handle_; }

 private:
  Unloaded(const Api& api, abi::Executable* handle) : api_(api), handle_(handle) {}
  Api api_;
  abi::Executable* handle_;
};

Error NotThese(const Signature& signature, size_t index, std::string problem) {
  const Signature::Parameter& parameter = signature.parameters[index];
  return Error{.what =
                   fmt::format("argument {} of {} {}: parameter {} is {}", index, signature.name,
                               problem, parameter.name, ToString(parameter.shape))};
}

}  // namespace

std::string SerializeOptions(const ExecutableOptions& options) {
  std::string build_options;
  protozero::pbf_writer build(build_options);
  // Both must be there: plugins abort the process without them.
  build.add_int64(4, 1);  // num_replicas
  build.add_int64(5, 1);  // num_partitions
  std::string serialized;
  protozero::pbf_writer writer(serialized);
  writer.add_message(3, build_options);
  for (const auto& [name, value] : options.xla_flags) {
    protozero::pbf_writer entry(writer, 7);  // env_option_overrides, a map
    entry.add_string(1, name);
    protozero::pbf_writer override_value(entry, 2);
    if (value == "true" || value == "false") {
      override_value.add_bool(2, value == "true");  // strings must be "True" and "False"
    } else {
      override_value.add_string(1, value);  // the plugin reads numbers and names from it
    }
  }
  return serialized;
}

LoadedExecutable::State::~State() {
  if (handle == nullptr) return;
  auto args = NewArgs<abi::LoadedExecutableDestroyArgs>();
  args.executable = handle;
  (void)client.api().Call(Function::kLoadedExecutableDestroy, args);
}

Result<LoadedExecutable> LoadedExecutable::Compile(const Client& client, std::string_view program,
                                                   const ExecutableOptions& options) {
  EF_TRY(Signature signature, ReadSignature(program));
  constexpr std::string_view kFormat = "hlo";
  const std::string serialized_options = SerializeOptions(options);
  auto input = NewArgs<abi::Program>();
  input.code = const_cast<char*>(program.data());
  input.code_size = program.size();
  input.format = kFormat.data();
  input.format_size = kFormat.size();
  auto args = NewArgs<abi::ClientCompileArgs>();
  args.client = client.handle();
  args.program = &input;
  args.options = serialized_options.data();
  args.options_size = serialized_options.size();
  EF_CHECK_OK(client.api().Call(Function::kClientCompile, args));
  return Adopt(client, std::move(signature), args.executable);
}

Result<LoadedExecutable> LoadedExecutable::Deserialize(const Client& client,
                                                       std::string_view program,
                                                       std::string_view serialized) {
  EF_TRY(Signature signature, ReadSignature(program));
  auto args = NewArgs<abi::ExecutableDeserializeAndLoadArgs>();
  args.client = client.handle();
  args.bytes = serialized.data();
  args.size = serialized.size();
  EF_CHECK_OK(client.api().Call(Function::kExecutableDeserializeAndLoad, args));
  return Adopt(client, std::move(signature), args.executable);
}

Result<LoadedExecutable> LoadedExecutable::Adopt(const Client& client, Signature signature,
                                                 abi::LoadedExecutable* handle) {
  auto state = std::make_shared<State>(client, std::move(signature));
  state->handle = handle;
  EF_TRY(Unloaded executable, Unloaded::Of(client.api(), handle));
  auto args = NewArgs<abi::ExecutableNumOutputsArgs>();
  args.executable = executable.get();
  EF_CHECK_OK(client.api().Call(Function::kExecutableNumOutputs, args));
  // The plugin writes as many pointers as it has outputs, wherever the caller's array ends.
  if (args.num_outputs != state->signature.results.size()) {
    return FailCompiler(fmt::format("{} returns {} results, its executable {}",
                                    state->signature.name, state->signature.results.size(),
                                    args.num_outputs));
  }
  return LoadedExecutable(std::move(state));
}

Result<void> LoadedExecutable::CheckArguments(std::span<const Buffer* const> arguments,
                                              const ExecuteOptions& options) const {
  const Signature& signature = state_->signature;
  const size_t count = signature.parameters.size();
  if (arguments.size() != count) {
    return Fail(fmt::format("{} takes {} arguments; {} were given", signature.name, count,
                            arguments.size()));
  }
  for (int64_t kept : options.keep) {
    if (kept < 0 || static_cast<size_t>(kept) >= count) {
      return Fail(fmt::format("{} has no parameter {} that could be kept", signature.name, kept));
    }
  }
  std::unordered_set<const abi::Buffer*> taken;
  for (size_t i = 0; i < count; ++i) {
    const Buffer* argument = arguments[i];
    if (argument == nullptr || argument->handle() == nullptr) {
      return Fail(NotThese(signature, i, "is missing"));
    }
    if (argument->shape() != signature.parameters[i].shape) {
      return Fail(NotThese(signature, i, fmt::format("is {}", ToString(argument->shape()))));
    }
    if (!(argument->client() == state_->client)) {
      return Fail(NotThese(signature, i, "is on another client's device"));
    }
    EF_TRY(bool deleted, argument->IsDeleted());
    if (deleted) return Fail(NotThese(signature, i, "was donated to a program before"));
    const bool kept = std::find(options.keep.begin(), options.keep.end(),
                                static_cast<int64_t>(i)) != options.keep.end();
    if (signature.parameters[i].donated && !kept) taken.insert(argument->handle());
  }
  std::unordered_set<const abi::Buffer*> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!seen.insert(arguments[i]->handle()).second && taken.contains(arguments[i]->handle())) {
      return Fail(NotThese(signature, i, "is passed twice and donated"));
    }
  }
  return {};
}

Result<std::vector<Buffer>> LoadedExecutable::Execute(std::span<const Buffer* const> arguments,
                                                      const ExecuteOptions& options) const {
  EF_CHECK_OK(CheckArguments(arguments, options));
  std::vector<abi::Buffer*> inputs;
  inputs.reserve(arguments.size());
  for (const Buffer* argument : arguments) inputs.push_back(argument->handle());
  std::vector<abi::Buffer*> outputs(state_->signature.results.size());
  abi::Buffer* const* argument_list = inputs.data();
  abi::Buffer** output_list = outputs.data();
  auto plugin_options = NewArgs<abi::ExecuteOptions>();
  plugin_options.kept_inputs = options.keep.data();
  plugin_options.num_kept_inputs = options.keep.size();
  auto args = NewArgs<abi::ExecuteArgs>();
  args.executable = state_->handle;
  args.options = &plugin_options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_arguments = inputs.size();
  args.output_lists = &output_list;
  EF_CHECK_OK(client().api().Call(Function::kLoadedExecutableExecute, args));
  std::vector<Buffer> results;
  results.reserve(outputs.size());
  Result<void> adopted;
  for (abi::Buffer* output : outputs) {
    // After a failure the others are adopted all the same: somebody must destroy them.
    Result<Buffer> result = Buffer::Adopt(client(), output);
    if (result) {
      results.push_back(*std::move(result));
    } else {
      adopted = Fail(std::move(result).error());
    }
  }
  EF_CHECK_OK(adopted);
  return results;
}

Result<std::vector<Buffer>> LoadedExecutable::Execute(std::span<const Buffer> arguments,
                                                      const ExecuteOptions& options) const {
  std::vector<const Buffer*> pointers;
  pointers.reserve(arguments.size());
  for (const Buffer& argument : arguments) pointers.push_back(&argument);
  return Execute(pointers, options);
}

Result<std::string> LoadedExecutable::Serialize() const {
  const Api& api = client().api();
  EF_TRY(Unloaded executable, Unloaded::Of(api, state_->handle));
  auto args = NewArgs<abi::ExecutableSerializeArgs>();
  args.executable = executable.get();
  EF_CHECK_OK(api.Call(Function::kExecutableSerialize, args));
  std::string bytes(args.bytes, args.size);
  if (args.deleter != nullptr) args.deleter(args.serialized);
  return bytes;
}

}  // namespace eightfold::pjrt
