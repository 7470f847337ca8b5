#ifndef EIGHTFOLD_SELFPLAY_TRAJECTORY_H_
#define EIGHTFOLD_SELFPLAY_TRAJECTORY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "selfplay/bitboard.h"
#include "selfplay/safetensors.h"

// Games that were played, as tensors. M is the number of moves, A that of actions.
namespace eightfold::selfplay {

struct Trajectory {
  int64_t number = 0;            // of the game in its run, from 0
  std::vector<int32_t> actions;  // [M]
  std::vector<float> weights;    // [M,A]: the policy that the search found
  std::vector<float> values;     // [M]: of the position, for the player to move
  bool operator==(const Trajectory&) const = default;
};

// Appends G games to `file`:
//
//   PREFIXnumber s64[G], PREFIXlength s32[G]  the moves of each game
//   PREFIXaction s32[M], PREFIXweights f32[M,A], PREFIXvalue f32[M]  of all games, one behind the
//   other
void AppendTrajectories(TensorFile& file, std::string_view prefix,
                        std::span<const Trajectory> games, int64_t actions);

// What AppendTrajectories wrote. Errors: tensors that are missing, of another type or of dimensions
// that do not fit together; actions are not looked at.
Result<std::vector<Trajectory>> ReadTrajectories(const TensorFile& file, std::string_view prefix,
                                                 int64_t actions);

// The position after the moves of `trajectory`. Error: one of them is not legal.
Result<Board> Replay(std::string_view game, const Trajectory& trajectory);

// Finished games for those who learn from them: the tensors of AppendTrajectories without prefix,
// and what follows from the actions:
//
//   result  s8[G]               1, 0 or -1: the first player has won, drawn or lost
//   board   s8[M,rows,columns]  before the move; 1 a stone of the player to move, -1 of the other
//   player  s8[M]               to move: 0 or 1
//   outcome s8[M]               1, 0 or -1: how the game ended for the player to move
//
// Error: games that are not legal.
Result<TensorFile> MakeShard(std::string_view game, std::span<const Trajectory> games);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_TRAJECTORY_H_
