// The rewrite in numbers (see numbers_test.cc), for the random modules of the differential test:
// inputs are small integers, scales powers of two, so that almost all results are equal to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "differential/generate.h"
#include "modules.h"
#include "numbers.h"
#include "rewrite/expand.h"

namespace eightfold::rewrite {
namespace {

constexpr uint64_t kModules = 80;

// XLA's CPU compiler (0.11.2) ends the process on some clamps of arrays to scalars.
bool CrashesXla(const hlo::Module& module) {
  return std::ranges::any_of(module.entry->instructions, [](const hlo::Instruction* i) {
    return i->opcode == hlo::Opcode::kClamp && i->operands[0]->shape != i->shape;
  });
}

// Some steps of the narrowest type: where a scale is no power of two after all (an amax), values
// on either side of a rounding boundary differ by one, and later operations make that more.
double Tolerance(const pjrt::ArrayShape& shape, double value) {
  switch (shape.type) {
    case PrimitiveType::kF32:
      return std::fabs(value) * 1e-5;
    case PrimitiveType::kBF16:
      return std::fabs(value) / 64;
    case PrimitiveType::kF16:
      return std::fabs(value) / 512;
    default:
      return std::fabs(value) / 4 + 0x1p-9;
  }
}

struct Agreement {
  size_t equal = 0, close = 0;
};

// What is not finite is left out: 0 as a scale, and plain conversions to FP8, which overflow where
// those of a graph saturate.
Agreement Agree(const std::vector<Output>& expected, const std::vector<Output>& found) {
  Agreement agreement;
  EXPECT_EQ(expected.size(), found.size());
  for (size_t k = 0; k < std::min(expected.size(), found.size()); ++k) {
    EXPECT_EQ(expected[k].shape, found[k].shape);
    for (size_t i = 0; i < expected[k].values.size(); ++i) {
      const double a = expected[k].values[i], b = found[k].values.at(i);
      if (!std::isfinite(a)) continue;
      ++(a == b ? agreement.equal : agreement.close);
      // NaN is near nothing.
      EXPECT_TRUE(std::fabs(a - b) <= Tolerance(expected[k].shape, a))
          << "output " << k << ", element " << i << ": " << a << " and " << b;
    }
  }
  return agreement;
}

TEST(RandomNumbersTest, RewrittenModulesComputeTheSame) {
  int compared = 0;
  Agreement total;
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const differential::Recipe recipe = differential::RandomRecipe(seed);
    auto before = differential::Generate({&recipe, 1});
    auto after = differential::Generate({&recipe, 1});
    if (!hlo::Verify(*before) || CrashesXla(*before)) continue;
    if (Rewrite(*after).rewritten.empty()) continue;
    Must(Expand(*after));
    auto verified = hlo::Verify(*after);
    ASSERT_TRUE(verified) << verified.error().Format();
    const Arguments data = RandomArguments(*before, Inputs::kExact, static_cast<uint32_t>(seed));
    const Agreement one = Agree(Execute(*before, data), Execute(*after, data));
    compared += one.equal + one.close > 0;
    total.equal += one.equal;
    total.close += one.close;
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 20);
  EXPECT_GT(total.equal, 100 * total.close);
}

}  // namespace
}  // namespace eightfold::rewrite
