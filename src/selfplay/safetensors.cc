#include "selfplay/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/source.h"

namespace eightfold::selfplay {

using hlo::PrimitiveType;
using Json = nlohmann::json;  // finds names fast, where a file has many
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr size_t kSizeBytes = 8;                  // before the header
constexpr uint64_t kLargestHeader = 16ULL << 20;  // bytes: some 100,000 tensors
constexpr std::string_view kMetadata = "__metadata__";

struct NamedType {
  std::string_view name;
  PrimitiveType type;
};
constexpr NamedType kTypes[] = {
    {"BOOL", PrimitiveType::kPred},      {"U8", PrimitiveType::kU8},
    {"I8", PrimitiveType::kS8},          {"U16", PrimitiveType::kU16},
    {"I16", PrimitiveType::kS16},        {"U32", PrimitiveType::kU32},
    {"I32", PrimitiveType::kS32},        {"U64", PrimitiveType::kU64},
    {"I64", PrimitiveType::kS64},        {"F8_E4M3", PrimitiveType::kF8E4M3FN},
    {"F8_E5M2", PrimitiveType::kF8E5M2}, {"BF16", PrimitiveType::kBF16},
    {"F16", PrimitiveType::kF16},        {"F32", PrimitiveType::kF32},
    {"F64", PrimitiveType::kF64},
};

std::string_view TypeName(PrimitiveType type) {
  for (const NamedType& named : kTypes) {
    if (named.type == type) return named.name;
  }
  return {};
}

PrimitiveType FindType(std::string_view name) {
  for (const NamedType& named : kTypes) {
    if (named.name == name) return named.type;
  }
  return PrimitiveType::kInvalid;
}

// pred takes a byte.
size_t ElementBytes(PrimitiveType type) {
  return (static_cast<size_t>(hlo::BitWidth(type)) + 7) / 8;
}

// Nothing where there is no such size.
std::optional<uint64_t> Bytes(PrimitiveType type, std::span<const int64_t> dims) {
  uint64_t bytes = ElementBytes(type);
  for (int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return {};
  }
  return bytes;
}

void CheckThatAFileCanHold(const TensorFile& file) {
  std::set<std::string_view> names = {kMetadata};
  for (const Tensor& tensor : file.tensors) {
    std::string_view wrong;
    if (!names.insert(tensor.name).second) wrong = "is there twice";
    if (TypeName(tensor.type).empty()) wrong = "has a type that safetensors does not know";
    if (Bytes(tensor.type, tensor.dims) != tensor.bytes.size()) wrong = "has another size";
    if (!wrong.empty()) {
      throw std::logic_error(fmt::format("tensor \"{}\" {}", tensor.name, wrong));
    }
  }
}

// Reads one file.
class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<TensorFile> Decode() {
    EF_TRY(std::string_view header, Header());
    EF_TRY(Json json, Parse(header));
    TensorFile file;
    std::vector<Range> ranges;
    for (const auto& [key, value] : json.items()) {
      if (key == kMetadata) {
        EF_TRY(file.metadata, Metadata(value));
        continue;
      }
      EF_TRY(Range range, ReadEntry(key, value));
      ranges.push_back(std::move(range));
    }
    EF_CHECK_OK(CheckRanges(ranges));
    for (Range& range : ranges) {
      range.tensor.bytes = data_.substr(range.begin, range.end - range.begin);
      file.tensors.push_back(std::move(range.tensor));
    }
    return file;
  }

 private:
  // A tensor without its bytes, and where those are in the data.
  struct Range {
    Tensor tensor;
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  tl::unexpected<Error> Wrong(std::string what) const {
    Error error{.what = std::move(what), .next = "It is not a safetensors file, or damaged."};
    error.where.file = name_;
    return Fail(std::move(error));
  }
  tl::unexpected<Error> Wrong(const std::string& tensor, std::string_view what) const {
    return Wrong(fmt::format("tensor \"{}\": {}", tensor, what));
  }

  // Also finds the data.
  Result<std::string_view> Header() {
    if (bytes_.size() < kSizeBytes) return Wrong("too short for a header");
    uint64_t size = 0;
    for (size_t i = 0; i < kSizeBytes; ++i) {
      size |= uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
    if (size > kLargestHeader) {
      return Wrong(
          fmt::format("a header of {} bytes, more than {} are not read", size, kLargestHeader));
    }
    std::string_view rest = bytes_.substr(kSizeBytes);
    if (size > rest.size()) {
      return Wrong(fmt::format("a header of {} bytes where {} follow: the end is missing", size,
                               rest.size()));
    }
    data_ = rest.substr(size);
    return rest.substr(0, size);
  }

  Result<Json> Parse(std::string_view header) const {
    std::set<std::string> names;
    std::optional<std::string> twice;
    auto see = [&](int depth, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::key && depth == 1) {
        auto name = value.get<std::string>();
        if (!names.insert(name).second) twice = name;
      }
      return true;
    };
    Json json = Json::parse(header, see, /*allow_exceptions=*/false);
    if (!json.is_object()) return Wrong("the header is not a JSON object");
    if (twice) return Wrong(*twice, "is there twice");
    return json;
  }

