#ifndef EIGHTFOLD_PJRT_API_H_
#define EIGHTFOLD_PJRT_API_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pjrt/abi.h"

namespace eightfold::pjrt {

// A plugin's function table, loaded into this process. Plugins abort the process on some inputs, so
// only the worker loads one. Copies share the library, which stays loaded until the process ends:
// unloading a plugin is not safe.
class Api {
 public:
  // Loads the plugin library at `path`, checks its ABI and runs its one-time setup. Errors: not a
  // shared library, no GetPjrtApi, another major ABI version, setup failed.
  static Result<Api> Load(const std::string& path);
  // The same of a library that this process has loaded already, and whoever loaded it sets up.
  // Error besides those: it is not loaded.
  static Result<Api> Attach(const std::string& path);

  int major_version() const { return table_->version.major_version; }
  int minor_version() const { return table_->version.minor_version; }

  // The table ends before functions that are newer than the plugin.
  bool Has(abi::Function function) const;

  // Calls `function` with `args`, whose struct_size must be set. The error text is the plugin's
  // own.
  template <class Args>
  Result<void> Call(abi::Function function, Args& args) const {
    return CallUntyped(function, &args);
  }

  // Turns what an extension's function returned into a result.
  Result<void> Check(abi::Error* error) const;

  // "xla_version = 2" and the like, as the plugin reports them; empty where it reports none.
  std::vector<std::pair<std::string, std::string>> Attributes() const;

  // The first extension of `type` in the table's list, or null.
  const abi::Extension* FindExtension(int type) const;

 private:
  explicit Api(const abi::ApiTable* table) : table_(table) {}
  static Result<Api> FromLibrary(void* library, const std::string& path);
  Result<void> CallUntyped(abi::Function function, void* args) const;
  std::string TakeMessage(abi::Error* error) const;

  const abi::ApiTable* table_;
};

// Args structs start out zeroed with their size set.
template <class Args>
Args NewArgs() {
  Args args{};
  args.struct_size = sizeof(Args);
  return args;
}

// A description of devices that need not exist. `target_config` is a text GpuTargetConfigProto.
class Topology {
 public:
  static Result<Topology> Create(const Api& api, const std::string& target_config,
                                 const std::string& shape);
  Topology(Topology&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Topology& operator=(Topology&&) = delete;
  ~Topology();
  const abi::Topology* handle() const { return handle_; }

 private:
  Topology(const Api& api, abi::Topology* handle) : api_(api), handle_(handle) {}
  Api api_;
  abi::Topology* handle_;
};

struct OptimizedProgram {
  std::string bytes;
  std::string format;  // "hlo" or "hlo_with_config"
};

// A compiled program that was not loaded onto any device.
class Executable {
 public:
  // `format` is "hlo" (serialized HloModuleProto) or "mlir" (StableHLO text or bytecode); `options`
  // a serialized CompileOptionsProto.
  static Result<Executable> Compile(const Api& api, const Topology& topology,
                                    std::string_view program, std::string_view format,
                                    std::string_view options);
  Executable(Executable&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Executable& operator=(Executable&&) = delete;
  ~Executable();

  // The module after all passes. Plugins before 0.9 cannot hand it over.
  Result<OptimizedProgram> Optimized() const;

 private:
  Executable(const Api& api, abi::Executable* handle) : api_(api), handle_(handle) {}
  Api api_;
  abi::Executable* handle_;
};

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_API_H_
