#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options.h"
#include "cli/verb.h"
#include "target/catalogue.h"

namespace eightfold::cli {
namespace {

struct Options {
  std::string name;
  std::string config_version;
  std::string format = "table";
};

// In units of 10^12; "–" where the GPU lacks the type or nobody says.
std::string Tera(const std::optional<double>& flops) {
  return flops ? fmt::format("{:.0f}", *flops / 1e12) : "–";
}

void PrintTable() {
  fmt::print("{:<11} {:<22} {:<7} {:>4} {:>7} {:>7} {:>7} {:>6}   {}\n", "", "", "", "", "memory",
             "memory", "shared", "clock", "peak dense TFLOP/s");
  fmt::print("{:<11} {:<22} {:<7} {:>4} {:>7} {:>7} {:>7} {:>6}   {:>5} {:>5} {:>5} {:>5}\n",
             "target", "GPU", "arch", "SMs", "GiB", "GB/s", "KiB/SM", "GHz", "fp8", "bf16", "tf32",
             "f32");
  for (const target::Gpu& gpu : target::All()) {
    fmt::print(
        "{:<11} {:<22} {:<7} {:>4} {:>7.0f} {:>7.0f} {:>7} {:>6.2f}   {:>5} {:>5} {:>5} {:>5}\n",
        gpu.name, gpu.title, gpu.Architecture(), gpu.core_count,
        static_cast<double>(gpu.device_memory_size) / (1 << 30),
        static_cast<double>(gpu.memory_bandwidth) / 1e9, gpu.shared_memory_per_core / 1024,
        gpu.clock_rate_ghz, Tera(gpu.peak.fp8), Tera(gpu.peak.bf16), Tera(gpu.peak.tf32),
        Tera(gpu.peak.f32));
  }
}

void PrintOne(const target::Gpu& gpu) {
  auto row = [](std::string_view what, const std::string& value) {
    fmt::print("  {:<20} {}\n", what, value);
  };
  fmt::print("{} · {} ({})\n", gpu.name, gpu.title, gpu.Architecture());
  row("compute capability",
      fmt::format("{}.{}", gpu.compute_capability_major, gpu.compute_capability_minor));
  row("multiprocessors", fmt::format("{}", gpu.core_count));
  row("memory", fmt::format("{:.1f} GiB, {:.0f} GB/s",
                            static_cast<double>(gpu.device_memory_size) / (1 << 30),
                            static_cast<double>(gpu.memory_bandwidth) / 1e9));
  row("shared memory",
      fmt::format("{} KiB per multiprocessor, {} KiB per block", gpu.shared_memory_per_core / 1024,
                  gpu.shared_memory_per_block_optin / 1024));
  row("boost clock", fmt::format("{:.2f} GHz", gpu.clock_rate_ghz));
  row("peak dense TFLOP/s",
      fmt::format("fp8 {}, bf16 {}, tf32 {}, f32 {}", Tera(gpu.peak.fp8), Tera(gpu.peak.bf16),
                  Tera(gpu.peak.tf32), Tera(gpu.peak.f32)));
  if (!gpu.source.empty()) row("source", gpu.source);
}

// Sizes in bytes, rates per second; null where the GPU lacks the type or nobody says.
nlohmann::ordered_json ToJson(const target::Gpu& gpu) {
  auto rate = [](const std::optional<double>& flops) {
    return flops ? nlohmann::ordered_json(*flops) : nlohmann::ordered_json();
  };
  return {{"name", gpu.name},
          {"title", gpu.title},
          {"architecture", gpu.Architecture()},
          {"compute_capability", {gpu.compute_capability_major, gpu.compute_capability_minor}},
          {"has_fp8", gpu.HasFp8()},
          {"multiprocessors", gpu.core_count},
          {"memory_bytes", gpu.device_memory_size},
          {"memory_bandwidth", gpu.memory_bandwidth},
          {"shared_memory_per_multiprocessor", gpu.shared_memory_per_core},
          {"shared_memory_per_block", gpu.shared_memory_per_block_optin},
          {"clock_ghz", gpu.clock_rate_ghz},
          {"peak_dense_flops",
           {{"fp8", rate(gpu.peak.fp8)},
            {"bf16", rate(gpu.peak.bf16)},
            {"tf32", rate(gpu.peak.tf32)},
            {"f32", rate(gpu.peak.f32)}}},
          {"source", gpu.source}};
}

Result<ExitCode> Run(const Options& options) {
  bool json = options.format == "json";
  if (options.name.empty()) {
    if (!options.config_version.empty()) return Fail("--config needs the name of a target");
    if (json) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const target::Gpu& gpu : target::All()) list.push_back(ToJson(gpu));
      fmt::print("{}\n", list.dump(2));
    } else {
      PrintTable();
    }
    return ExitCode::kClean;
  }
  EF_TRY(std::optional<target::Gpu> gpu, ChosenTarget({.target = options.name}));
  if (options.config_version.empty()) {
    if (json) {
      fmt::print("{}\n", ToJson(*gpu).dump(2));
    } else {
      PrintOne(*gpu);
    }
    return ExitCode::kClean;
  }
  target::PluginVersion version = target::PluginVersion::Parse(options.config_version);
  fmt::print("{}", target::WriteTargetConfig(*gpu, version));
  return ExitCode::kClean;
}

}  // namespace

void RegisterTargets(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(
      app, command, "targets", "List the GPUs that programs can be compiled for",
      {"eightfold targets rtx5070", "eightfold targets h100 --config 0.10.2 > my_gpu.txtpb"});
  auto options = std::make_shared<Options>();
  verb->add_option("NAME", options->name, "show all about one, and where the numbers are from");
  verb->add_option("--config", options->config_version,
                   "print the target config that this plugin version is given; edited, it can be a "
                   "--target of your own")
      ->type_name("VERSION");
  AddFormatOption(*verb, options->format);
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
