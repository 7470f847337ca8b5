#ifndef EIGHTFOLD_CLI_SELFPLAY_H_
#define EIGHTFOLD_CLI_SELFPLAY_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "pjrt/execute.h"
#include "rewrite/conv_graph.h"
#include "selfplay/actor.h"
#include "selfplay/parameters.h"
#include "selfplay/programs.h"

namespace eightfold::cli {

// The options of verbs that run the programs of self-play, in this process.
struct SelfplayFlags {
  selfplay::ProgramOptions program{.game = selfplay::FindGame("othello6")};
  std::string network;  // a safetensors file; empty: random
  uint64_t seed = 0;
  pjrt::Platform platform = pjrt::Platform::kCpu;
  CompileFlags compile;  // plugin, target, fix, verbose and quiet
};
void AddSelfplayFlags(CLI::App& verb, SelfplayFlags& flags);
// Of an option: an error for an empty word, as of a shell variable that is not set.
std::string NotEmpty(const std::string& word);
// Indented, whatever bytes are in its strings.
std::string DumpJson(const nlohmann::ordered_json& json);
void AddPrecisionFlag(CLI::App& verb, selfplay::Precision& precision);

// The device that programs run on.
class SelfplayDevice {
 public:
  // Errors: no plugin, no device; for --fix, no GPU that it could be for.
  static Result<SelfplayDevice> Open(const SelfplayFlags& flags);

  const pjrt::Client& client() const { return client_; }
  // "cpu", "NVIDIA H200"; with the plugin.
  std::string Title() const;
  // `options` as this device wants them.
  selfplay::ProgramOptions Suited(selfplay::ProgramOptions options) const;

  // Compiles a program, or loads it from the cache.
  Result<pjrt::LoadedExecutable> Compile(const std::string& program) const;
  // Whether the compiler of this device would lose FP8 convolutions that the fix puts back.
  bool CanFix(rewrite::Extent extent) const;
  // Compiles with the fix, and says on standard error what it did.
  Result<pjrt::LoadedExecutable> CompileFixed(const std::string& program,
                                              rewrite::Extent extent) const;

 private:
  SelfplayDevice(pjrt::Client client, std::optional<target::Gpu> gpu)
      : client_(std::move(client)), gpu_(std::move(gpu)) {}
  pjrt::Client client_;
  std::optional<target::Gpu> gpu_;  // nothing: a processor, or a GPU that nobody knows
};

// The parameters of the network in the precision of `options`: from the file that the flags name,
// which holds them in that precision or in f32, else random ones.
Result<selfplay::Parameters> LoadNetwork(const SelfplayFlags& flags, const SelfplayDevice& device,
                                         const selfplay::ProgramOptions& options);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_SELFPLAY_H_
