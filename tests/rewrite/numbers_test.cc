// What the rewrite computes, in numbers: modules as they are against Expand(ConvGraph(module)),
// both run by XLA on this machine's CPU.
//
// Scales move behind the convolution, and that is all that changes: sum(s·x·w) becomes s·sum(x·w).
// With n products in a sum, each side is within (n + 2)·2^-24·sum|s·x·w| of the exact value, so
// they are within twice that of each other. Where the scales are powers of two and the sums of
// products are exact in f32, the two are equal to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "base/float_types.h"
#include "hlo/literal.h"
#include "hlo/proto/proto.h"
#include "modules.h"
#include "pjrt/buffer.h"
#include "pjrt/client.h"
#include "pjrt/execute.h"
#include "pjrt/fetch.h"
#include "rewrite/expand.h"

namespace eightfold::rewrite {
namespace {

using hlo::PrimitiveType;

template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().Format());
  return *std::move(result);
}

const pjrt::Client& Cpu() {
  static const pjrt::Client client = [] {
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    return Must(pjrt::Client::Create(Must(pjrt::FetchCpuPlugin(nullptr)), pjrt::Platform::kCpu));
  }();
  return client;
}

enum class Inputs {
  kExact,     // small integers, scales that are powers of two
  kAnyScale,  // any scales, and values up to the largest
  kSpecial,   // the first, with NaN and saturating values among them
};

uint8_t RandomF8(PrimitiveType type, Inputs inputs, std::mt19937& random) {
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

float RandomF32(bool is_scalar, Inputs inputs, std::mt19937& random) {
  if (inputs == Inputs::kAnyScale) {
    return std::uniform_real_distribution<float>(is_scalar ? 0.1f : -2.f, 2.f)(random);
  }
  if (is_scalar) return std::ldexp(1.f, static_cast<int>(random() % 7) - 3);
  if (inputs == Inputs::kSpecial && random() % 1024 == 0) return std::nanf("");
  return static_cast<float>(static_cast<int>(random() % 65) - 32) / 4;
}

std::vector<std::byte> Random(const pjrt::ArrayShape& shape, Inputs inputs, std::mt19937& random) {
  std::vector<std::byte> bytes(shape.bytes());
  for (size_t at = 0; at < bytes.size(); at += shape.element_bytes()) {
    if (hlo::IsF8(shape.type)) {
      bytes[at] = static_cast<std::byte>(RandomF8(shape.type, inputs, random));
    } else if (shape.type == PrimitiveType::kF32) {
      const float value = RandomF32(shape.dims.empty(), inputs, random);
      std::memcpy(&bytes[at], &value, sizeof value);
    } else {
      bytes[at] = static_cast<std::byte>(random() % 2);
    }
  }
  return bytes;
}

struct Output {
  pjrt::ArrayShape shape;
  std::vector<double> values;
};

std::vector<Output> Run(const hlo::Module& module,
                        const std::vector<std::vector<std::byte>>& data) {
  // With fast minima, NaN may be lost: the option of XLA, not of the rewrite.
  auto executable = Must(
      pjrt::LoadedExecutable::Compile(Cpu(), Must(hlo::WriteProto(module)),
                                      {.xla_flags = {{"xla_cpu_enable_fast_min_max", "false"}}}));
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
      uint32_t bits = 0;
      std::memcpy(&bits, &bytes[at], width);
      output.values.push_back(width == 4          ? std::bit_cast<float>(bits)
                              : format != nullptr ? DecodeFloat(*format, bits)
                                                  : bits);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// How far apart two results of a type may be; `sum` bounds the sums of absolute products.
double Tolerance(PrimitiveType type, double value, double sum) {
  double f32 = 2 * (9 * 64 + 8) * std::ldexp(1., -24) * std::max(sum, std::fabs(value));
  // Values on either side of a rounding boundary are one step of the narrow type apart.
  if (type == PrimitiveType::kF8E4M3FN) return f32 + std::fabs(value) / 8 + std::ldexp(1., -9);
  if (type == PrimitiveType::kF8E5M2) return f32 + std::fabs(value) / 4 + std::ldexp(1., -16);
  return f32;
}

// Both modules on the same inputs. `sum`: 0 where they must be equal to the bit. `saturates`: a
// plain conversion to FP8, which gives NaN for what is too large, may have become a saturating one.
void Compare(const hlo::Module& before, const hlo::Module& after, Inputs inputs, double sum,
             bool saturates = false) {
  std::mt19937 random(7);
  auto signature = Must(pjrt::ReadSignature(Must(hlo::WriteProto(before))));
  std::vector<std::vector<std::byte>> data;
  for (const auto& parameter : signature.parameters) {
    data.push_back(Random(parameter.shape, inputs, random));
  }
  const std::vector<Output> expected = Run(before, data), found = Run(after, data);
  ASSERT_EQ(expected.size(), found.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].shape, found[k].shape);
    size_t numbers = 0;
    for (size_t i = 0; i < expected[k].values.size(); ++i) {
      const double a = expected[k].values[i], b = found[k].values[i];
      if (saturates && std::isnan(a) && std::fabs(b) == 448) continue;
      ASSERT_EQ(std::isnan(a), std::isnan(b)) << "output " << k << ", element " << i;
      if (std::isnan(a)) continue;
      ++numbers;
      const double tolerance = sum == 0 ? 0 : Tolerance(expected[k].shape.type, a, sum);
      ASSERT_LE(std::fabs(a - b), tolerance)
          << "output " << k << ", element " << i << ": " << a << " and " << b;
    }
    // A comparison of nothing but NaN would prove nothing.
    EXPECT_TRUE(numbers > 0 || inputs == Inputs::kSpecial);
  }
}

