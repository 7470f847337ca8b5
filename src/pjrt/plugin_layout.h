#ifndef EIGHTFOLD_PJRT_PLUGIN_LAYOUT_H_
#define EIGHTFOLD_PJRT_PLUGIN_LAYOUT_H_

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace eightfold::pjrt {

// How the wheels on PyPI are called and laid out.
inline std::string PackageName(std::string_view cuda) {
  return fmt::format("jax-cuda{}-pjrt", cuda);
}

// The folder of a version in the cache.
inline std::string CacheName(std::string_view package, std::string_view version) {
  return fmt::format("{}-{}", package, version);
}

// The plugin library of an unpacked wheel: jax_plugins/xla_cuda*/xla_cuda_plugin.so.
inline std::optional<std::filesystem::path> LibraryIn(const std::filesystem::path& unpacked) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(unpacked / "jax_plugins", error)) {
    fs::path library = entry.path() / "xla_cuda_plugin.so";
    if (fs::is_regular_file(library, error)) return library;
  }
  return std::nullopt;
}

// The plugin that runs programs on the CPU: a third-party upload, so its content is pinned.
inline constexpr char kCpuPackage[] = "lammps-jax-pjrt-cpu";
inline constexpr char kCpuVersion[] = "0.11.2";
inline constexpr char kCpuSha256[] =
    "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1";

inline std::optional<std::filesystem::path> CpuLibraryIn(const std::filesystem::path& unpacked) {
  std::error_code error;
  std::filesystem::path library = unpacked / "lammps_jax_pjrt_cpu" / "pjrt_c_api_cpu_plugin.so";
  if (std::filesystem::is_regular_file(library, error)) return library;
  return std::nullopt;
}

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PLUGIN_LAYOUT_H_
