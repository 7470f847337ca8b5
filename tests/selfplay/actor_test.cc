// The actor on the CPU plugin. Whole runs are in tests/cli/play_test.py; here, devices that answer
// what cannot be.
#include "selfplay/actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu.h"
#include "hlo/proto/proto.h"
#include "selfplay/calibration.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 4;

Actor::Options Options() {
  return {.program = ForCpu({.game = FindGame("tictactoe"),
                             .batch = kBatch,
                             .width = 8,
                             .blocks = 1,
                             .precision = Precision::kF32,
                             .simulations = 2}),
          .games = 6};
}

Parameters Network() { return RandomParameters(NetworkOf(Options().program), 1); }

Result<pjrt::LoadedExecutable> Compile(const std::string& program) {
  return pjrt::LoadedExecutable::Compile(Cpu(), program);
}

// Instead of the policy move: always `action`, with `value`.
struct Stubborn {
  int32_t action = 0;
  float value = 0;

  Result<pjrt::LoadedExecutable> operator()(const std::string& program) const {
    pjrt::Signature signature = pjrt::ReadSignature(program).value();
    if (signature.name != "policy_move") return Compile(program);
    hlo::Module module;
    module.name = "stubborn";
    Builder b(module, "main");
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const pjrt::ArrayShape& shape = signature.parameters[i].shape;
      b.Parameter(static_cast<int64_t>(i), b.Array(shape.type, shape.dims));
    }
    Instruction* actions = b.Zeros(PrimitiveType::kS32, {kBatch});
    Instruction* values = b.Zeros(PrimitiveType::kF32, {kBatch});
    module.entry = b.Build(
        b.Tuple({b.Add(actions, b.Like(actions, action)), b.Zeros(PrimitiveType::kF32, {kBatch, 9}),
                 b.Add(values, b.Like(values, value))}));
    return Compile(hlo::WriteProto(module).value());
  }
};

std::vector<std::string> Boards(const Actor& actor) {
  std::vector<std::string> boards;
  for (const Seat& seat : actor.state().seats) boards.push_back(seat.board.ToString());
  return boards;
}

TEST(ActorTest, PlaysAllGamesAndNoMore) {
  Actor actor = Must(Actor::Create(Cpu(), Options(), Network(), Compile));
  EXPECT_EQ(actor.playing(), kBatch);
  std::vector<int64_t> numbers;
  while (!actor.IsDone()) {
    for (const Trajectory& game : Must(actor.Move())) {
      numbers.push_back(game.number);
      EXPECT_TRUE(Replay("tictactoe", game).value().IsOver());
    }
  }
  std::ranges::sort(numbers);
  EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(actor.state().next_game, 6);
}

TEST(ActorTest, GoesOnFromAnyState) {
  Actor one = Must(Actor::Create(Cpu(), Options(), Network(), Compile));
  Actor other = Must(Actor::Create(Cpu(), Options(), Network(), Compile));
  while (!one.IsDone()) {
    Must(other.Restore(one.state()));
    EXPECT_EQ(Must(one.Move()), Must(other.Move()));
    EXPECT_EQ(Boards(one), Boards(other));
  }
}

TEST(ActorTest, IllegalMovesAreTheDevicesFault) {
  Actor actor = Must(Actor::Create(Cpu(), Options(), Network(), Stubborn{.action = 4}));
  Must(actor.Move());
  const std::vector<std::string> before = Boards(actor);
  auto answer = actor.Move();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "game 0, move 1: action 4 is not legal");
  EXPECT_EQ(answer.error().exit_code, ExitCode::kCompiler);
  EXPECT_EQ(Boards(actor), before);
  EXPECT_EQ(actor.state().moves, 1);
}

TEST(ActorTest, SoAreNumbersThatAreNone) {
  Actor actor = Must(Actor::Create(Cpu(), Options(), Network(), Stubborn{.value = NAN}));
  auto answer = actor.Move();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("not finite"));
}

TEST(ActorTest, SoAreOtherBoards) {
  // Instead of the step: the state as it was.
  auto idle = [](const std::string& program) -> Result<pjrt::LoadedExecutable> {
    if (pjrt::ReadSignature(program).value().name != "step") return Compile(program);
    hlo::Module module;
    module.name = "step";
    Builder b(module, "main");
    Instruction* state = b.Parameter(0, b.Array(PrimitiveType::kU64, {kBatch, Game::kWords}));
    b.Parameter(1, b.Array(PrimitiveType::kS32, {kBatch}));
    module.entry = b.Build(b.Tuple({state}));
    return Compile(hlo::WriteProto(module).value());
  };
  Actor actor = Must(Actor::Create(Cpu(), Options(), Network(), idle));
  auto answer = actor.Move();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("does not lead to the board"));
}

TEST(ActorTest, StatesOfOtherRunsAreRefused) {
  Actor actor = Must(Actor::Create(Cpu(), Options(), Network(), Compile));
  Must(actor.Move());
  const ActorState good = actor.state();
  auto refuses = [&](auto damage) {
    ActorState state = good;
    damage(state);
    return !actor.Restore(std::move(state)).has_value();
  };
  EXPECT_FALSE(refuses([](ActorState&) {}));
  EXPECT_TRUE(refuses([](ActorState& state) { state.seats.pop_back(); }));
  EXPECT_TRUE(refuses([](ActorState& state) { state.moves = -1; }));
  EXPECT_TRUE(refuses([](ActorState& state) { state.next_game = 7; }));
  EXPECT_TRUE(refuses([](ActorState& state) {
    for (Seat& seat : state.seats) seat.trajectory.number = Seat::kEmpty;
  }));
  EXPECT_TRUE(refuses([](ActorState& state) { state.seats[1].state[0] ^= 1; }));
}

TEST(CalibrationTest, FindsTheLargestInputs) {
  const ProgramOptions options = Options().program;
  const auto largest = Must(Calibrate(Cpu(), options, Network(), 3, Compile));
  ASSERT_EQ(largest.size(), 2u);
  for (float x : largest) EXPECT_TRUE(x > 0 && x < kLargestInputOfRandom) << x;
  // Without a stem the blocks see zeros.
  Parameters silent = Network();
  std::ranges::fill(silent[0].bytes, '\0');
  EXPECT_EQ(Must(Calibrate(Cpu(), options, silent, 3, Compile))[0], 0);
}

TEST(CalibrationTest, RandomPositionsAreOfGames) {
  const std::vector<float> all = RandomObservations("tictactoe", 100, 3);
  ASSERT_EQ(all.size(), 100u * 9 * Game::kPlanes);
  EXPECT_EQ(std::count(all.begin(), all.begin() + 27, 0.F), 27);
  for (size_t i = 0; i < 100; ++i) {
    int own = 0;
    int other = 0;
    for (size_t cell = 0; cell < 9; ++cell) {
      const float* planes = &all[(9 * i + cell) * 3];
      own += static_cast<int>(planes[0]);
      other += static_cast<int>(planes[1]);
      EXPECT_EQ(planes[2], all[27 * i + 2]);
    }
    EXPECT_EQ(other - own, static_cast<int>(all[27 * i + 2]));
  }
}

}  // namespace
}  // namespace eightfold::selfplay
