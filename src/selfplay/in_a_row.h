#ifndef EIGHTFOLD_SELFPLAY_IN_A_ROW_H_
#define EIGHTFOLD_SELFPLAY_IN_A_ROW_H_

#include "selfplay/game.h"

namespace eightfold::selfplay {

// Who first has so many stones in a row, in a line or diagonal, has won; a full board is a draw.
class InARowGame : public Game {
 public:
  // 3x3; actions are the cells, row by row from the top left.
  static InARowGame TicTacToe() { return InARowGame("tictactoe", 3, 3, 3, false); }
  // Six rows of seven; actions are the columns, a stone falls to the lowest empty cell.
  static InARowGame ConnectFour() { return InARowGame("connect4", 6, 7, 4, true); }

  hlo::Instruction* Legal(hlo::Builder& b, hlo::Instruction* state) const override;
  hlo::Instruction* Step(hlo::Builder& b, hlo::Instruction* state,
                         hlo::Instruction* action) const override;
  hlo::Instruction* Terminal(hlo::Builder& b, hlo::Instruction* state) const override;
  hlo::Instruction* Result(hlo::Builder& b, hlo::Instruction* state) const override;

 private:
  InARowGame(std::string_view name, int64_t rows, int64_t columns, int length, bool falls);

  // Bits from a cell to its right neighbour. Columns stand side by side, the lowest cell first; the
  // bit above the top is never set, so lines do not run over an edge.
  int64_t stride() const { return info().rows + 1; }
  // u64[B]: the stone of `action`; 0 where there is no room.
  hlo::Instruction* Placed(hlo::Builder& b, hlo::Instruction* stones,
                           hlo::Instruction* action) const;
  // pred[B]: whether `stones` has a row.
  hlo::Instruction* HasRow(hlo::Builder& b, hlo::Instruction* stones) const;
  // Only who moved last can have a row.
  hlo::Instruction* IsOver(hlo::Builder& b, const Words& words) const;

  int length_;
  bool falls_;
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_IN_A_ROW_H_
