#ifndef EIGHTFOLD_SELFPLAY_BOARD_OPS_H_
#define EIGHTFOLD_SELFPLAY_BOARD_OPS_H_

#include <cstdint>
#include <span>

#include "hlo/builder.h"

// Formulas over bitboards: u64[B], one board per game, and u64[D,B], one per direction and game.
// Games are the minor dimension, so XLA's CPU compiler works on several at once.
namespace eightfold::selfplay {

// u64 of the dimensions of `like` with these 64 bits.
hlo::Instruction* Bits(hlo::Builder& b, hlo::Instruction* like, uint64_t bits);
// u64[D,B]: `board`, u64[B], once per direction.
hlo::Instruction* EachDirection(hlo::Builder& b, hlo::Instruction* board, int64_t directions);
// u64[D,B]: row i is `number[i]` times `times`.
hlo::Instruction* PerDirection(hlo::Builder& b, hlo::Instruction* like,
                               std::span<const int64_t> numbers, int64_t times = 1);
// u64[B] of u64[D,B]: the bits that some direction has.
hlo::Instruction* AnyDirection(hlo::Builder& b, hlo::Instruction* boards);
// pred: whether any bit is set.
hlo::Instruction* HasBits(hlo::Builder& b, hlo::Instruction* boards);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_BOARD_OPS_H_
