// The policy move as one program, on the CPU plugin: whole games are played with it, and the
// bitboards of the host check every move.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/float_types.h"
#include "cpu.h"
#include "hlo/literal.h"
#include "pjrt/execute.h"
#include "selfplay/bitboard.h"
#include "selfplay/ops.h"
#include "selfplay/programs.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr int64_t kBatch = 8;

pjrt::Buffer Upload(PrimitiveType type, std::vector<int64_t> dims,
                    std::span<const std::byte> data) {
  return Must(pjrt::Buffer::FromHost(Cpu(), {type, std::move(dims)}, data));
}

template <class T>
pjrt::Buffer Upload(PrimitiveType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return Upload(type, std::move(dims), std::as_bytes(std::span(values)));
}

// Random numbers, as the parameter's type stores them; scales are 0.1.
pjrt::Buffer RandomParameter(const ParameterInfo& info, std::mt19937& random) {
  std::normal_distribution<double> normal(0, 0.1);
  pjrt::ArrayShape shape{info.type, info.dims};
  std::vector<std::byte> data;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    double value = info.dims.empty() ? 0.1 : normal(random);
    uint64_t bits = EncodeFloat(*hlo::FloatFormatOf(info.type), value);
    for (size_t byte = 0; byte < shape.element_bytes(); ++byte) {
      data.push_back(static_cast<std::byte>(bits >> (8 * byte)));
    }
  }
  return Upload(info.type, info.dims, data);
}

// (state, action) -> the state after it.
pjrt::LoadedExecutable CompileStep(const Game& game) {
  hlo::Module module;
  module.name = "step";
  Builder b(module, "main");
  Instruction* state = b.Parameter(0, b.Array(PrimitiveType::kU64, {kBatch, Game::kWords}));
  Instruction* action = b.Parameter(1, b.Array(PrimitiveType::kS32, {kBatch}));
  module.entry = b.Build(b.Tuple({game.Step(b, state, action)}));
  return CompileForCpu(module);
}

pjrt::LoadedExecutable CompileMove(const ProgramOptions& options) {
  hlo::Module module;
  BuildPolicyMove(module, options);
  return CompileForCpu(module);
}

std::vector<uint64_t> Starts(const Game& game) {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < kBatch; ++i) {
    words.insert(words.end(), {game.info().start[0], game.info().start[1], 0});
  }
  return words;
}

struct Choice {
  std::vector<int32_t> action;
  std::vector<float> weights, value;
  bool operator==(const Choice&) const = default;
};

class Player {
 public:
  explicit Player(const ProgramOptions& options) : move_(CompileMove(options)) {
    std::mt19937 random(5);
    for (const ParameterInfo& info : NetworkParameters(NetworkOf(options))) {
      parameters_.push_back(RandomParameter(info, random));
    }
  }

  Choice Choose(const pjrt::Buffer& state, uint32_t seed) const {
    pjrt::Buffer key = Upload(PrimitiveType::kU32, {2}, std::vector<uint32_t>{0, seed});
    std::vector<const pjrt::Buffer*> arguments;
    for (const pjrt::Buffer& parameter : parameters_) arguments.push_back(&parameter);
    arguments.insert(arguments.end(), {&key, &state});
    std::vector<pjrt::Buffer> results = Must(move_.Execute(arguments));
    return {Must(results[0].ToHost<int32_t>()), Must(results[1].ToHost<float>()),
            Must(results[2].ToHost<float>())};
  }

 private:
  pjrt::LoadedExecutable move_;
  std::vector<pjrt::Buffer> parameters_;
};

struct Case {
  std::string game;
  Precision precision;
  bool root_in_loop;
  bool for_cpu = false;
};

class PolicyMoveTest : public ::testing::TestWithParam<Case> {};

