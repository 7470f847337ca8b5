// How far the same network is from itself in another precision. docs/play.md has the bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu.h"
#include "hlo/proto/proto.h"
#include "selfplay/actor.h"
#include "selfplay/calibration.h"

namespace eightfold::selfplay {
namespace {

using hlo::PrimitiveType;

constexpr int64_t kBatch = 256;
constexpr uint64_t kSeed = 11;

Result<pjrt::LoadedExecutable> Compile(const std::string& program) {
  return pjrt::LoadedExecutable::Compile(Cpu(), program);
}

ProgramOptions Options(Precision precision) {
  return ForCpu({.game = FindGame("othello6"),
                 .batch = kBatch,
                 .width = 32,
                 .blocks = 2,
                 .precision = precision});
}

struct Answer {
  std::vector<float> logits, values;
};

Answer Evaluate(Precision precision) {
  const ProgramOptions options = Options(precision);
  const Parameters f32 = RandomParameters(NetworkOf(options), kSeed);
  const std::vector<float> largest = Must(Calibrate(Cpu(), options, f32, kSeed, Compile));
  hlo::Module module;
  BuildForward(module, options);
  auto forward = Must(Compile(Must(hlo::WriteProto(module))));
  auto arguments = Must(Upload(
      Cpu(), precision == Precision::kF32 ? f32 : ToPrecision(NetworkOf(options), f32, largest)));
  arguments.push_back(
      Must(pjrt::Buffer::FromHost(Cpu(), {PrimitiveType::kF32, {kBatch, 6, 6, Game::kPlanes}},
                                  RandomObservations("othello6", kBatch, kSeed + 1))));
  auto results = Must(forward.Execute(arguments));
  return {Must(results[0].ToHost<float>()), Must(results[1].ToHost<float>())};
}

struct Distance {
  double largest = 0;  // difference
  double mean = 0;     // root of the mean square of differences
};

// In parts of the root of the mean square of `exact`.
Distance Between(const std::vector<float>& exact, const std::vector<float>& other) {
  double squares = 0;
  double of_exact = 0;
  Distance distance;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double difference = std::abs(double{exact[i]} - double{other[i]});
    distance.largest = std::max(distance.largest, difference);
    squares += difference * difference;
    of_exact += double{exact[i]} * double{exact[i]};
  }
  distance.largest /= std::sqrt(of_exact / static_cast<double>(exact.size()));
  distance.mean = std::sqrt(squares / of_exact);
  return distance;
}

class PrecisionTest : public ::testing::Test {
 protected:
  static void ExpectNear(Precision precision, double mean, double largest) {
    const Answer exact = Evaluate(Precision::kF32);
    const Answer other = Evaluate(precision);
    for (auto part : {&Answer::logits, &Answer::values}) {
      const Distance distance = Between(exact.*part, other.*part);
      EXPECT_LT(distance.mean, mean);
      EXPECT_LT(distance.largest, largest);
      // It is another precision: what is rounded shows.
      EXPECT_GT(distance.mean, mean / 20);
    }
  }
};

TEST_F(PrecisionTest, Bf16IsNearF32) { ExpectNear(Precision::kBf16, 0.01, 0.05); }
TEST_F(PrecisionTest, Fp8IsNearF32) { ExpectNear(Precision::kFp8, 0.08, 0.4); }

}  // namespace
}  // namespace eightfold::selfplay