  Result<std::map<std::string, std::string>> Metadata(const Json& json) const {
    std::map<std::string, std::string> metadata;
    if (!json.is_object()) return Wrong("__metadata__ is not a JSON object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) return Wrong(fmt::format("__metadata__: \"{}\" is no text", key));
      metadata[key] = value.get<std::string>();
    }
    return metadata;
  }

  Result<Range> ReadEntry(const std::string& name, const Json& json) const {
    if (!json.is_object()) return Wrong(name, "not described by a JSON object");
    Range range{.tensor = {.name = name}};
    for (const auto& [key, value] : json.items()) {
      if (key == "dtype" && value.is_string()) {
        range.tensor.type = FindType(value.get_ref<const std::string&>());
        if (range.tensor.type == PrimitiveType::kInvalid) {
          return Wrong(name, fmt::format("unknown dtype \"{}\"", value.get<std::string>()));
        }
      } else if (key == "shape" && IsCounts(value)) {
        range.tensor.dims = value.get<std::vector<int64_t>>();
      } else if (key == "data_offsets" && IsCounts(value) && value.size() == 2) {
        range.begin = value[0].get<uint64_t>();
        range.end = value[1].get<uint64_t>();
      } else {
        return Wrong(name, fmt::format("\"{}\" is unknown or not what it should be", key));
      }
    }
    if (json.size() != 3) return Wrong(name, "needs dtype, shape and data_offsets");
    return range;
  }

  // Non-negative integers that an int64_t holds.
  static bool IsCounts(const Json& json) {
    return json.is_array() && std::ranges::all_of(json, [](const Json& value) {
             return value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX;
           });
  }

  // Sorts them by their data, which they have to share out without gaps or overlaps.
  Result<void> CheckRanges(std::vector<Range>& ranges) const {
    std::ranges::stable_sort(ranges, [](const Range& a, const Range& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t end = 0;
    for (const Range& range : ranges) {
      const Tensor& tensor = range.tensor;
      if (range.end > data_.size() || range.begin > range.end) {
        return Wrong(tensor.name, fmt::format("data at {} to {}, of {} bytes", range.begin,
                                              range.end, data_.size()));
      }
      if (range.begin != end) {
        return Wrong(tensor.name, range.begin < end ? "its data overlaps that of another tensor"
                                                    : "there is a gap before its data");
      }
      if (Bytes(tensor.type, tensor.dims) != range.end - range.begin) {
        return Wrong(tensor.name,
                     fmt::format("{} does not have {} bytes", ToString(tensor.type, tensor.dims),
                                 range.end - range.begin));
      }
      end = range.end;
    }
    if (end == data_.size()) return {};
    return Wrong(fmt::format("{} bytes at the end that are no tensor's", data_.size() - end));
  }

  std::string_view bytes_;
  const std::string& name_;
  std::string_view data_;
};

}  // namespace

const Tensor* FindTensor(const TensorFile& file, std::string_view name) {
  auto it = std::ranges::find(file.tensors, name, &Tensor::name);
  return it == file.tensors.end() ? nullptr : &*it;
}

std::string ToString(PrimitiveType type, std::span<const int64_t> dims) {
  return fmt::format("{}[{}]", hlo::Name(type), fmt::join(dims, ","));
}

std::string EncodeTensors(const TensorFile& file) {
  CheckThatAFileCanHold(file);
  std::vector<size_t> order(file.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t i) { return ElementBytes(file.tensors[i].type); });
  std::vector<uint64_t> begins(order.size());
  std::string data;
  for (size_t i : order) {
    begins[i] = data.size();
    data += file.tensors[i].bytes;
  }
  OrderedJson header = OrderedJson::object();
  if (!file.metadata.empty()) header[std::string(kMetadata)] = file.metadata;
  for (size_t i = 0; i < begins.size(); ++i) {
    const Tensor& tensor = file.tensors[i];
    header[tensor.name] = {{"dtype", TypeName(tensor.type)},
                           {"shape", tensor.dims},
                           {"data_offsets", {begins[i], begins[i] + tensor.bytes.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  }
  return bytes + text + data;
}

Result<TensorFile> DecodeTensors(std::string_view bytes, const std::string& name) {
  return Decoder(bytes, name).Decode();
}

Result<TensorFile> ReadTensors(const std::string& path) {
  EF_TRY(auto source, Source::Open(path));
  return DecodeTensors(source->bytes(), path);
}

Result<void> WriteTensors(const std::string& path, const TensorFile& file) {
  return WriteFile(path, EncodeTensors(file));
}

}  // namespace eightfold::selfplay
