#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "hlo/text/writer.h"

namespace eightfold::hlo::text {
namespace {

// XLA's rule in terms of printf: few digits when they are read back as the same value, else many.
std::string Printf(double value, int few, int many, bool is_float) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", few, value);
  double back =
      is_float ? static_cast<double>(std::strtof(buffer, nullptr)) : std::strtod(buffer, nullptr);
  if (back != value) std::snprintf(buffer, sizeof buffer, "%.*g", many, value);
  return buffer;
}

std::string Ours(const FloatFormat& format, uint64_t bits) {
  std::string out;
  AppendFloatBits(out, format, bits);
  return out;
}

TEST(WriteNumber, FloatsPrintAsPrintfDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 300000; ++i) {
    uint32_t bits = random();
    // Every other value near 1, where most constants are.
    if (i % 2 == 0) bits = (bits & 0x83ffffff) | 0x3c000000;
    auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value) || value == 0) continue;
    ASSERT_EQ(Ours(kFloatF32, bits), Printf(static_cast<double>(value), 6, 9, true)) << bits;
  }
}

TEST(WriteNumber, DoublesPrintAsPrintfDoes) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random();
    if (i % 3 == 0)
      bits = std::bit_cast<uint64_t>(static_cast<double>(random() % 100000000) / 1000);
    auto value = std::bit_cast<double>(bits);
    if (!std::isfinite(value) || value == 0) continue;
    ASSERT_EQ(Ours(kFloatF64, bits), Printf(value, 15, 17, false)) << bits;
  }
}

TEST(WriteNumber, ZeroKeepsItsSignWhereTextIsReadBack) {
  EXPECT_EQ(Ours(kFloatF32, 0x80000000), "-0.0");
  EXPECT_EQ(Ours(kFloatF32, 0), "0");
  EXPECT_EQ(Ours(kFloatF8E5M2, 0x80), "-0.0");
  EXPECT_EQ(Ours(kFloatF8E4M3FNUZ, 0x80), "-nan");
}

TEST(WriteNumber, NansKeepTheirPayload) {
  EXPECT_EQ(Ours(kFloatF32, 0x7fc00000), "nan");
  EXPECT_EQ(Ours(kFloatF32, 0xffc00000), "-nan");
  EXPECT_EQ(Ours(kFloatF32, 0x7f800007), "nan(0x7)");
  EXPECT_EQ(Ours(kFloatF8E4M3FN, 0x7f), "nan");
}

TEST(WriteNumber, BraceBlocksStandRawAndAllElseIsQuoted) {
  auto print = [](std::string_view value) {
    std::string out;
    AppendRawOrQuoted(out, value);
    return out;
  };
  EXPECT_EQ(print(R"({"a":"}"})"), R"({"a":"}"})");
  EXPECT_EQ(print("{a}{b}"), R"("{a}{b}")");
  EXPECT_EQ(print(" {a}"), R"(" {a}")");
  EXPECT_EQ(print("{\"a}"), R"("{\"a}")");
  EXPECT_EQ(print("{\xff}"), R"("{\377}")");
  EXPECT_EQ(print("a\nb"), R"("a\nb")");
}

}  // namespace
}  // namespace eightfold::hlo::text
