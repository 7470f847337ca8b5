#ifndef EIGHTFOLD_TARGET_PLUGIN_VERSION_H_
#define EIGHTFOLD_TARGET_PLUGIN_VERSION_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace eightfold::target {

// The release of a compiler plugin, e.g. 0.12.0.1. Missing parts count as 0; a suffix such as "rc1"
// or ".dev2026" is ignored.
struct PluginVersion {
  std::array<uint32_t, 4> parts{};

  auto operator<=>(const PluginVersion&) const = default;

  // Without the fourth part: {0, 12, 0}.
  std::array<int, 3> Release() const {
    return {static_cast<int>(parts[0]), static_cast<int>(parts[1]), static_cast<int>(parts[2])};
  }

  // The numbers at the front of `text`; all zero when it does not start with a digit.
  static PluginVersion Parse(std::string_view text);
  // At least three parts: "0.10.2", "0.12.0.1".
  std::string ToString() const;
};

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_PLUGIN_VERSION_H_
