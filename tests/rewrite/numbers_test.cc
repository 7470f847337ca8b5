// What the rewrite computes, in numbers: modules as they are against Expand(ConvGraph(module)),
// both run by XLA on this machine's CPU.
//
// Scales move behind the convolution, and that is all that changes: sum(s·x·w) becomes s·sum(x·w).
// With n products in a sum, u = 2^-24 and A = sum|s·x·w|: before, a product has at most three
// roundings (each operand by its scale, then the two) and a sum n - 1; after, products are exact
// (two FP8 values make 8 bits), and there are n - 1 and two roundings by the scales. So the two are
// within (2·n + 3)·u·A of each other, to first order; what follows multiplies that by its gain and
// adds a rounding of its own. Where the scales are powers of two and the sums of products are exact
// in f32, the two are equal to the bit.
#include "numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "modules.h"
#include "rewrite/expand.h"

namespace eightfold::rewrite {
namespace {

// sum|s·x·w| of each element of the module's one convolution: the convolution of absolute values.
std::vector<double> Magnitudes(const std::string& text, const Arguments& data) {
  auto module = Parse(text);
  hlo::Computation& entry = *module->entry;
  std::vector<hlo::Instruction*> all(entry.instructions.begin(), entry.instructions.end());
  auto conv = std::ranges::find(all, hlo::Opcode::kConvolution, &hlo::Instruction::opcode);
  entry.root = *conv;
  for (size_t i = 0; i < 2; ++i) {
    auto* absolute = module->arena.New<hlo::Instruction>();
    absolute->name = i == 0 ? "absolute.input" : "absolute.filter";
    absolute->opcode = hlo::Opcode::kAbs;
    absolute->shape = entry.root->operands[i]->shape;
    absolute->operands =
        module->arena.Copy(std::span<hlo::Instruction* const>(&entry.root->operands[i], 1));
    entry.root->operands[i] = absolute;
    all.push_back(absolute);
  }
  entry.instructions = module->arena.Copy(all);
  module->attributes.clear();  // the shape of another result
  module->config.clear();
  hlo::Finish(*module);
  return Execute(*module, data).at(0).values;
}

// Values on either side of a rounding boundary are one step of a narrow type apart.
double Step(PrimitiveType type, double value) {
  if (type == PrimitiveType::kF8E4M3FN) return std::fabs(value) / 8 + std::ldexp(1., -9);
  if (type == PrimitiveType::kF8E5M2) return std::fabs(value) / 4 + std::ldexp(1., -16);
  return 0;
}

constexpr double kRounding = 0x1p-24;

// `differences[i]` bounds that of element i before it is rounded to the type of a result; the
// largest counts for scalars. Empty: both results must be equal to the bit. `saturates`: a plain
// conversion to FP8, which gives NaN for what is too large, may have become a saturating one.
void Compare(const hlo::Module& before, const hlo::Module& after, const Arguments& data,
             const std::vector<double>& differences, bool saturates = false) {
  const std::vector<Output> expected = Execute(before, data), found = Execute(after, data);
  ASSERT_EQ(expected.size(), found.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const pjrt::ArrayShape& shape = expected[k].shape;
    ASSERT_EQ(shape, found[k].shape);
    size_t numbers = 0;
    for (size_t i = 0; i < expected[k].values.size(); ++i) {
      const double a = expected[k].values[i], b = found[k].values[i];
      if (saturates && std::isnan(a) && std::fabs(b) == 448) continue;
      ASSERT_EQ(std::isnan(a), std::isnan(b)) << "output " << k << ", element " << i;
      if (std::isnan(a)) continue;
      ++numbers;
      double tolerance = 0;
      if (!differences.empty()) {
        tolerance = shape.dims.empty() ? std::ranges::max(differences) : differences.at(i);
        tolerance += 4 * kRounding * std::fabs(a) + Step(shape.type, a);
      }
      ASSERT_LE(std::fabs(a - b), tolerance)
          << "output " << k << ", element " << i << ": " << a << " and " << b;
    }
    // A comparison of nothing but NaN would prove nothing; one of these is NaN with any input.
    EXPECT_TRUE(numbers > 0 || shape.dims.empty()) << "output " << k;
  }
}

// `gain`: by how much what follows the convolution makes a difference larger. Scales and what is
// divided by are in [0.1, 2].
void Check(const std::string& body, size_t ops, double gain = 1, Extent extent = Extent::kAll) {
  SCOPED_TRACE(body);
  constexpr double kProducts = 9 * 16;  // of WithPrelude's filter
  const std::string text = WithPrelude(body);
  auto before = Parse(text), after = Parse(text);
  ConvGraphResult result = Rewrite(*after, Options(extent));
  ASSERT_FALSE(result.rewritten.empty());
  EXPECT_EQ(result.rewritten[0].ops.size(), ops);
  Must(Expand(*after));
  ASSERT_EQ(Count(*after, "__cudnn$"), 0);
  Compare(*before, *after, RandomArguments(*before, Inputs::kExact, 7), {});
  Compare(*before, *after, RandomArguments(*before, Inputs::kSpecial, 7), {});
  const Arguments any = RandomArguments(*before, Inputs::kAnyScale, 7);
  std::vector<double> differences = Magnitudes(text, any);
  for (double& difference : differences) difference *= gain * (2 * kProducts + 3) * kRounding;
  Compare(*before, *after, any, differences);
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
  Check(conv + "  ROOT y = $T multiply(bs, c)\n", 1, 2);
  Check(conv + "  ROOT y = $T divide(c, bs)\n", 1, 10);
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

// What cuDNN would compute for it in one call is another function.
TEST(NumbersTest, SlopeAboveOne) {
  Check(std::string(kConv) +
            "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
            "  slope = f32[] constant(2)\n  bl = $T broadcast(slope), dimensions={}\n"
            "  e = $T multiply(c, bl)\n  ROOT y = $T select(p, c, e)\n",
        0, 2, Extent::kPlanned);
}

// Values above 448 are among these, which an amax behind the conversion would not see.
TEST(NumbersTest, AmaxBesideAConversion) {
  const std::string amax =
      "  ab = $T abs(d)\n  am = f32[] reduce(ab, zero), dimensions={0,1,2,3}, to_apply=max\n";
  const std::string quantize =
      "  k = $T clamp(lo, d, hi)\n  f = f8e4m3fn[2,6,6,16] convert(k)\n"
      "  ROOT y = (f8e4m3fn[2,6,6,16], f32[]) tuple(f, am)\n";
  Check(std::string(kConv) + "  d = $T multiply(c, bs)\n" + amax + quantize, 1, 2,
        Extent::kPlanned);
  // Before a scale it sees them all.
  const std::string before = "  ab = $T abs(c)\n" + amax.substr(amax.find("  am"));
  Check(std::string(kConv) + before + "  d = $T multiply(c, bs)\n" + quantize, 3, 2,
        Extent::kPlanned);
}

TEST(NumbersTest, AWholeLayer) {
  Check(std::string(kScaled) +
            "  u = $T add(c, t)\n  r = $T maximum(u, b0)\n"
            "  am = f32[] reduce(r, zero), dimensions={0,1,2,3}, to_apply=max\n"
            "  bb = $T broadcast(b), dimensions={}\n  q = $T divide(r, bb)\n"
            "  k = $T clamp(lo, q, hi)\n  f = f8e4m3fn[2,6,6,16] convert(k)\n"
            "  ROOT y = (f8e4m3fn[2,6,6,16], f32[]) tuple(f, am)\n",
        7, 10);
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
    Compare(*before, *after, RandomArguments(*before, Inputs::kExact, 7), {},
            name == std::string("f8_out"));
  }
}

}  // namespace
}  // namespace eightfold::rewrite