// The largest sum of absolute products for WithPrelude's shapes and any epilogue of one scale.
constexpr double kLargestSum = 9. * 16 * 448 * 448 * 2 * 2 * 2;

void Check(const std::string& body, size_t ops) {
  SCOPED_TRACE(body);
  auto before = Parse(WithPrelude(body)), after = Parse(WithPrelude(body));
  ConvGraphResult result = Rewrite(*after, Options(Extent::kAll));
  ASSERT_FALSE(result.rewritten.empty());
  EXPECT_EQ(result.rewritten[0].ops.size(), ops);
  Must(Expand(*after));
  ASSERT_EQ(Count(*after, "__cudnn$"), 0);
  Compare(*before, *after, Inputs::kExact, 0);
  Compare(*before, *after, Inputs::kSpecial, 0);
  Compare(*before, *after, Inputs::kAnyScale, kLargestSum);
}

constexpr char kConv[] = "  c = $T convolution(cx, cw), CONV\n";
constexpr char kScaled[] =
    "  ba = f32[3,3,16,16] broadcast(a), dimensions={}\n"
    "  sx = $T multiply(bs, cx)\n  sw = f32[3,3,16,16] divide(cw, ba)\n"
    "  c = $T convolution(sx, sw), CONV\n";

TEST(NumbersTest, MovedScales) { Check(std::string(kScaled) + "  ROOT y = $T add(c, t)\n", 3); }

TEST(NumbersTest, EachOperation) {
  const std::string conv = kConv;
  Check(conv + "  ROOT y = $T add(t, c)\n", 1);
  Check(conv + "  ROOT y = $T multiply(bs, c)\n", 1);
  Check(conv + "  ROOT y = $T divide(c, bs)\n", 1);
  Check(conv + "  ROOT y = $T maximum(c, b0)\n", 1);
  Check(conv + "  ROOT y = $T clamp(b0, c, b6)\n", 2);
  Check(conv +
            "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
            "  e = $T exponential-minus-one(c)\n  ROOT y = $T select(p, c, e)\n",
        1);
  Check(conv +
            "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
            "  slope = f32[] constant(0.25)\n  bl = $T broadcast(slope), dimensions={}\n"
            "  e = $T multiply(c, bl)\n  ROOT y = $T select(p, c, e)\n",
        3);
  Check(conv + "  d = $T clamp(lo, c, hi)\n  ROOT y = f8e4m3fn[2,6,6,16] convert(d)\n", 1);
}

TEST(NumbersTest, AWholeLayer) {
  Check(std::string(kScaled) +
            "  u = $T add(c, t)\n  r = $T maximum(u, b0)\n"
            "  am = f32[] reduce(r, zero), dimensions={0,1,2,3}, to_apply=max\n"
            "  bb = $T broadcast(b), dimensions={}\n  q = $T divide(r, bb)\n"
            "  k = $T clamp(lo, q, hi)\n  f = f8e4m3fn[2,6,6,16] convert(k)\n"
            "  ROOT y = (f8e4m3fn[2,6,6,16], f32[]) tuple(f, am)\n",
        7);
}

std::unique_ptr<hlo::Module> Load(const std::string& name) {
  std::ifstream in(EIGHTFOLD_TESTDATA "/programs/" + name + ".pb", std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return Must(hlo::ReadProto(Source::FromBytes(name, bytes.str())));
}

// Programs that JAX made: one to three dimensions, strides, dilation, groups, both FP8 types,
// loops and branches.
TEST(NumbersTest, Programs) {
  for (const char* name :
       {"plain", "f8_out", "bf16_out", "e5m2", "stride2", "dilated", "grouped", "depthwise",
        "three_channels", "one_by_one", "one_d", "dequant_f32", "bias_relu_quantize",
        "scale_relu_quantize", "quantize_without_clamp", "cond"}) {
    SCOPED_TRACE(name);
    auto before = Load(name), after = Load(name);
    ConvGraphResult result = Rewrite(*after, Options(Extent::kAll));
    ASSERT_FALSE(result.rewritten.empty());
    Must(Expand(*after));
    // XLA's own rewrite has cuDNN round the convolution to FP8, which saturates.
    Compare(*before, *after, Inputs::kExact, 0, name == std::string("f8_out"));
  }
}

}  // namespace
}  // namespace eightfold::rewrite
