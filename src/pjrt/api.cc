#include "pjrt/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>

namespace eightfold::pjrt {
namespace {

using abi::Function;

// The function at `function`'s position in the table; the caller has checked that it is there.
abi::GenericFunction FunctionAt(const abi::ApiTable* table, Function function) {
  abi::GenericFunction pointer = nullptr;
  const char* entry = reinterpret_cast<const char*>(table) + abi::kFunctionsOffset +
                      static_cast<size_t>(function) * sizeof(pointer);
  std::memcpy(&pointer, entry, sizeof(pointer));
  return pointer;
}

std::string AttributeText(const abi::NamedValue& value) {
  switch (value.type) {
    case abi::kString:
      return std::string(value.string_value, value.value_size);
    case abi::kInt64:
      return fmt::format("{}", value.int64_value);
    case abi::kInt64List: {
      std::string text;
      for (size_t i = 0; i < value.value_size; ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : ".", value.int64_array_value[i]);
      }
      return text;
    }
    case abi::kFloat:
      return fmt::format("{}", value.float_value);
    case abi::kBool:
      return value.bool_value ? "true" : "false";
  }
  return "?";
}

abi::NamedValue StringOption(std::string_view name, const std::string& value) {
  auto option = NewArgs<abi::NamedValue>();
  option.name = name.data();
  option.name_size = name.size();
  option.type = abi::kString;
  option.string_value = value.data();
  option.value_size = value.size();
  return option;
}

}  // namespace

Result<Api> Api::FromLibrary(void* library, const std::string& path) {
  using GetApi = const abi::ApiTable* (*)();
  auto get_api = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    return FailCompiler(
        fmt::format("{} is not a PJRT plugin: it has no function GetPjrtApi", path));
  }
  const abi::ApiTable* table = get_api();
  if (table == nullptr || table->struct_size < abi::kFunctionsOffset) {
    return FailCompiler(fmt::format("{}: GetPjrtApi gave no function table", path));
  }
  if (table->version.major_version != abi::kMajorVersion) {
    return FailCompiler(fmt::format("{} speaks PJRT ABI {}.{}; this program speaks {}.x", path,
                                    table->version.major_version, table->version.minor_version,
                                    abi::kMajorVersion));
  }
  return Api(table);
}

Result<Api> Api::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailCompiler(fmt::format("cannot load plugin: {}", dlerror()));
  }
  EF_TRY(Api api, FromLibrary(library, path));
  auto args = NewArgs<abi::PluginInitializeArgs>();
  EF_CHECK_OK(api.Call(Function::kPluginInitialize, args));
  return api;
}

Result<Api> Api::Attach(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) {
    return FailCompiler(fmt::format("plugin {} is not loaded in this process", path));
  }
  return FromLibrary(library, path);
}

bool Api::Has(Function function) const {
  size_t end = abi::kFunctionsOffset + (static_cast<size_t>(function) + 1) * sizeof(void*);
  return table_->struct_size >= end && FunctionAt(table_, function) != nullptr;
}

Result<void> Api::CallUntyped(Function function, void* args) const {
  if (!Has(function)) {
    return FailCompiler(fmt::format("this plugin's ABI (0.{}) lacks function {} of the PJRT table",
                                    minor_version(), static_cast<size_t>(function)));
  }
  return Check(FunctionAt(table_, function)(args));
}

Result<void> Api::Check(abi::Error* error) const {
  if (error == nullptr) return {};
  return FailCompiler(TakeMessage(error));
}

std::string Api::TakeMessage(abi::Error* error) const {
  auto message = NewArgs<abi::ErrorMessageArgs>();
  message.error = error;
  FunctionAt(table_, Function::kErrorMessage)(&message);
  std::string text(message.message, message.message_size);
  auto destroy = NewArgs<abi::ErrorDestroyArgs>();
  destroy.error = error;
  FunctionAt(table_, Function::kErrorDestroy)(&destroy);
  return text;
}

std::vector<std::pair<std::string, std::string>> Api::Attributes() const {
  auto args = NewArgs<abi::PluginAttributesArgs>();
  std::vector<std::pair<std::string, std::string>> attributes;
  if (!Has(Function::kPluginAttributes) || !Call(Function::kPluginAttributes, args)) {
    return attributes;
  }
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const abi::NamedValue& value = args.attributes[i];
    attributes.emplace_back(std::string(value.name, value.name_size), AttributeText(value));
  }
  return attributes;
}

const abi::Extension* Api::FindExtension(int type) const {
  const abi::Extension* extension = table_->extensions;
  while (extension != nullptr && extension->type != type) extension = extension->next;
  return extension;
}

Result<Topology> Topology::Create(const Api& api, const std::string& target_config,
                                  const std::string& shape) {
  const abi::NamedValue options[] = {StringOption("target_config", target_config),
                                     StringOption("topology", shape)};
  auto args = NewArgs<abi::TopologyCreateArgs>();
  args.name = "";
  args.options = options;
  args.num_options = std::size(options);
  EF_CHECK_OK(api.Call(Function::kTopologyCreate, args));
  return Topology(api, args.topology);
}

Topology::~Topology() {
  if (handle_ == nullptr) return;
  auto args = NewArgs<abi::TopologyDestroyArgs>();
  args.topology = handle_;
  (void)api_.Call(Function::kTopologyDestroy, args);
}

Result<Executable> Executable::Compile(const Api& api, const Topology& topology,
                                       std::string_view program, std::string_view format,
                                       std::string_view options) {
  auto input = NewArgs<abi::Program>();
  input.code = const_cast<char*>(program.data());
  input.code_size = program.size();
  input.format = format.data();
  input.format_size = format.size();
  auto args = NewArgs<abi::CompileArgs>();
  args.topology = topology.handle();
  args.program = &input;
  args.options = options.data();
  args.options_size = options.size();
  EF_CHECK_OK(api.Call(Function::kCompile, args));
  return Executable(api, args.executable);
}

Executable::~Executable() {
  if (handle_ == nullptr) return;
  auto args = NewArgs<abi::ExecutableDestroyArgs>();
  args.executable = handle_;
  (void)api_.Call(Function::kExecutableDestroy, args);
}

Result<OptimizedProgram> Executable::Optimized() const {
  auto program = NewArgs<abi::Program>();
  auto args = NewArgs<abi::OptimizedProgramArgs>();
  args.executable = handle_;
  args.program = &program;
  EF_CHECK_OK(api_.Call(Function::kExecutableOptimizedProgram, args));
  OptimizedProgram optimized;
  optimized.bytes.resize(program.code_size);
  program.code = optimized.bytes.data();
  EF_CHECK_OK(api_.Call(Function::kExecutableOptimizedProgram, args));
  optimized.format.assign(program.format, program.format_size);
  return optimized;
}

}  // namespace eightfold::pjrt
