// The games as HLO, on the CPU plugin, against the bitboards of the host: random play-outs in which
// every position is compared. EIGHTFOLD_PLAYOUTS sets how many games of each are played.
#include "selfplay/game.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cpu.h"
#include "pjrt/execute.h"
#include "selfplay/bitboard.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;
using ::testing::ElementsAre;

constexpr int64_t kBatch = 2048;

// (state, action) -> what there is to know about the next state.
pjrt::LoadedExecutable CompileStep(const Game& game) {
  hlo::Module module;
  module.name = "step";
  Builder b(module, "main");
  Instruction* state = b.Parameter(0, b.Array(PrimitiveType::kU64, {kBatch, Game::kWords}));
  Instruction* action = b.Parameter(1, b.Array(PrimitiveType::kS32, {kBatch}));
  Instruction* next = game.Step(b, state, action);
  module.entry =
      b.Build(b.Tuple({next, game.Legal(b, next), game.Terminal(b, next), game.Result(b, next),
                       game.Player(b, next), game.Observe(b, next)}));
  return CompileForCpu(module);
}

// () -> kBatch starts.
pjrt::LoadedExecutable CompileInit(const Game& game) {
  hlo::Module module;
  module.name = "init";
  Builder b(module, "main");
  module.entry = b.Build(game.Init(b, kBatch));
  return CompileForCpu(module);
}

// What the step program returns, on the host.
struct Positions {
  std::vector<uint8_t> legal, over;
  std::vector<float> result;
  std::vector<int32_t> player;
  std::vector<float> planes;

  explicit Positions(const std::vector<pjrt::Buffer>& results)
      : legal(Must(results[1].ToHost<uint8_t>())),
        over(Must(results[2].ToHost<uint8_t>())),
        result(Must(results[3].ToHost<float>())),
        player(Must(results[4].ToHost<int32_t>())),
        planes(Must(results[5].ToHost<float>())) {}
};

// Where game `i` differs from `board`; "" where it does not.
std::string Difference(const Positions& at, size_t i, const Board& board) {
  auto actions = static_cast<size_t>(board.actions());
  for (size_t a = 0; a < actions; ++a) {
    if ((at.legal[i * actions + a] != 0) != board.IsLegal(static_cast<int>(a))) {
      return "whether " + std::to_string(a) + " is legal";
    }
  }
  if ((at.over[i] != 0) != board.IsOver()) return "whether the game is over";
  if (at.result[i] != static_cast<float>(board.Result())) return "the result";
  if (at.player[i] != board.player()) return "the player";
  auto columns = static_cast<size_t>(board.columns());
  size_t cells = static_cast<size_t>(board.rows()) * columns;
  for (size_t cell = 0; cell < cells; ++cell) {
    const float* planes = &at.planes[(i * cells + cell) * Game::kPlanes];
    int stone = board.At(static_cast<int>(cell / columns), static_cast<int>(cell % columns));
    bool same = planes[0] == (stone > 0) && planes[1] == (stone < 0) &&
                planes[2] == static_cast<float>(board.player());
    if (!same) return "cell " + std::to_string(cell);
  }
  return "";
}

int RandomAction(const Board& board, std::mt19937& random) {
  std::vector<int> legal;
  for (int action = 0; action < board.actions(); ++action) {
    if (board.IsLegal(action)) legal.push_back(action);
  }
  if (legal.empty()) return static_cast<int>(random() % static_cast<unsigned>(board.actions()));
  return legal[random() % legal.size()];
}

struct Tally {
  int64_t games = 0, positions = 0, passes = 0, won = 0, drawn = 0, lost = 0;  // by the first
};

// Plays a batch to the end; false after the first difference.
bool PlayBatch(const Game& game, const pjrt::LoadedExecutable& init,
               const pjrt::LoadedExecutable& step, std::mt19937& random, Tally& tally) {
  std::vector<Board> boards(kBatch, Board::Start(game.info().name).value());
  pjrt::Buffer state = std::move(Must(init.Execute(std::span<const pjrt::Buffer>()))[0]);
  int64_t moves = 0;
  auto is_over = [](const Board& board) { return board.IsOver(); };
  // One move more than needed: games that are over stay.
  for (bool last = false; !last; ++moves) {
    last = std::ranges::all_of(boards, is_over);
    std::vector<int32_t> actions;
    for (Board& board : boards) {
      actions.push_back(RandomAction(board, random));
      if (board.IsOver()) continue;
      ++tally.positions;
      tally.passes += game.info().has_pass && actions.back() + 1 == game.info().actions;
      if (!board.Play(actions.back())) return false;
    }
    pjrt::Buffer action =
        Must(pjrt::Buffer::FromHost(Cpu(), {PrimitiveType::kS32, {kBatch}}, actions));
    const pjrt::Buffer* arguments[] = {&state, &action};
    std::vector<pjrt::Buffer> results = Must(step.Execute(arguments));
    Positions at(results);
    for (size_t i = 0; i < boards.size(); ++i) {
      std::string difference = Difference(at, i, boards[i]);
      if (difference.empty()) continue;
      ADD_FAILURE() << difference << " after " << moves + 1 << " moves, last " << actions[i]
                    << ", player " << boards[i].player() << "\n"
                    << boards[i].ToString();
      return false;
    }
    state = std::move(results[0]);
  }
  EXPECT_LE(moves - 1, game.info().longest);
  for (const Board& board : boards) {
    int of_first = board.player() == 0 ? board.Result() : -board.Result();
    (of_first > 0 ? tally.won : of_first < 0 ? tally.lost : tally.drawn) += 1;
  }
  tally.games += kBatch;
  return true;
}

class PlayoutTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PlayoutTest, HloAndBitboardAgreeOnEveryPosition) {
  const Game* game = FindGame(GetParam());
  ASSERT_NE(game, nullptr);
  Board board = Board::Start(GetParam()).value();
  ASSERT_EQ(game->info().actions, board.actions());
  ASSERT_EQ(game->info().rows, board.rows());
  ASSERT_EQ(game->info().columns, board.columns());
  const char* wanted = std::getenv("EIGHTFOLD_PLAYOUTS");
  int64_t games = wanted == nullptr ? 2 * kBatch : std::atoll(wanted);
  pjrt::LoadedExecutable init = CompileInit(*game);
  pjrt::LoadedExecutable step = CompileStep(*game);
  std::mt19937 random(20180615);
  Tally tally;
  while (tally.games < games && PlayBatch(*game, init, step, random, tally)) {
  }
  ASSERT_GE(tally.games, games);
  // Both players win at times, and where passes are rare they are still there.
  EXPECT_GT(tally.won, 0);
  EXPECT_GT(tally.lost, 0);
  EXPECT_EQ(tally.passes > 0, game->info().has_pass);
  for (auto [name, count] : {std::pair("games", tally.games), std::pair("moves", tally.positions),
                             std::pair("passes", tally.passes), std::pair("won", tally.won),
                             std::pair("drawn", tally.drawn), std::pair("lost", tally.lost)}) {
    RecordProperty(name, std::to_string(count));
  }
}

INSTANTIATE_TEST_SUITE_P(Games, PlayoutTest, ::testing::Values("othello6", "connect4", "tictactoe"),
                         [](const auto& test) { return test.param; });

TEST(GameTest, TheGamesHaveNames) {
  EXPECT_THAT(GameNames(), ElementsAre("othello6", "connect4", "tictactoe"));
  EXPECT_EQ(FindGame("chess"), nullptr);
}

}  // namespace
}  // namespace eightfold::selfplay