TEST_P(PolicyMoveTest, PlaysLegalMovesToTheEnd) {
  const Game& game = *FindGame(GetParam().game);
  ProgramOptions options{.game = &game,
                         .batch = kBatch,
                         .width = 16,
                         .blocks = 2,
                         .precision = GetParam().precision,
                         .simulations = 8,
                         .root_in_loop = GetParam().root_in_loop};
  if (GetParam().for_cpu) {
    options = ForCpu(options);
    options.rows_at_once = kBatch / 2;
  }
  Player player(options);
  pjrt::LoadedExecutable step = CompileStep(game);
  pjrt::Buffer state = Upload(PrimitiveType::kU64, {kBatch, Game::kWords}, Starts(game));
  std::vector<Board> boards(kBatch, Board::Start(game.info().name).value());
  auto actions = static_cast<size_t>(game.info().actions);
  auto is_over = [](const Board& board) { return board.IsOver(); };
  uint32_t moves = 0;
  for (; !std::ranges::all_of(boards, is_over); ++moves) {
    Choice choice = player.Choose(state, moves);
    ASSERT_EQ(choice, player.Choose(state, moves)) << "the same key, another move";
    for (size_t i = 0; i < boards.size(); ++i) {
      ASSERT_LE(std::abs(choice.value[i]), 1 + 1e-5);
      if (boards[i].IsOver()) continue;
      const float* weights = &choice.weights[i * actions];
      EXPECT_NEAR(std::accumulate(weights, weights + actions, 0.0), 1, 1e-4);
      for (size_t a = 0; a < actions; ++a) {
        bool legal = boards[i].IsLegal(static_cast<int>(a));
        ASSERT_TRUE(legal || weights[a] == 0) << a;
      }
      ASSERT_TRUE(boards[i].Play(choice.action[i])) << boards[i].ToString();
    }
    pjrt::Buffer action = Upload(PrimitiveType::kS32, {kBatch}, choice.action);
    const pjrt::Buffer* arguments[] = {&state, &action};
    state = std::move(Must(step.Execute(arguments))[0]);
  }
  EXPECT_GE(moves, 5u);
  EXPECT_LE(moves, game.info().longest);
}

INSTANTIATE_TEST_SUITE_P(Programs, PolicyMoveTest,
                         ::testing::Values(Case{"tictactoe", Precision::kF32, false},
                                           Case{"connect4", Precision::kBf16, false},
                                           Case{"othello6", Precision::kFp8, false},
                                           Case{"tictactoe", Precision::kFp8, true},
                                           Case{"connect4", Precision::kFp8, false, true}),
                         [](const auto& test) {
                           return test.param.game + "_" + std::string(Name(test.param.precision)) +
                                  (test.param.root_in_loop ? "_root_in_loop" : "") +
                                  (test.param.for_cpu ? "_for_cpu" : "");
                         });

// Each number that f8e4m3fn has from 0 to 448, and the middle of each and the next.
std::vector<float> NumbersAndMiddles() {
  std::vector<float> numbers;
  for (uint64_t bits = 0; bits <= kFloatF8E4M3FN.largest(); ++bits) {
    numbers.push_back(static_cast<float>(DecodeFloat(kFloatF8E4M3FN, bits)));
    if (bits > 0) numbers.push_back((numbers.back() + numbers[numbers.size() - 2]) / 2);
  }
  return numbers;
}

TEST(NetworkTest, RoundsToF8AsConvertDoes) {
  std::vector<float> values;
  for (float number : NumbersAndMiddles()) {
    for (int side : {-1, 1}) {
      float value = number;
      for (int steps = 0; steps < 40 && value >= 0 && value <= 448; ++steps) {
        values.push_back(value);
        value = std::nextafter(value, static_cast<float>(side) * 1000.F);
      }
    }
  }
  std::mt19937 random(3);
  while (values.size() < 1000000) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(random() >> 1));
    if (value <= 448) values.push_back(value);
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  hlo::Module module;
  module.name = "round";
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, b.Array(PrimitiveType::kF32, dims));
  module.entry = b.Build(b.Tuple({RoundToF8E4M3(b, x)}));
  pjrt::Buffer argument = Upload(PrimitiveType::kF32, dims, values);
  const pjrt::Buffer* arguments[] = {&argument};
  auto rounded = Must(Must(CompileForCpu(module).Execute(arguments))[0].ToHost<float>());
  for (size_t i = 0; i < values.size(); ++i) {
    double expected = DecodeFloat(kFloatF8E4M3FN, EncodeFloat(kFloatF8E4M3FN, values[i]));
    ASSERT_EQ(rounded[i], static_cast<float>(expected)) << values[i];
  }
}

TEST(NetworkTest, RefusesWhatDoesNotFit) {
  ProgramOptions options{.game = FindGame("tictactoe"), .batch = 2, .width = 8, .blocks = 1};
  hlo::Module module;
  Builder b(module, "main");
  Values parameters = DeclareParameters(b, NetworkOf(options));
  auto number = static_cast<int64_t>(parameters.size());
  auto observation = [&](std::initializer_list<int64_t> dims) {
    return b.Parameter(number, b.Array(PrimitiveType::kF32, dims));
  };
  EXPECT_NO_THROW(Network(b, NetworkOf(options), parameters, observation({2, 3, 3, 3})));
  EXPECT_THROW(Network(b, NetworkOf(options), parameters, observation({2, 3, 4, 3})),
               std::logic_error);
  std::swap(parameters[0], parameters[1]);
  EXPECT_THROW(Network(b, NetworkOf(options), parameters, observation({2, 3, 3, 3})),
               std::logic_error);
  parameters.pop_back();
  EXPECT_THROW(Network(b, NetworkOf(options), parameters, observation({2, 3, 3, 3})),
               std::logic_error);
}

}  // namespace
}  // namespace eightfold::selfplay
