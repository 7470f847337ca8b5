#include "pjrt/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "pjrt/describe.h"
#include "pjrt/job.h"
#include "pjrt/plugin_layout.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;

bool NewestFirst(const Plugin& a, const Plugin& b) {
  if (a.version != b.version) return a.version > b.version;
  if (a.package != b.package) return a.package < b.package;
  return a.version_text > b.version_text;
}

// The value of `field` in the metadata of a Python package.
std::string MetadataField(const std::string& metadata, std::string_view field) {
  std::istringstream lines(metadata);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.starts_with(field) && std::string_view(line).substr(field.size(), 2) == ": ") {
      return line.substr(field.size() + 2);
    }
  }
  return "";
}

// Reads the metadata of the package that installed `library`: of FOLDER/jax_plugins/xla_cuda12/*.so
// it is FOLDER/jax_cuda12_pjrt-*.dist-info/METADATA.
std::optional<Plugin> FromMetadata(const fs::path& library) {
  const std::string kind = library.parent_path().filename().string();  // xla_cuda12
  if (!kind.starts_with("xla_")) return std::nullopt;
  const std::string prefix = fmt::format("jax_{}_pjrt-", kind.substr(4));
  std::error_code error;
  const fs::path site = library.parent_path().parent_path().parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(site, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".dist-info")) continue;
    const std::string metadata = ReadFile(entry.path() / "METADATA").value_or("");
    Plugin plugin;
    plugin.package = MetadataField(metadata, "Name");
    plugin.version_text = MetadataField(metadata, "Version");
    plugin.version = target::PluginVersion::Parse(plugin.version_text);
    plugin.path = library.string();
    if (!plugin.package.empty() && !plugin.version_text.empty()) return plugin;
  }
  return std::nullopt;
}

Result<Plugin> FromPath(const std::string& spec) {
  std::error_code error;
  const fs::path library = fs::absolute(spec, error).lexically_normal();
  if (!fs::is_regular_file(library, error)) {
    return Fail(fmt::format("no such plugin library: {}", spec));
  }
  if (std::optional<Plugin> plugin = FromMetadata(library)) return *std::move(plugin);
  return DescribeLibrary(library.string());
}

std::string Advice(const std::vector<Plugin>& cached, const PluginSpec& wanted) {
  std::string advice;
  if (cached.empty()) {
    advice = fmt::format("no plugin is cached in {}\n", (CacheFolder() / "plugins").string());
  } else {
    advice = "cached:";
    for (const Plugin& plugin : cached) advice += fmt::format(" {},", plugin.Name());
    advice.back() = '\n';
  }
  advice += fmt::format("to get it: eightfold plugins fetch {}",
                        wanted.version.empty() ? "0.10.2" : wanted.version);
  if (!wanted.cuda.empty()) advice += fmt::format(" --cuda {}", wanted.cuda);
  return advice;
}

}  // namespace

std::string Plugin::Name() const {
  return version_text.empty() ? package : fmt::format("{} {}", package, version_text);
}

PluginSpec ParsePluginSpec(std::string_view spec) {
  PluginSpec wanted;
  const size_t cuda = spec.find("cuda");
  if (cuda == std::string_view::npos) {
    wanted.version = spec;
    return wanted;
  }
  size_t end = cuda + 4;
  while (end < spec.size() && spec[end] >= '0' && spec[end] <= '9') ++end;
  wanted.cuda = spec.substr(cuda + 4, end - cuda - 4);
  std::string_view rest = spec.substr(0, cuda);
  if (rest.empty() || rest == "jax-") rest = spec.substr(end);
  if (rest.starts_with("-pjrt")) rest.remove_prefix(5);
  while (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  while (!rest.empty() && (rest.back() == '-' || rest.back() == '+')) rest.remove_suffix(1);
  wanted.version = rest;
  return wanted;
}

fs::path CacheFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string chosen = variable("EIGHTFOLD_CACHE"); !chosen.empty()) return chosen;
  if (std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty())
    return fs::path(xdg) / "eightfold";
  return fs::path(variable("HOME")) / ".cache" / "eightfold";
}

std::vector<Plugin> ListPlugins() {
  std::vector<Plugin> plugins;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(CacheFolder() / "plugins", error)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    const std::optional<fs::path> library = LibraryIn(entry.path());
    if (!library) continue;
    if (std::optional<Plugin> plugin = FromMetadata(*library))
      plugins.push_back(*std::move(plugin));
  }
  std::sort(plugins.begin(), plugins.end(), NewestFirst);
  return plugins;
}

Result<Plugin> FindPlugin(std::string_view spec) {
  if (spec.find('/') != std::string_view::npos || spec.ends_with(".so")) {
    return FromPath(std::string(spec));
  }
  const std::vector<Plugin> cached = ListPlugins();
  const PluginSpec wanted = ParsePluginSpec(spec);
  for (const Plugin& plugin : cached) {
    if (!wanted.version.empty() && plugin.version_text != wanted.version) continue;
    if (!wanted.cuda.empty() && plugin.package != PackageName(wanted.cuda)) continue;
    return plugin;
  }
  if (spec.empty()) return Fail("no compiler plugin is cached", Advice(cached, wanted));
  return Fail(fmt::format("plugin {} is not cached", spec), Advice(cached, wanted));
}

Result<Plugin> FindCpuPlugin() {
  Plugin plugin{.package = kCpuPackage, .version_text = kCpuVersion};
  plugin.version = target::PluginVersion::Parse(kCpuVersion);
  if (const char* chosen = std::getenv("EIGHTFOLD_CPU_PLUGIN");
      chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    if (!fs::is_regular_file(chosen, error)) {
      return Fail(fmt::format("no such plugin library: {}", chosen),
                  "EIGHTFOLD_CPU_PLUGIN names it");
    }
    plugin.package = fs::path(chosen).filename().string();
    plugin.version_text.clear();
    plugin.version = {};
    plugin.path = fs::absolute(chosen, error).lexically_normal().string();
    return plugin;
  }
  const fs::path folder = CacheFolder() / "plugins" / CacheName(kCpuPackage, kCpuVersion);
  const std::optional<fs::path> library = CpuLibraryIn(folder);
  if (!library) {
    return Fail(fmt::format("the plugin that runs programs on the CPU is not in {}",
                            folder.parent_path().string()),
                "to get it: eightfold plugins fetch cpu");
  }
  plugin.path = library->string();
  return plugin;
}

}  // namespace eightfold::pjrt
