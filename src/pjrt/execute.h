#ifndef EIGHTFOLD_PJRT_EXECUTE_H_
#define EIGHTFOLD_PJRT_EXECUTE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pjrt/buffer.h"
#include "pjrt/client.h"
#include "pjrt/signature.h"

namespace eightfold::pjrt {

// How to compile a program that will run.
struct ExecutableOptions {
  // XLA flags without dashes and their values, over the plugin's defaults and XLA_FLAGS:
  // {"xla_cpu_enable_fast_min_max", "false"}.
  std::vector<std::pair<std::string, std::string>> xla_flags;
};

// The serialized CompileOptionsProto for one device. Everything that is not in `options` is left to
// the plugin.
std::string SerializeOptions(const ExecutableOptions& options);

// How to run one.
struct ExecuteOptions {
  // Parameters that keep their buffer though the program would take it.
  std::vector<int64_t> keep;
};

// A program on a device. Thread-safe; copies share it.
class LoadedExecutable {
 public:
  // Compiles `program`, a serialized HloModuleProto, for the client's device. Errors: see
  // ReadSignature, and what the plugin says of the program.
  static Result<LoadedExecutable> Compile(const Client& client, std::string_view program,
                                          const ExecutableOptions& options = {});
  // Loads what Serialize() gave for the same `program`. A plugin of another version or another
  // processor may take such bytes and go wrong: see ExecutableCache, which tells them apart.
  static Result<LoadedExecutable> Deserialize(const Client& client, std::string_view program,
                                              std::string_view serialized);

  const Client& client() const { return state_->client; }
  const Signature& signature() const { return state_->signature; }

  // Starts the program; what reads the results waits. Errors: the number of arguments, and of each
  // its element type, dimensions, device, and that no program has taken it before or takes it now
  // while it is passed a second time. (The plugin itself checks no more than the size in bytes.)
  Result<std::vector<Buffer>> Execute(std::span<const Buffer* const> arguments,
                                      const ExecuteOptions& options = {}) const;
  Result<std::vector<Buffer>> Execute(std::span<const Buffer> arguments,
                                      const ExecuteOptions& options = {}) const;

  // The compiled program, for Deserialize.
  Result<std::string> Serialize() const;

 private:
  struct State {
    State(Client the_client, Signature the_signature)
        : client(std::move(the_client)), signature(std::move(the_signature)) {}
    ~State();
    Client client;
    Signature signature;
    abi::LoadedExecutable* handle = nullptr;
  };
  explicit LoadedExecutable(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  static Result<LoadedExecutable> Adopt(const Client& client, Signature signature,
                                        abi::LoadedExecutable* handle);
  Result<void> CheckArguments(std::span<const Buffer* const> arguments,
                              const ExecuteOptions& options) const;

  std::shared_ptr<const State> state_;
};

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_EXECUTE_H_
