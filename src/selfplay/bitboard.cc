#include "selfplay/bitboard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <utility>

#include "selfplay/game.h"

namespace eightfold::selfplay {
namespace {

// The cells of `size` columns and rows, eight bits a row.
constexpr uint64_t Square(int size) {
  uint64_t row = (uint64_t{1} << size) - 1;
  uint64_t all = 0;
  for (int i = 0; i < size; ++i) all |= row << (8 * i);
  return all;
}

// Stones moved by one cell, row by row and column by column; those that leave `board` are gone.
// Bits of columns that have left one row come out in the first or last column of another.
uint64_t Moved(uint64_t stones, int down, int right, uint64_t board) {
  constexpr uint64_t kFirstColumn = 0x0101010101010101;
  if (right > 0) stones = (stones << 1) & ~kFirstColumn;
  if (right < 0) stones = (stones & ~kFirstColumn) >> 1;
  if (down > 0) stones <<= 8;
  if (down < 0) stones >>= 8;
  return stones & board;
}

// Calls `visit(down, right)` for the eight directions.
template <class Visit>
void ForEachDirection(Visit visit) {
  for (int down = -1; down <= 1; ++down) {
    for (int right = -1; right <= 1; ++right) {
      if (down != 0 || right != 0) visit(down, right);
    }
  }
}

// Whether `stones`, eight bits a row, has four in a line.
bool HasFour(uint64_t stones) {
  bool found = false;
  ForEachDirection([&](int down, int right) {
    uint64_t line = stones;
    for (int i = 0; i < 3; ++i) line = stones & Moved(line, down, right, ~uint64_t{0});
    found = found || line != 0;
  });
  return found;
}

bool HasThree(uint64_t stones) {
  for (uint64_t line : {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124}) {
    if ((stones & line) == line) return true;
  }
  return false;
}

}  // namespace

template <int Size>
uint64_t OthelloBoard<Size>::Placements() const {
  constexpr uint64_t kBoard = Square(Size);
  uint64_t empty = kBoard & ~(own | other);
  uint64_t cells = 0;
  ForEachDirection([&](int down, int right) {
    uint64_t run = Moved(own, down, right, kBoard) & other;
    while (run != 0) {
      uint64_t next = Moved(run, down, right, kBoard);
      cells |= next & empty;
      run = next & other;
    }
  });
  return cells;
}

template <int Size>
bool OthelloBoard<Size>::IsLegal(int action) const {
  if (action < 0 || action >= kActions || IsOver()) return false;
  if (action == kPass) return Placements() == 0;
  return (Placements() & Cell(action / Size, action % Size)) != 0;
}

template <int Size>
void OthelloBoard<Size>::Play(int action) {
  if (action == kPass) {
    ++passes;
  } else {
    passes = 0;
    uint64_t placed = Cell(action / Size, action % Size);
    uint64_t flipped = 0;
    ForEachDirection([&](int down, int right) {
      uint64_t taken = 0;
      uint64_t at = Moved(placed, down, right, Square(Size));
      for (; (at & other) != 0; at = Moved(at, down, right, Square(Size))) taken |= at;
      if ((at & own) != 0) flipped |= taken;
    });
    own |= placed | flipped;
    other &= ~flipped;
  }
  std::swap(own, other);
  player = 1 - player;
}

template <int Size>
bool OthelloBoard<Size>::IsOver() const {
  return passes == 2 || (own | other) == Square(Size);
}

template <int Size>
int OthelloBoard<Size>::Result() const {
  if (!IsOver()) return 0;
  int lead = std::popcount(own) - std::popcount(other);
  return (lead > 0) - (lead < 0);
}

template struct OthelloBoard<6>;
template struct OthelloBoard<8>;

bool ConnectFourBoard::IsLegal(int action) const {
  return action >= 0 && action < kActions && !IsOver() && ((own | other) & Cell(0, action)) == 0;
}

void ConnectFourBoard::Play(int action) {
  int row = kRows - 1;
  while (((own | other) & Cell(row, action)) != 0) --row;
  own |= Cell(row, action);
  std::swap(own, other);
  player = 1 - player;
}

bool ConnectFourBoard::IsOver() const {
  return HasFour(other) || std::popcount(own | other) == kRows * kColumns;
}

int ConnectFourBoard::Result() const { return HasFour(other) ? -1 : 0; }

bool TicTacToeBoard::IsLegal(int action) const {
  return action >= 0 && action < kActions && !IsOver() && ((own | other) >> action & 1) == 0;
}

void TicTacToeBoard::Play(int action) {
  own |= uint64_t{1} << action;
  std::swap(own, other);
  player = 1 - player;
}

bool TicTacToeBoard::IsOver() const {
  return HasThree(other) || std::popcount(own | other) == kRows * kColumns;
}

int TicTacToeBoard::Result() const { return HasThree(other) ? -1 : 0; }

Result<Board> Board::Start(std::string_view game) {
  if (game == "othello6") return Board(OthelloBoard<6>());
  if (game == "connect4") return Board(ConnectFourBoard());
  if (game == "tictactoe") return Board(TicTacToeBoard());
  return Fail(fmt::format("there is no game \"{}\"", game),
              fmt::format("the games are {}", fmt::join(GameNames(), ", ")));
}

int Board::rows() const {
  return std::visit([](const auto& board) { return board.kRows; }, any_);
}

int Board::columns() const {
  return std::visit([](const auto& board) { return board.kColumns; }, any_);
}

int Board::actions() const {
  return std::visit([](const auto& board) { return board.kActions; }, any_);
}

int Board::player() const {
  return std::visit([](const auto& board) { return board.player; }, any_);
}

bool Board::IsLegal(int action) const {
  return std::visit([&](const auto& board) { return board.IsLegal(action); }, any_);
}

Result<void> Board::Play(int action) {
  if (!IsLegal(action)) {
    return Fail(
        fmt::format("action {} is not legal{}", action, IsOver() ? ": the game is over" : ""));
  }
  std::visit([&](auto& board) { board.Play(action); }, any_);
  return {};
}

bool Board::IsOver() const {
  return std::visit([](const auto& board) { return board.IsOver(); }, any_);
}

int Board::Result() const {
  return std::visit([](const auto& board) { return board.Result(); }, any_);
}

int Board::At(int row, int column) const {
  return std::visit(
      [&](const auto& board) {
        uint64_t cell = board.Cell(row, column);
        return ((board.own & cell) != 0) - ((board.other & cell) != 0);
      },
      any_);
}

std::string Board::ToString() const {
  std::string text;
  for (int row = 0; row < rows(); ++row) {
    for (int column = 0; column < columns(); ++column) {
      int of_first = player() == 0 ? At(row, column) : -At(row, column);
      text += of_first == 0 ? '.' : of_first > 0 ? 'x' : 'o';
    }
    text += '\n';
  }
  return text;
}

}  // namespace eightfold::selfplay
