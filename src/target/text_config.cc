#include "target/text_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "target/fields.h"
#include "target/text_format.h"

namespace eightfold::target {
namespace {

using Kind = TextField::Kind;

std::optional<int64_t> IntegerOf(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class ConfigReader {
 public:
  explicit ConfigReader(const Source& source) : source_(source) {}

  Result<Gpu> Read();

 private:
  Result<void> ReadTop(const TextField& field);
  Result<void> ReadDevice(const TextField& field);
  Result<void> ReadDeviceField(const TextField& field);
  Result<void> ReadCapability(const TextField& field);
  Result<void> ReadVersion(const TextField& field, std::array<int64_t, 3>& version);
  Result<void> ReadDnnVersion(const TextField& field);
  Result<int64_t> Integer(const TextField& field, int64_t limit) const;
  Result<double> Positive(const TextField& field) const;
  Result<void> Expect(const TextField& field, Kind kind, std::string_view what) const;
  // No field that we read may be given twice.
  Result<void> Once(const std::vector<TextField>& fields) const;

  const Source& source_;
  Gpu gpu_;
};

Result<void> ConfigReader::Expect(const TextField& field, Kind kind, std::string_view what) const {
  if (field.kind == kind) return {};
  return FailAt(source_, field.name, fmt::format("{} must be {}", field.name, what));
}

Result<int64_t> ConfigReader::Integer(const TextField& field, int64_t limit) const {
  EF_CHECK_OK(Expect(field, Kind::kNumber, "a whole number"));
  std::optional<int64_t> value = IntegerOf(field.value);
  if (!value || *value < 0 || *value > limit) {
    return FailAt(source_, field.value,
                  fmt::format("{} must be a whole number from 0 to {}", field.name, limit));
  }
  return *value;
}

Result<double> ConfigReader::Positive(const TextField& field) const {
  EF_CHECK_OK(Expect(field, Kind::kNumber, "a number"));
  std::string_view text = field.value;
  if (text.ends_with('f') || text.ends_with('F')) text.remove_suffix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0) {
    return FailAt(source_, field.value, fmt::format("{} must be a positive number", field.name));
  }
  return value;
}

Result<void> ConfigReader::Once(const std::vector<TextField>& fields) const {
  static constexpr std::string_view kRepeated[] = {"autotune_results", "rate_infos"};
  std::set<std::string_view> seen;
  for (const TextField& field : fields) {
    const bool repeated =
        std::find(std::begin(kRepeated), std::end(kRepeated), field.name) != std::end(kRepeated);
    if (!seen.insert(field.name).second && !repeated) {
      return FailAt(source_, field.name, fmt::format("{} is given twice", field.name));
    }
  }
  return {};
}

Result<void> ConfigReader::ReadVersion(const TextField& field, std::array<int64_t, 3>& version) {
  EF_CHECK_OK(Expect(field, Kind::kMessage, "a message { major … minor … patch … }"));
  EF_CHECK_OK(Once(field.fields));
  static constexpr std::string_view kParts[] = {"major", "minor", "patch"};
  std::array<int64_t, 3> read{};
  for (const TextField& part : field.fields) {
    const auto* at = std::find(std::begin(kParts), std::end(kParts), part.name);
    if (at == std::end(kParts)) {
      return FailAt(source_, part.name, fmt::format("{} has no field {}", field.name, part.name));
    }
    EF_TRY(read[at - std::begin(kParts)], Integer(part, kInt32));
  }
  version = read;
  return {};
}

Result<void> ConfigReader::ReadDnnVersion(const TextField& field) {
  EF_CHECK_OK(Expect(field, Kind::kString, "a string such as \"9.10.0\""));
  PluginVersion version = PluginVersion::Parse(field.string);
  if (version.parts[0] == 0 ||
      *std::max_element(version.parts.begin(), version.parts.end()) > kInt32) {
    return FailAt(source_, field.text, "dnn_version must look like \"9.10.0\"");
  }
  gpu_.cudnn_version = {version.parts[0], version.parts[1], version.parts[2]};
  return {};
}

Result<void> ConfigReader::ReadCapability(const TextField& field) {
  EF_CHECK_OK(Expect(field, Kind::kMessage, "a message { major … minor … }"));
  EF_CHECK_OK(Once(field.fields));
  for (const TextField& part : field.fields) {
    if (part.name == "major") {
      EF_TRY(gpu_.compute_capability_major, Integer(part, 99));
    } else if (part.name == "minor") {
      EF_TRY(gpu_.compute_capability_minor, Integer(part, 9));
    } else if (part.name == "feature_extension") {
      gpu_.accelerated_features = part.value == "ACCELERATED_FEATURES" || part.value == "2";
    } else {
      return FailAt(source_, part.name, fmt::format("{} has no field {}", field.name, part.name));
    }
  }
  return {};
}

Result<void> ConfigReader::ReadDeviceField(const TextField& field) {
  for (const DeviceField& known : kDeviceFields) {
    if (known.name != field.name) continue;
    EF_TRY(gpu_.*known.member, Integer(field, known.limit));
    return {};
  }
  if (field.name == "clock_rate_ghz") {
    EF_TRY(gpu_.clock_rate_ghz, Positive(field));
    return {};
  }
  if (field.name == "cuda_compute_capability") return ReadCapability(field);
  if (field.name == "dnn_version") return ReadDnnVersion(field);
  gpu_.extra_device_fields += fmt::format("  {}\n", field.text);
  return {};
}

Result<void> ConfigReader::ReadDevice(const TextField& field) {
  EF_CHECK_OK(Expect(field, Kind::kMessage, "a message { … }"));
  EF_CHECK_OK(Once(field.fields));
  for (const TextField& device_field : field.fields) EF_CHECK_OK(ReadDeviceField(device_field));
  if (gpu_.compute_capability_major == 0) {
    return FailAt(source_, field.name,
                  "gpu_device_info has no cuda_compute_capability { major … }");
  }
  if (gpu_.core_count == 0) {
    return FailAt(source_, field.name, "gpu_device_info has no core_count");
  }
  return {};
}

Result<void> ConfigReader::ReadTop(const TextField& field) {
  if (field.name == "gpu_device_info") return ReadDevice(field);
  if (field.name == "runtime_version") return ReadVersion(field, gpu_.runtime_version);
  if (field.name == "dnn_version_info") {
    // Where both are given, dnn_version is the newer field and wins.
    if (gpu_.cudnn_version[0] != 0) return {};
    return ReadVersion(field, gpu_.cudnn_version);
  }
  if (field.name == "device_description_str") {
    EF_CHECK_OK(Expect(field, Kind::kString, "a string"));
    gpu_.description = field.string;
    return {};
  }
  if (field.name == "platform_name") {
    EF_CHECK_OK(Expect(field, Kind::kString, "a string"));
    if (field.string == "CUDA") return {};
    return FailAt(source_, field.text,
                  fmt::format("platform_name is {}; only CUDA is known", field.string));
  }
  gpu_.extra_fields += fmt::format("{}\n", field.text);
  return {};
}

Result<Gpu> ConfigReader::Read() {
  EF_TRY(std::vector<TextField> fields, ParseTextFormat(source_));
  EF_CHECK_OK(Once(fields));
  for (const TextField& field : fields) EF_CHECK_OK(ReadTop(field));
  if (gpu_.compute_capability_major == 0) {
    return FailAt(source_, source_.bytes().substr(0, 0),
                  "this is not a target config: it has no gpu_device_info",
                  "a target config is a text-format GpuTargetConfigProto");
  }
  gpu_.name = source_.name();
  gpu_.title = gpu_.description.empty() ? source_.name() : gpu_.description;
  return std::move(gpu_);
}

}  // namespace

Result<Gpu> ParseTargetConfig(const std::shared_ptr<const Source>& source) {
  return ConfigReader(*source).Read();
}

}  // namespace eightfold::target
