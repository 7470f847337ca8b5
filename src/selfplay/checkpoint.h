#ifndef EIGHTFOLD_SELFPLAY_CHECKPOINT_H_
#define EIGHTFOLD_SELFPLAY_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "selfplay/actor.h"
#include "selfplay/game.h"
#include "selfplay/safetensors.h"
#include "selfplay/trajectory.h"

namespace eightfold::selfplay {

// What makes a run the run that it is, as text: "sims": "16".
using RunSettings = std::map<std::string, std::string>;

// A run between two moves.
struct Checkpoint {
  RunSettings settings;
  ActorState state;
  int64_t shards = 0;                // that are complete
  std::vector<Trajectory> finished;  // games that are in none of them
};

TensorFile EncodeCheckpoint(const Game& game, const Checkpoint& checkpoint);

// Which run `file` is a checkpoint of. Errors: it is none, or is damaged: it holds a hash of all
// that is in it.
Result<RunSettings> SettingsOf(const TensorFile& file);

// Errors also: it is of another game, or games in it are not legal.
Result<Checkpoint> DecodeCheckpoint(const Game& game, const TensorFile& file);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_CHECKPOINT_H_
