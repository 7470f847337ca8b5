#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "pjrt/fetch.h"
#include "pjrt/plugin.h"

namespace eightfold::cli {
namespace {

struct FetchOptions {
  std::string version;
  int cuda = 0;  // 0: what the version says, else 12
};

// "0.11.2 --cuda 13" and "cuda13-0.11.2" are the same.
Result<int> CudaOf(const FetchOptions& options, const pjrt::PluginSpec& spec) {
  if (spec.cuda.empty()) return options.cuda == 0 ? 12 : options.cuda;
  if (spec.cuda != "12" && spec.cuda != "13") {
    return Fail(fmt::format("there is no plugin for CUDA {}", spec.cuda), "it is 12 or 13");
  }
  const int cuda = spec.cuda == "12" ? 12 : 13;
  if (options.cuda != 0 && options.cuda != cuda) {
    return Fail(fmt::format("{} is not for CUDA {}", options.version, options.cuda),
                "leave out --cuda");
  }
  return cuda;
}

Result<ExitCode> List(const std::string& format) {
  std::vector<pjrt::Plugin> plugins = pjrt::ListPlugins();
  if (format == "json") {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const pjrt::Plugin& plugin : plugins) {
      list.push_back(
          {{"package", plugin.package}, {"version", plugin.version_text}, {"path", plugin.path}});
    }
    fmt::print("{}\n", list.dump(2));
    return ExitCode::kClean;
  }
  if (plugins.empty()) {
    fmt::print("no plugin in {}\n  to get one: eightfold plugins fetch 0.10.2\n",
               (pjrt::CacheFolder() / "plugins").string());
  }
  for (const pjrt::Plugin& plugin : plugins) {
    fmt::print("{:<28}  {}\n", plugin.Name(), plugin.path);
  }
  return ExitCode::kClean;
}

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

Result<ExitCode> Fetch(const FetchOptions& options) {
  const bool cpu = options.version == "cpu";
  const pjrt::PluginSpec spec = pjrt::ParsePluginSpec(options.version);
  EF_TRY(int cuda, CudaOf(options, spec));
  Progress progress(cpu ? "fetching the CPU plugin"
                        : fmt::format("fetching jax-cuda{}-pjrt {}", cuda, spec.version));
  auto show = [&progress](uint64_t done, std::optional<uint64_t> total) {
    if (!total || *total == 0) return progress.Update(-1, Megabytes(done));
    progress.Update(static_cast<double>(done) / static_cast<double>(*total),
                    fmt::format("{} of {}", Megabytes(done), Megabytes(*total)));
  };
  EF_TRY(pjrt::Plugin plugin,
         cpu ? pjrt::FetchCpuPlugin(show) : pjrt::FetchPlugin(spec.version, cuda, show));
  progress.Close();
  fmt::print("{}  {}\n", plugin.Name(), plugin.path);
  return ExitCode::kClean;
}

}  // namespace

void RegisterPlugins(CLI::App& app, Command& command) {
  CLI::App* verb =
      AddVerb(app, command, "plugins", "List the compiler plugins in the cache, or get one",
              {"eightfold plugins list", "eightfold plugins fetch 0.10.2 --cuda 13"});
  CLI::App* list =
      verb->add_subcommand("list", "List the cached plugins, newest first (the default)");
  auto format = std::make_shared<std::string>("table");
  AddFormatOption(*verb, *format);
  AddFormatOption(*list, *format);
  CLI::App* fetch =
      verb->add_subcommand("fetch", "Get a version of the plugin from PyPI, with pip");
  auto options = std::make_shared<FetchOptions>();
  fetch
      ->add_option("VERSION", options->version,
                   "a release of jax-cuda12-pjrt, such as 0.10.2, or cuda13-0.10.2; or cpu: the "
                   "plugin that runs "
                   "programs on this machine's processor")
      ->required();
  fetch
      ->add_option("--cuda", options->cuda,
                   "CUDA version that the plugin is built for: 12 (the default) or 13")
      ->type_name("N")
      ->check(CLI::IsMember({12, 13}).description(""));
  fetch->footer(
      "Examples:\n  eightfold plugins fetch 0.10.2\n  eightfold plugins fetch 0.12.0.1 --cuda "
      "13\n\n"
      "Exit codes: 0 it is in the cache, 2 bad usage or not to be had");
  verb->callback([fetch, options, format, &command] {
    if (fetch->parsed()) {
      command.run = [options] { return Fetch(*options); };
    } else {
      command.run = [format] { return List(*format); };
    }
  });
}

}  // namespace eightfold::cli
