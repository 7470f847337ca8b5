#ifndef EIGHTFOLD_SELFPLAY_BITBOARD_H_
#define EIGHTFOLD_SELFPLAY_BITBOARD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

// The games of game.h on the host, one position at a time: what the HLO is checked against, and
// what keeps the books of the games that are played. Rules and actions are those of game.h; layouts
// and algorithms are not. A position is from the view of the player to move: `own` and `other`.
namespace eightfold::selfplay {

// Othello on Size x Size, rows of eight bits, Size even and at most 8.
template <int Size>
struct OthelloBoard {
  static constexpr int kRows = Size;
  static constexpr int kColumns = Size;
  static constexpr int kPass = Size * Size;
  static constexpr int kActions = kPass + 1;

  uint64_t own = Cell(Size / 2 - 1, Size / 2) | Cell(Size / 2, Size / 2 - 1);
  uint64_t other = Cell(Size / 2 - 1, Size / 2 - 1) | Cell(Size / 2, Size / 2);
  int passes = 0;  // in a row
  int player = 0;

  static constexpr uint64_t Cell(int row, int column) { return uint64_t{1} << (row * 8 + column); }
  // Cells where a stone takes others.
  uint64_t Placements() const;
  bool IsLegal(int action) const;
  void Play(int action);  // a legal one
  bool IsOver() const;
  int Result() const;  // 1, 0 or -1 for the player to move; 0 while the game goes on
};
extern template struct OthelloBoard<6>;
extern template struct OthelloBoard<8>;

// Rows of eight bits, from the top.
struct ConnectFourBoard {
  static constexpr int kRows = 6;
  static constexpr int kColumns = 7;
  static constexpr int kActions = kColumns;

  uint64_t own = 0;
  uint64_t other = 0;
  int player = 0;

  static constexpr uint64_t Cell(int row, int column) { return uint64_t{1} << (row * 8 + column); }
  bool IsLegal(int action) const;
  void Play(int action);
  bool IsOver() const;
  int Result() const;
};

// Cell `row`, `column` is bit row * 3 + column, as the action.
struct TicTacToeBoard {
  static constexpr int kRows = 3;
  static constexpr int kColumns = 3;
  static constexpr int kActions = 9;

  uint64_t own = 0;
  uint64_t other = 0;
  int player = 0;

  static constexpr uint64_t Cell(int row, int column) { return uint64_t{1} << (row * 3 + column); }
  bool IsLegal(int action) const;
  void Play(int action);
  bool IsOver() const;
  int Result() const;
};

// A position of any of the games.
class Board {
 public:
  // The start of a game that game.h has. The error lists the names.
  static eightfold::Result<Board> Start(std::string_view game);

  int rows() const;
  int columns() const;
  int actions() const;
  int player() const;  // to move, 0 or 1
  // None are legal when the game is over, nor actions that there are not.
  bool IsLegal(int action) const;
  // Errors: an action that is not legal, which leaves the board as it was.
  eightfold::Result<void> Play(int action);
  bool IsOver() const;
  int Result() const;  // 1, 0 or -1 for the player to move; 0 while the game goes on
  // 1 for a stone of the player to move, -1 for one of the other, 0 for none.
  int At(int row, int column) const;
  // The stones of the first player as x, of the second as o, empty cells as dots, a line per row.
  std::string ToString() const;

 private:
  using Any = std::variant<OthelloBoard<6>, ConnectFourBoard, TicTacToeBoard>;
  explicit Board(Any any) : any_(any) {}

  Any any_;
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_BITBOARD_H_
