#ifndef EIGHTFOLD_SELFPLAY_OTHELLO_H_
#define EIGHTFOLD_SELFPLAY_OTHELLO_H_

#include "selfplay/game.h"

namespace eightfold::selfplay {

// Othello on 6x6. Actions 0 to 35 place a stone, row by row from the top left; 36 passes. The game
// is over when the board is full or both players have passed in a row; who has more stones has won.
class OthelloGame : public Game {
 public:
  OthelloGame();
  hlo::Instruction* Legal(hlo::Builder& b, hlo::Instruction* state) const override;
  hlo::Instruction* Step(hlo::Builder& b, hlo::Instruction* state,
                         hlo::Instruction* action) const override;
  hlo::Instruction* Terminal(hlo::Builder& b, hlo::Instruction* state) const override;
  hlo::Instruction* Result(hlo::Builder& b, hlo::Instruction* state) const override;

 private:
  // pred[B]
  hlo::Instruction* IsOver(hlo::Builder& b, const Words& words) const;
};

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_OTHELLO_H_
