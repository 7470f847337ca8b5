#include "selfplay/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string_view>

#include "base/float_types.h"
#include "hlo/literal.h"
#include "selfplay/rng.h"

namespace eightfold::selfplay {

using hlo::PrimitiveType;

namespace {

NetworkOptions InF32(NetworkOptions options) {
  options.precision = Precision::kF32;
  return options;
}

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Tensor Make(const ParameterInfo& info, std::span<const float> values) {
  Tensor tensor{.name = info.name, .type = info.type, .dims = info.dims};
  const FloatFormat& format = *hlo::FloatFormatOf(info.type);
  for (float value : values) {
    uint64_t bits = EncodeFloat(format, value);
    for (int bit = 0; bit < format.bits(); bit += 8) {
      tensor.bytes += static_cast<char>(bits >> bit);
    }
  }
  return tensor;
}

int64_t Product(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

// The standard normal number that `key` has at `index`, by Box and Muller.
double Normal(Key key, uint64_t index) {
  auto [first, second] =
      Threefry(key, {static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(index)});
  auto uniform = [](uint32_t bits) { return (bits + 0.5) / 4294967296.0; };
  return std::sqrt(-2 * std::log(uniform(first))) *
         std::cos(2 * std::numbers::pi * uniform(second));
}

float LargestMagnitude(std::span<const float> values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Numbers up to `largest` / this are numbers up to 448. Any scale will do for zeros.
float ScaleFor(float largest) {
  return largest > 0 ? std::max(largest / kLargestF8, std::numeric_limits<float>::min()) : 1;
}

float LargestInput(std::span<const float> all, size_t convolution) {
  return all.size() == 1 ? all[0] : all[convolution];
}

// "" unless the numbers of a parameter cannot be any: what is wrong with them.
std::string_view WrongNumbers(const Tensor& tensor) {
  const FloatFormat& format = *hlo::FloatFormatOf(tensor.type);
  const auto size = static_cast<size_t>(format.bits()) / 8;
  const bool is_scale = tensor.name.ends_with("_scale");
  for (size_t at = 0; at < tensor.bytes.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, &tensor.bytes[at], size);
    const double value = DecodeFloat(format, bits);
    if (!std::isfinite(value)) return "has a number that is not finite";
    if (is_scale && value <= 0) return "is a scale, and not positive";
  }
  return "";
}

// Errors unless all tensors of `file` are those of `infos`, in any order.
Result<Parameters> InOrder(const std::vector<ParameterInfo>& infos, TensorFile file,
                           const std::string& path) {
  auto wrong = [&](const std::string& name, std::string_view what) {
    Error error{.what = fmt::format("tensor {:?} {}", name, what),
                .next =
                    "These are the parameters of another network: compare game, width, blocks "
                    "and precision."};
    error.where.file = path;
    return Fail(std::move(error));
  };
  std::map<std::string, Tensor> found;
  for (Tensor& tensor : file.tensors) found.emplace(tensor.name, std::move(tensor));
  Parameters parameters;
  for (const ParameterInfo& info : infos) {
    auto it = found.find(info.name);
    if (it == found.end()) return wrong(info.name, "is missing");
    const Tensor& tensor = it->second;
    if (tensor.type != info.type || tensor.dims != info.dims) {
      return wrong(info.name,
                   fmt::format("is {}, the network has {}", ToString(tensor.type, tensor.dims),
                               ToString(info.type, info.dims)));
    }
    if (std::string_view what = WrongNumbers(tensor); !what.empty()) {
      Error error{.what = fmt::format("tensor {:?} {}", info.name, what)};
      error.where.file = path;
      return Fail(std::move(error));
    }
    parameters.push_back(std::move(it->second));
    found.erase(it);
  }
  if (!found.empty()) return wrong(found.begin()->first, "is none of the network's");
  return parameters;
}

}  // namespace

Parameters RandomParameters(const NetworkOptions& options, uint64_t seed) {
  Parameters parameters;
  for (const ParameterInfo& info : NetworkParameters(InF32(options))) {
    Key key = Threefry(KeyOf(seed), {0, static_cast<uint32_t>(parameters.size())});
    auto size = static_cast<uint64_t>(Product(info.dims));
    std::vector<float> values(size);
    if (info.dims.size() > 1) {  // not a bias
      bool last_of_block = info.name.ends_with(".conv1.weight");
      auto inputs = static_cast<double>(static_cast<int64_t>(size) / info.dims.back());
      double deviation =
          std::sqrt(2 / inputs / static_cast<double>(last_of_block ? options.blocks : 1));
      for (uint64_t i = 0; i < size; ++i) {
        values[i] = static_cast<float>(deviation * Normal(key, i));
      }
    }
    parameters.push_back(Make(info, values));
  }
  return parameters;
}

Parameters ToPrecision(const NetworkOptions& options, const Parameters& f32,
                       std::span<const float> largest_inputs) {
  auto convolutions = static_cast<size_t>(2 * options.blocks);
  bool is_fp8 = options.precision == Precision::kFp8;
  if (is_fp8 && largest_inputs.size() != 1 && largest_inputs.size() != convolutions) {
    throw std::logic_error("parameters: one largest input per convolution, or one");
  }
  std::map<std::string, Tensor> given;
  for (const Tensor& tensor : f32) given.emplace(tensor.name, tensor);
  Parameters parameters;
  size_t convolution = 0;
  float weight_scale = 1;
  for (const ParameterInfo& info : NetworkParameters(options)) {
    if (info.name.ends_with(".weight_scale")) {
      parameters.push_back(Make(info, {&weight_scale, 1}));
    } else if (info.name.ends_with(".input_scale")) {
      float scale = ScaleFor(LargestInput(largest_inputs, convolution++));
      parameters.push_back(Make(info, {&scale, 1}));
    } else {
      std::vector<float> values = Floats(given.at(info.name));
      if (info.type == PrimitiveType::kF8E4M3FN) {
        weight_scale = ScaleFor(LargestMagnitude(values));
        for (float& value : values)
          value = std::clamp(value / weight_scale, -kLargestF8, kLargestF8);
      }
      parameters.push_back(Make(info, values));
    }
  }
  return parameters;
}

Result<Parameters> ReadParameters(const std::string& path, const NetworkOptions& options) {
  EF_TRY(TensorFile file, ReadTensors(path));
  return InOrder(NetworkParameters(options), std::move(file), path);
}

Result<GivenParameters> ReadParametersOrF32(const std::string& path,
                                            const NetworkOptions& options) {
  EF_TRY(TensorFile file, ReadTensors(path));
  const bool in_f32 = std::ranges::all_of(
      file.tensors, [](const Tensor& tensor) { return tensor.type == PrimitiveType::kF32; });
  EF_TRY(Parameters parameters,
         InOrder(NetworkParameters(in_f32 ? InF32(options) : options), std::move(file), path));
  return GivenParameters{.in_f32 = in_f32, .parameters = std::move(parameters)};
}

Result<void> WriteParameters(const std::string& path, const Parameters& parameters) {
  return WriteTensors(path, {.tensors = parameters});
}

}  // namespace eightfold::selfplay
