#ifndef EIGHTFOLD_TESTS_REWRITE_NUMBERS_H_
#define EIGHTFOLD_TESTS_REWRITE_NUMBERS_H_

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/float_types.h"
#include "cpu.h"
#include "hlo/literal.h"
#include "hlo/proto/proto.h"
#include "pjrt/buffer.h"
#include "pjrt/execute.h"

// Running modules on random inputs, by XLA on this machine's CPU.
namespace eightfold::rewrite {

using hlo::PrimitiveType;

enum class Inputs {
  kExact,     // small integers, scales that are powers of two
  kAnyScale,  // any scales, and values up to the largest
  kSpecial,   // the first, with NaN and saturating values among them
};

inline uint8_t RandomF8(PrimitiveType type, Inputs inputs, std::mt19937& random) {
  const FloatFormat& format = *hlo::FloatFormatOf(type);
  if (inputs == Inputs::kSpecial && random() % 1024 == 0) {
    return static_cast<uint8_t>(random() % 2 != 0 ? format.largest() : 0x7f);
  }
  if (inputs == Inputs::kAnyScale) {
    const double largest = DecodeFloat(format, format.largest());
    std::uniform_real_distribution<double> uniform(-largest, largest);
    return static_cast<uint8_t>(EncodeFloat(format, uniform(random)));
  }
  return static_cast<uint8_t>(EncodeFloat(format, static_cast<int>(random() % 9) - 4));
}

inline float RandomF32(bool is_scalar, Inputs inputs, std::mt19937& random) {
  if (inputs == Inputs::kAnyScale) {
    return std::uniform_real_distribution<float>(is_scalar ? 0.1f : -2.f, 2.f)(random);
  }
  if (is_scalar) return std::ldexp(1.f, static_cast<int>(random() % 7) - 3);
  if (inputs == Inputs::kSpecial && random() % 1024 == 0) return std::nanf("");
  return static_cast<float>(static_cast<int>(random() % 65) - 32) / 4;
}

// Random contents of a parameter: floats as above, 0 and 1 of other types.
inline std::vector<std::byte> Random(const pjrt::ArrayShape& shape, Inputs inputs,
                                     std::mt19937& random) {
  std::vector<std::byte> bytes(shape.bytes());
  const size_t width = shape.element_bytes();
  const FloatFormat* format = hlo::FloatFormatOf(shape.type);
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t bits = 0;
    if (hlo::IsF8(shape.type)) {
      bits = RandomF8(shape.type, inputs, random);
    } else if (format != nullptr) {
      bits = EncodeFloat(*format, RandomF32(shape.dims.empty(), inputs, random));
    } else {
      bits = random() % 2;
    }
    std::memcpy(&bytes[at], &bits, width);
  }
  return bytes;
}

using Arguments = std::vector<std::vector<std::byte>>;

inline Arguments RandomArguments(const hlo::Module& module, Inputs inputs, uint32_t seed) {
  std::mt19937 random(seed);
  Arguments arguments;
  const auto signature = Must(pjrt::ReadSignature(Must(hlo::WriteProto(module))));
  for (const auto& parameter : signature.parameters) {
    arguments.push_back(Random(parameter.shape, inputs, random));
  }
  return arguments;
}

struct Output {
  pjrt::ArrayShape shape;
  std::vector<double> values;
};

// NaN may be lost with fast minima, and roundings between operations with excess precision: both
// are options of XLA, and would hide what the rewrite does.
inline std::vector<Output> Execute(const hlo::Module& module, const Arguments& data) {
  auto executable = Must(
      pjrt::LoadedExecutable::Compile(Cpu(), Must(hlo::WriteProto(module)),
                                      {.xla_flags = {{"xla_cpu_enable_fast_min_max", "false"},
                                                     {"xla_allow_excess_precision", "false"}}}));
  std::vector<pjrt::Buffer> arguments;
  for (size_t i = 0; i < data.size(); ++i) {
    arguments.push_back(
        Must(pjrt::Buffer::FromHost(Cpu(), executable.signature().parameters[i].shape, data[i])));
  }
  std::vector<Output> outputs;
  for (const pjrt::Buffer& buffer : Must(executable.Execute(arguments))) {
    Output output{buffer.shape(), {}};
    const auto bytes = Must(buffer.ToHost<uint8_t>());
    const FloatFormat* format = hlo::FloatFormatOf(output.shape.type);
    const size_t width = output.shape.element_bytes();
    for (size_t at = 0; at < bytes.size(); at += width) {
      uint64_t bits = 0;
      std::memcpy(&bits, &bytes[at], width);
      output.values.push_back(format != nullptr ? DecodeFloat(*format, bits)
                                                : static_cast<double>(bits));
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_TESTS_REWRITE_NUMBERS_H_
