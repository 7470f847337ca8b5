#include "target/gpu.h"

#include <fmt/format.h>

#include <charconv>

#include "target/fields.h"
#include "target/text_format.h"

namespace eightfold::target {
namespace {

void WriteVersion(std::string& out, std::string_view field, const std::array<int64_t, 3>& version) {
  out += fmt::format("{} {{ major: {} minor: {} patch: {} }}\n", field, version[0], version[1],
                     version[2]);
}

}  // namespace

PluginVersion PluginVersion::Parse(std::string_view text) {
  PluginVersion version;
  for (uint32_t& part : version.parts) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc()) break;
    text.remove_prefix(end - text.data());
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return version;
}

std::string PluginVersion::ToString() const {
  std::string text = fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  if (parts[3] != 0) text += fmt::format(".{}", parts[3]);
  return text;
}

std::string Gpu::Architecture() const {
  return fmt::format("sm_{}{}", compute_capability_major, compute_capability_minor);
}

std::string WriteTargetConfig(const Gpu& gpu, const PluginVersion& version) {
  // What was seen to hold, release by release, is in tests/pjrt/plugin_test.cc.
  const bool knows_feature_extension = version >= PluginVersion{{0, 7, 2}};
  const bool knows_dnn_version = version >= PluginVersion{{0, 10, 0}};
  const bool knows_dnn_version_info = version < PluginVersion{{0, 12, 0}};
  std::string out = "gpu_device_info {\n";
  for (const DeviceField& field : kDeviceFields) {
    if (int64_t value = gpu.*field.member; value != 0) {
      out += fmt::format("  {}: {}\n", field.name, value);
    }
  }
  if (gpu.clock_rate_ghz != 0) out += fmt::format("  clock_rate_ghz: {}\n", gpu.clock_rate_ghz);
  out += fmt::format("  cuda_compute_capability {{ major: {} minor: {}{} }}\n",
                     gpu.compute_capability_major, gpu.compute_capability_minor,
                     gpu.accelerated_features && knows_feature_extension
                         ? " feature_extension: ACCELERATED_FEATURES"
                         : "");
  const auto& dnn = gpu.cudnn_version;
  if (knows_dnn_version && dnn[0] != 0) {
    out += fmt::format("  dnn_version: \"{}.{}.{}\"\n", dnn[0], dnn[1], dnn[2]);
  }
  out += gpu.extra_device_fields;
  out += "}\nplatform_name: \"CUDA\"\n";
  if (knows_dnn_version_info && dnn[0] != 0) WriteVersion(out, "dnn_version_info", dnn);
  if (gpu.runtime_version[0] != 0) WriteVersion(out, "runtime_version", gpu.runtime_version);
  out += fmt::format("device_description_str: \"{}\"\n", EscapeText(gpu.description));
  out += gpu.extra_fields;
  return out;
}

}  // namespace eightfold::target
