#ifndef EIGHTFOLD_SELFPLAY_ROWS_H_
#define EIGHTFOLD_SELFPLAY_ROWS_H_

#include "hlo/builder.h"
#include "selfplay/ops.h"

// Formulas over the actions of one node per game. A `row` is f32[A,B], one number per action and
// game, a `column` f32[B], one per game. Games are the minor dimension: sums and maxima over the
// actions then run across games side by side, which XLA's CPU compiler vectorizes (3 to 8 times
// faster than f32[B,A] at 36 actions).
namespace eightfold::selfplay {

// A number for every action and game, from one per game or one for all.
hlo::Instruction* Spread(hlo::Builder& b, hlo::Instruction* column, hlo::Instruction* like_row);

// Over the actions: column of row.
inline hlo::Instruction* SumOver(hlo::Builder& b, hlo::Instruction* row) { return Sum(b, row, 0); }
inline hlo::Instruction* MaxOver(hlo::Builder& b, hlo::Instruction* row) { return Max(b, row, 0); }
inline hlo::Instruction* MinOver(hlo::Builder& b, hlo::Instruction* row) { return Min(b, row, 0); }
// s32[B]: the first of the actions with the highest number.
hlo::Instruction* ArgMaxOver(hlo::Builder& b, hlo::Instruction* row);

inline hlo::Instruction* SoftmaxOver(hlo::Builder& b, hlo::Instruction* row) {
  return Softmax(b, row, 0);
}
// log(max(x, smallest normal f32)).
hlo::Instruction* SafeLog(hlo::Builder& b, hlo::Instruction* x);
// Logits that give no probability to the actions of `invalid`, pred[A,B]; null: as they are. The
// lowest finite number, not minus infinity: with all actions invalid a softmax is still a number.
hlo::Instruction* MaskLogits(hlo::Builder& b, hlo::Instruction* row, hlo::Instruction* invalid);
// ArgMaxOver among the valid actions; 0 when there are none. `invalid` null: all are valid.
hlo::Instruction* ArgMaxValid(hlo::Builder& b, hlo::Instruction* row, hlo::Instruction* invalid);

// [A,B] of [B,A] and back; null stays null.
hlo::Instruction* Turn(hlo::Builder& b, hlo::Instruction* x);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_ROWS_H_
