#include "selfplay/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "selfplay/checkpoint.h"

namespace eightfold::selfplay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kActions = 9;

// A game of tic-tac-toe with numbers that tell where they belong.
Trajectory Played(int64_t number, std::vector<int32_t> actions) {
  Trajectory game{.number = number, .actions = std::move(actions)};
  for (size_t move = 0; move < game.actions.size(); ++move) {
    game.values.push_back(static_cast<float>(move) / 16);
    for (int64_t a = 0; a < kActions; ++a) {
      game.weights.push_back(
          static_cast<float>(100 * number + 10 * static_cast<int64_t>(move) + a));
    }
  }
  return game;
}

// x x x      o o o      x o x
// o o .      x . x      x o o
// . . .      . x .      o x x
const Trajectory kFirstWins = Played(7, {0, 3, 1, 4, 2});
const Trajectory kSecondWins = Played(3, {3, 0, 5, 1, 7, 2});
const Trajectory kDraw = Played(5, {0, 1, 2, 4, 3, 5, 7, 6, 8});

Tensor& Find(TensorFile& file, std::string_view name) {
  for (Tensor& tensor : file.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::logic_error(std::string(name));
}

std::vector<int8_t> Bytes(TensorFile& file, std::string_view name) {
  const std::string& bytes = Find(file, name).bytes;
  return {bytes.begin(), bytes.end()};
}

TEST(TrajectoryTest, ComesBackAsItWas) {
  const std::vector<Trajectory> games = {kFirstWins, Played(9, {}), kSecondWins};
  TensorFile file;
  AppendTrajectories(file, "a.", games, kActions);
  AppendTrajectories(file, "b.", {}, kActions);
  EXPECT_EQ(ReadTrajectories(file, "a.", kActions).value(), games);
  EXPECT_TRUE(ReadTrajectories(file, "b.", kActions).value().empty());
}

TEST(TrajectoryTest, TensorsThatDoNotFitAreErrors) {
  TensorFile good;
  AppendTrajectories(good, "", std::vector{kFirstWins, kDraw}, kActions);
  auto error = [&](auto damage) {
    TensorFile file = good;
    damage(file);
    auto read = ReadTrajectories(file, "", kActions);
    return read ? "none" : read.error().what;
  };
  for (const char* name : {"number", "length", "action", "weights", "value"}) {
    EXPECT_THAT(error([&](TensorFile& file) { Find(file, name).name = "other"; }),
                HasSubstr(std::string(name) + "\" is missing"));
    EXPECT_THAT(error([&](TensorFile& file) { Find(file, name).type = hlo::PrimitiveType::kF64; }),
                HasSubstr(std::string(name) + "\" is f64"));
    EXPECT_THAT(error([&](TensorFile& file) { Find(file, name).dims.clear(); }),
                HasSubstr(std::string(name) + "\" is"));
  }
  for (int32_t length : {-1, 4, 6, INT32_MAX}) {
    EXPECT_NE(error([&](TensorFile& file) {
                std::memcpy(Find(file, "length").bytes.data(), &length, sizeof(length));
              }),
              "none")
        << length;
  }
}

TEST(ShardTest, SaysWhatFollowsFromTheMoves) {
  TensorFile shard = MakeShard("tictactoe", std::vector{kFirstWins, kSecondWins, kDraw}).value();
  EXPECT_THAT(Bytes(shard, "result"), ElementsAre(1, -1, 0));
  std::vector<int8_t> players = Bytes(shard, "player");
  EXPECT_EQ(players.size(), 5u + 6u + 9u);
  EXPECT_THAT(std::vector(players.begin(), players.begin() + 6), ElementsAre(0, 1, 0, 1, 0, 0));
  std::vector<int8_t> outcomes = Bytes(shard, "outcome");
  EXPECT_THAT(std::vector(outcomes.begin(), outcomes.begin() + 7),
              ElementsAre(1, -1, 1, -1, 1, -1, 1));
  EXPECT_THAT(Find(shard, "board").dims, ElementsAre(20, 3, 3));
  std::vector<int8_t> boards = Bytes(shard, "board");
  // Before the fourth move of the first game, from the second player's side.
  EXPECT_THAT(std::vector(boards.begin() + 27, boards.begin() + 36),
              ElementsAre(-1, -1, 0, 1, 0, 0, 0, 0, 0));
}

TEST(ShardTest, GamesThatBreakTheRulesAreErrors) {
  EXPECT_FALSE(MakeShard("tictactoe", std::vector{Played(0, {0, 0})}));
  EXPECT_FALSE(MakeShard("tictactoe", std::vector{Played(0, {0, 3, 1, 4, 2, 5})}));
  EXPECT_FALSE(MakeShard("tictactoe", std::vector{Played(0, {-1})}));
}

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.settings = {{"game", "tictactoe"}, {"sims", "16"}};
  checkpoint.shards = 4;
  checkpoint.finished = {kDraw};
  checkpoint.state.moves = 123456789012;
  checkpoint.state.next_game = 12;
  for (Trajectory trajectory : {Played(11, {4, 0}), Played(Seat::kEmpty, {})}) {
    Board board = Replay("tictactoe", trajectory).value();
    checkpoint.state.seats.push_back(
        {.trajectory = std::move(trajectory), .board = board, .state = {16, 1, 0}});
  }
  return checkpoint;
}

TEST(CheckpointTest, ComesBackAsItWas) {
  const Game& game = *FindGame("tictactoe");
  const Checkpoint there = Example();
  TensorFile file =
      DecodeTensors(EncodeTensors(EncodeCheckpoint(game, there)), "checkpoint").value();
  Checkpoint back = DecodeCheckpoint(game, file).value();
  EXPECT_EQ(back.settings, there.settings);
  EXPECT_EQ(back.shards, 4);
  EXPECT_EQ(back.finished, there.finished);
  EXPECT_EQ(back.state.moves, there.state.moves);
  EXPECT_EQ(back.state.next_game, 12);
  ASSERT_EQ(back.state.seats.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.state.seats[i].trajectory, there.state.seats[i].trajectory);
    EXPECT_EQ(back.state.seats[i].state, there.state.seats[i].state);
    EXPECT_EQ(back.state.seats[i].board.ToString(), there.state.seats[i].board.ToString());
  }
}

TEST(CheckpointTest, EveryChangedByteIsSeen) {
  const Game& game = *FindGame("tictactoe");
  const std::string good = EncodeTensors(EncodeCheckpoint(game, Example()));
  for (size_t at = 0; at < good.size(); ++at) {
    for (char bit : {1, 64}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ bit);
      auto file = DecodeTensors(bytes, "checkpoint");
      if (!file) continue;
      // Spaces that nothing depends on are no damage.
      auto back = DecodeCheckpoint(game, *file);
      if (back) {
        EXPECT_EQ(EncodeTensors(EncodeCheckpoint(game, *back)), good) << at;
      }
    }
  }
}

TEST(CheckpointTest, OfAnotherGameItIsAnError) {
  TensorFile file = EncodeCheckpoint(*FindGame("tictactoe"), Example());
  EXPECT_FALSE(DecodeCheckpoint(*FindGame("connect4"), file));
}

}  // namespace
}  // namespace eightfold::selfplay
