#include "cli/selfplay.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/choice.h"
#include "cli/compiling.h"
#include "cli/fixing.h"
#include "fix/fix_pass.h"
#include "hlo/proto/proto.h"
#include "pjrt/executable_cache.h"
#include "pjrt/pass_hook.h"
#include "pjrt/plugin.h"
#include "selfplay/calibration.h"
#include "target/catalogue.h"

namespace eightfold::cli {
namespace {

using pjrt::Platform;
using selfplay::Precision;

std::vector<std::pair<std::string, const selfplay::Game*>> Games() {
  std::vector<std::pair<std::string, const selfplay::Game*>> games;
  for (std::string_view name : selfplay::GameNames()) {
    games.emplace_back(name, selfplay::FindGame(name));
  }
  return games;
}

void AddCount(CLI::App& verb, const std::string& name, int64_t& value, int64_t most,
              const std::string& description) {
  verb.add_option(name, value, description)
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, most))
      ->capture_default_str();
}

// CLI11 takes -1 for a large number, and numbers that are too large for the largest.
void AddSeed(CLI::App& verb, uint64_t& seed) {
  auto store = [&seed](const std::string& word) {
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seed);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw CLI::ValidationError("--seed cannot be " + word +
                                 "\n  it is a number from 0 to 18446744073709551615");
    }
  };
  verb.add_option_function<std::string>("--seed", store, "of all that is random; default: 0")
      ->type_name("N");
}

Result<pjrt::Plugin> ChoosePlugin(const SelfplayFlags& flags) {
  if (flags.platform == Platform::kCuda) return pjrt::FindPlugin(flags.compile.plugin);
  if (flags.compile.plugin.empty()) return pjrt::FindCpuPlugin();
  return pjrt::FindPlugin(flags.compile.plugin);
}

// The GPU that the fix is for: the one that the flags name, else the one that the plugin found.
Result<std::optional<target::Gpu>> GpuOf(const SelfplayFlags& flags, const pjrt::Client& client) {
  if (flags.platform == Platform::kCpu) return std::optional<target::Gpu>();
  if (!flags.compile.target.empty()) {
    EF_TRY(target::Gpu gpu, ChooseTarget(flags.compile));
    return std::optional<target::Gpu>(std::move(gpu));
  }
  for (const target::Gpu& gpu : target::All()) {
    if (gpu.description == client.device_kind()) return std::optional<target::Gpu>(gpu);
  }
  if (flags.compile.fix.empty()) return std::optional<target::Gpu>();
  return Fail(fmt::format("--fix does not know the GPU here: {}", client.device_kind()),
              "say which one of `eightfold targets` is like it: --target NAME");
}

Result<pjrt::LoadedExecutable> CompileRewritten(const pjrt::Client& client,
                                                const std::string& program,
                                                const rewrite::ConvGraphOptions& options,
                                                fix::FixReport& report) {
  EF_TRY(RewrittenProgram rewritten,
         RewriteProgram(program, "the program", options, client.plugin().version));
  report = std::move(rewritten.report);
  return pjrt::LoadedExecutable::Compile(client,
                                         rewritten.bytes.empty() ? program : rewritten.bytes);
}

Result<pjrt::LoadedExecutable> CompileHooked(const pjrt::Client& client, const std::string& program,
                                             const rewrite::ConvGraphOptions& options,
                                             fix::FixReport& report) {
  EF_TRY(std::shared_ptr<pjrt::Pass> pass, fix::MakeFixPass(fix::Describe(options)));
  EF_TRY(pjrt::PassHook hook,
         pjrt::PassHook::Register(client.api(), "eightfold", pjrt::Stage::kPreScheduler, pass));
  EF_TRY(pjrt::LoadedExecutable executable, pjrt::LoadedExecutable::Compile(client, program));
  if (std::optional<Error> error = hook.first_error()) return FailCompiler(error->what);
  EF_TRY(report, fix::ParseReport(pass->Report()));
  return executable;
}

}  // namespace

std::string NotEmpty(const std::string& word) { return word.empty() ? "is empty" : ""; }

