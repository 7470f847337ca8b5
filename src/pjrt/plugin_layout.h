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

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PLUGIN_LAYOUT_H_
