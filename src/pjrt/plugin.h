#ifndef EIGHTFOLD_PJRT_PLUGIN_H_
#define EIGHTFOLD_PJRT_PLUGIN_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/plugin_version.h"

namespace eightfold::pjrt {

// A compiler plugin on disk.
struct Plugin {
  std::string package;       // "jax-cuda12-pjrt"; the file's name where the package is not known
  std::string version_text;  // "0.10.2"
  target::PluginVersion version;
  std::string path;  // of the shared library

  // "jax-cuda12-pjrt 0.10.2"
  std::string Name() const;
};

// A version as people write it: "0.10.2", "cuda13-0.10.2", "0.10.2+cuda13",
// "jax-cuda13-pjrt-0.10.2".
struct PluginSpec {
  std::string version;
  std::string cuda;  // empty: either, 12 preferred
};
PluginSpec ParsePluginSpec(std::string_view text);

// $EIGHTFOLD_CACHE, else $XDG_CACHE_HOME/eightfold, else ~/.cache/eightfold.
std::filesystem::path CacheFolder();

// The plugins in the cache, newest first; of one version, CUDA 12 before 13.
std::vector<Plugin> ListPlugins();

// `spec` is a version ("0.10.2"; "cuda13-0.10.2", "0.10.2+cuda13" or "jax-cuda13-pjrt-0.10.2"
// choose the CUDA version), the path of a plugin library, or empty for the newest in the cache. A
// library's version is read from the package metadata beside it; where there is none, the library
// is asked. The error lists what is cached and how to fetch.
Result<Plugin> FindPlugin(std::string_view spec);

// The plugin that runs programs on the CPU: the library that $EIGHTFOLD_CPU_PLUGIN names, else the
// one in the cache. It compiles for no GPU, so ListPlugins and FindPlugin do not know it. The error
// says how to fetch it.
Result<Plugin> FindCpuPlugin();

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PLUGIN_H_