std::string DumpJson(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

void AddPrecisionFlag(CLI::App& verb, Precision& precision) {
  AddChoice<Precision>(
      verb, "--precision", precision, "of the network's convolutions: fp8 (the default), bf16, f32",
      {{"fp8", Precision::kFp8}, {"bf16", Precision::kBf16}, {"f32", Precision::kF32}})
      ->type_name("TYPE");
}

void AddSelfplayFlags(CLI::App& verb, SelfplayFlags& flags) {
  AddChoice<const selfplay::Game*>(verb, "--game", flags.program.game,
                                   "othello6 (the default), connect4 or tictactoe", Games())
      ->type_name("NAME");
  AddCount(verb, "--batch", flags.program.batch, 1 << 16, "games at once");
  AddCount(verb, "--sims", flags.program.simulations, 1 << 10, "simulations of a search");
  AddCount(verb, "--width", flags.program.width, 1 << 12, "channels of the network");
  AddCount(verb, "--blocks", flags.program.blocks, 1 << 8, "residual blocks of the network");
  verb.add_flag("--root-in-loop", flags.program.root_in_loop,
                "evaluate the root as iteration zero of the search's loop, so that the network is "
                "there once");
  verb.add_option("--network", flags.network,
                  "parameters, as safetensors in the precision that is used or in f32; default: "
                  "random ones")
      ->type_name("FILE")
      ->check(NotEmpty);
  AddSeed(verb, flags.seed);
  AddChoice<Platform>(verb, "--device", flags.platform, "cpu (the default) or cuda",
                      {{"cpu", Platform::kCpu}, {"cuda", Platform::kCuda}})
      ->type_name("NAME");
  verb.add_option("--plugin", flags.compile.plugin,
                  "what runs the programs: for cuda a version of jax-cuda12-pjrt, or a path; "
                  "default: the newest that is cached, or the one for the CPU")
      ->type_name("VERSION|PATH");
  AddTargetFlag(verb, flags.compile);
  verb.add_flag("-v,--verbose", flags.compile.verbose, "print the plugin's log");
}

Result<SelfplayDevice> SelfplayDevice::Open(const SelfplayFlags& flags) {
  if (flags.platform == Platform::kCpu && !flags.compile.fix.empty()) {
    return Fail("--fix is for GPUs: a CPU has no cuDNN", "--device cuda, or leave it out");
  }
  if (flags.platform == Platform::kCpu && !flags.compile.target.empty()) {
    return Fail("--target is for GPUs", "--device cuda, or leave it out");
  }
  if (!flags.compile.verbose) setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  EF_TRY(pjrt::Plugin plugin, ChoosePlugin(flags));
  EF_TRY(pjrt::Client client, pjrt::Client::Create(plugin, flags.platform));
  EF_TRY(std::optional<target::Gpu> gpu, GpuOf(flags, client));
  return SelfplayDevice(std::move(client), std::move(gpu));
}

std::string SelfplayDevice::Title() const {
  return fmt::format("{} ({})", client_.device_kind(), client_.plugin().Name());
}

selfplay::ProgramOptions SelfplayDevice::Suited(selfplay::ProgramOptions options) const {
  return client_.platform() == Platform::kCpu ? ForCpu(options) : options;
}

Result<pjrt::LoadedExecutable> SelfplayDevice::Compile(const std::string& program) const {
  EF_TRY(pjrt::ExecutableCache::Loaded loaded, pjrt::ExecutableCache().Load(client_, program));
  if (!loaded.store_error.empty()) {
    fmt::print(stderr, "warning: it will be compiled again next time: {}\n", loaded.store_error);
  }
  return loaded.executable;
}

bool SelfplayDevice::CanFix(rewrite::Extent extent) const {
  return gpu_ && fix::OptionsFor(client_.plugin().version, *gpu_, extent).has_value();
}

Result<pjrt::LoadedExecutable> SelfplayDevice::CompileFixed(const std::string& program,
                                                            rewrite::Extent extent) const {
  if (!CanFix(extent)) return Compile(program);
  const auto options = fix::OptionsFor(client_.plugin().version, *gpu_, extent).value();
  const fix::Way way = fix::WayFor(client_.plugin().version);
  fix::FixReport report;
  EF_TRY(pjrt::LoadedExecutable executable,
         way == fix::Way::kProgram ? CompileRewritten(client_, program, options, report)
                                   : CompileHooked(client_, program, options, report));
  report::FixInfo info{.how = HowOf(way, client_.plugin()),
                       .rewritten = std::move(report.rewritten),
                       .near_misses = std::move(report.near_misses)};
  SayFix(info);
  return executable;
}

Result<selfplay::Parameters> LoadNetwork(const SelfplayFlags& flags, const SelfplayDevice& device,
                                         const selfplay::ProgramOptions& options) {
  const selfplay::NetworkOptions network = NetworkOf(options);
  if (flags.network.empty()) {
    return ToPrecision(network, selfplay::RandomParameters(network, flags.seed),
                       std::span(&selfplay::kLargestInputOfRandom, 1));
  }
  EF_TRY(selfplay::GivenParameters given, selfplay::ReadParametersOrF32(flags.network, network));
  if (!given.in_f32 || options.precision == Precision::kF32) return std::move(given.parameters);
  std::vector<float> largest;
  if (options.precision == Precision::kFp8) {
    auto compile = [&](const std::string& program) { return device.Compile(program); };
    EF_TRY(largest, Calibrate(device.client(), options, given.parameters, flags.seed, compile));
  }
  return ToPrecision(network, given.parameters, largest);
}

}  // namespace eightfold::cli
