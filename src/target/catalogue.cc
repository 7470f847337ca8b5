#include "target/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "target/fields.h"

namespace eightfold::target {

// Generated from data/*.json at build time.
std::span<const std::string_view> CatalogueFiles();

namespace {

using nlohmann::json;

std::optional<double> Peak(const json& peaks, const char* type) {
  const json& value = peaks.at(type);
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

Gpu ReadGpu(std::string_view file) {
  json data = json::parse(file);
  Gpu gpu;
  gpu.name = data.at("name");
  gpu.title = data.at("title");
  gpu.description = data.at("description");
  gpu.source = data.at("source");
  const json& capability = data.at("compute_capability");
  gpu.compute_capability_major = capability.at("major");
  gpu.compute_capability_minor = capability.at("minor");
  gpu.accelerated_features = capability.at("accelerated_features");
  const json& device = data.at("device");
  for (const DeviceField& field : kDeviceFields) {
    gpu.*field.member = device.at(field.name).get<int64_t>();
  }
  gpu.clock_rate_ghz = device.at("clock_rate_ghz");
  gpu.cudnn_version = data.at("cudnn_version").get<std::array<int64_t, 3>>();
  gpu.runtime_version = data.at("runtime_version").get<std::array<int64_t, 3>>();
  const json& peaks = data.at("peak_dense_flops");
  gpu.peak = {Peak(peaks, "fp8"), Peak(peaks, "bf16"), Peak(peaks, "tf32"), Peak(peaks, "f32")};
  return gpu;
}

std::vector<Gpu> ReadCatalogue() {
  std::vector<Gpu> gpus;
  for (std::string_view file : CatalogueFiles()) {
    try {
      gpus.push_back(ReadGpu(file));
    } catch (const json::exception& error) {
      throw std::logic_error(fmt::format("src/target/data: {} in: {}", error.what(), file));
    }
  }
  return gpus;
}

std::string Canonical(std::string_view name) {
  std::string canonical;
  for (char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    canonical += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return canonical;
}

}  // namespace

std::span<const Gpu> All() {
  static const std::vector<Gpu> gpus = ReadCatalogue();
  return gpus;
}

Result<const Gpu*> Find(std::string_view name) {
  const std::string wanted = Canonical(name);
  std::vector<std::string_view> names;
  for (const Gpu& gpu : All()) {
    if (gpu.name == wanted) return &gpu;
    names.push_back(gpu.name);
  }
  std::string advice;
  if (std::string_view nearest = Nearest(wanted, names); !nearest.empty()) {
    advice = fmt::format("did you mean {}?\n", nearest);
  }
  advice += fmt::format(
      "known targets: {}\nany other GPU: --target FILE.txtpb (a text GpuTargetConfigProto)",
      fmt::join(names, ", "));
  return Fail(fmt::format("no target called {}", name), std::move(advice));
}

}  // namespace eightfold::target
