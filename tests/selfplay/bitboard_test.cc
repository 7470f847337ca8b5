#include "selfplay/bitboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace eightfold::selfplay {
namespace {

using ::testing::HasSubstr;

// Sequences of `depth` moves; games that end sooner are not counted.
template <class Board>
uint64_t Perft(const Board& board, int depth) {
  if (depth == 0) return 1;
  uint64_t count = 0;
  for (int action = 0; action < Board::kActions; ++action) {
    if (!board.IsLegal(action)) continue;
    Board next = board;
    next.Play(action);
    count += Perft(next, depth - 1);
  }
  return count;
}

// The numbers every Othello program agrees on; passes are moves.
TEST(OthelloBoardTest, PerftOnEightByEightIsTheKnownOne) {
  std::vector<uint64_t> known = {1, 4, 12, 56, 244, 1396, 8200, 55092, 390216};
  for (size_t depth = 0; depth < known.size(); ++depth) {
    EXPECT_EQ(Perft(OthelloBoard<8>(), static_cast<int>(depth)), known[depth]) << depth;
  }
}

// 4, 12 and 56 as on the larger board; the others were counted with a list of lists and a walk
// along each line.
TEST(OthelloBoardTest, PerftOnSixBySix) {
  std::vector<uint64_t> counted = {1, 4, 12, 56, 244, 1364, 7604, 47740};
  for (size_t depth = 0; depth < counted.size(); ++depth) {
    EXPECT_EQ(Perft(OthelloBoard<6>(), static_cast<int>(depth)), counted[depth]) << depth;
  }
}

OthelloBoard<6> Othello(const std::string& cells, char own) {
  OthelloBoard<6> board;
  board.own = board.other = 0;
  for (int i = 0; i < 36; ++i) {
    char cell = cells[static_cast<size_t>(i)];
    if (cell == '.') continue;
    (cell == own ? board.own : board.other) |= board.Cell(i / 6, i % 6);
  }
  return board;
}

TEST(OthelloBoardTest, AStoneTakesEveryRunThatItEnds) {
  // The cell in the second row and column ends a run to each side but one.
  auto board = Othello(
      "xx...."
      "o.ooox"
      "oo...."
      "x.o..."
      "...x.."
      "......",
      'x');
  ASSERT_TRUE(board.IsLegal(7));
  board.Play(7);
  auto after = Othello(
      "xx...."
      "oxxxxx"
      "oo...."
      "x.o..."
      "...x.."
      "......",
      'o');
  EXPECT_EQ(board.own, after.own);
  EXPECT_EQ(board.other, after.other);
}

TEST(OthelloBoardTest, RunsDoNotGoOverAnEdge) {
  auto board = Othello(
      "...xoo"
      "o....."
      ".....o"
      "x....."
      "......"
      "......",
      'x');
  EXPECT_EQ(board.Placements(), 0u);
  EXPECT_TRUE(board.IsLegal(board.kPass));
}

TEST(OthelloBoardTest, TwoPassesInARowEndTheGameForWhoHasMore) {
  auto board = Othello("xxo" + std::string(33, '.'), 'o');
  board.other |= board.Cell(5, 5);  // three x, one o that takes nothing
  board.own &= ~board.Cell(0, 2);
  board.own |= board.Cell(3, 3);
  ASSERT_FALSE(board.IsLegal(2));
  ASSERT_TRUE(board.IsLegal(board.kPass));
  board.Play(board.kPass);
  EXPECT_FALSE(board.IsOver());
  ASSERT_TRUE(board.IsLegal(board.kPass));
  board.Play(board.kPass);
  EXPECT_TRUE(board.IsOver());
  EXPECT_EQ(board.Result(), -1);  // for o
  EXPECT_FALSE(board.IsLegal(board.kPass));
}

// Games of tic-tac-toe by how they end: 131184 won by the first player, 77904 by the second, 46080
// drawn; 255168 in all.
TEST(TicTacToeBoardTest, AllGames) {
  int64_t first = 0, second = 0, drawn = 0;
  std::vector<TicTacToeBoard> pending = {TicTacToeBoard()};
  while (!pending.empty()) {
    TicTacToeBoard board = pending.back();
    pending.pop_back();
    if (board.IsOver()) {
      int of_first = board.player == 0 ? board.Result() : -board.Result();
      (of_first > 0 ? first : of_first < 0 ? second : drawn) += 1;
    }
    for (int action = 0; action < board.kActions; ++action) {
      if (!board.IsLegal(action)) continue;
      pending.push_back(board);
      pending.back().Play(action);
    }
  }
  EXPECT_EQ(first, 131184);
  EXPECT_EQ(second, 77904);
  EXPECT_EQ(drawn, 46080);
}

// 7^n until a column can be full, then without the seven that would put seven stones into one
// column.
TEST(ConnectFourBoardTest, Perft) {
  uint64_t power = 1;
  for (int depth = 0; depth < 7; ++depth, power *= 7) {
    EXPECT_EQ(Perft(ConnectFourBoard(), depth), power) << depth;
  }
  EXPECT_EQ(Perft(ConnectFourBoard(), 7), power - 7);
}

// Positions after each number of moves: OEIS A212693.
TEST(ConnectFourBoardTest, DistinctPositionsAreTheKnownOnes) {
  std::vector<size_t> known = {1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275};
  std::set<std::pair<uint64_t, uint64_t>> positions = {{0, 0}};
  for (size_t moves = 0; moves < known.size(); ++moves) {
    EXPECT_EQ(positions.size(), known[moves]) << moves;
    std::set<std::pair<uint64_t, uint64_t>> next;
    for (auto [own, other] : positions) {
      ConnectFourBoard board{.own = own, .other = other};
      for (int action = 0; action < board.kActions; ++action) {
        if (!board.IsLegal(action)) continue;
        ConnectFourBoard after = board;
        after.Play(action);
        next.emplace(after.own, after.other);
      }
    }
    positions = std::move(next);
  }
}

TEST(ConnectFourBoardTest, EveryDirectionWins) {
  // The last move of each makes four: upright, level, and both diagonals.
  std::vector<std::vector<int>> games = {{0, 1, 0, 1, 0, 1, 0},
                                         {3, 3, 4, 4, 5, 5, 6},
                                         {0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3},
                                         {6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3}};
  for (const std::vector<int>& game : games) {
    ConnectFourBoard board;
    for (int action : game) {
      ASSERT_TRUE(board.IsLegal(action));
      board.Play(action);
    }
    EXPECT_TRUE(board.IsOver());
    EXPECT_EQ(board.Result(), -1);
  }
}

TEST(BoardTest, IllegalActionsAreErrorsThatChangeNothing) {
  Board board = Board::Start("connect4").value();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(board.Play(3).has_value());
  std::string before = board.ToString();
  for (int action : {3, -1, 7}) {
    auto played = board.Play(action);
    ASSERT_FALSE(played.has_value());
    EXPECT_THAT(played.error().what, HasSubstr("is not legal"));
  }
  EXPECT_EQ(board.ToString(), before);
  EXPECT_EQ(before.substr(0, 16), "...o...\n...x...\n");
}

TEST(BoardTest, UnknownGamesAreErrorsThatNameTheGames) {
  auto board = Board::Start("chess");
  ASSERT_FALSE(board.has_value());
  EXPECT_THAT(board.error().next, HasSubstr("othello6, connect4, tictactoe"));
}

}  // namespace
}  // namespace eightfold::selfplay
