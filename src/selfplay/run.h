#ifndef EIGHTFOLD_SELFPLAY_RUN_H_
#define EIGHTFOLD_SELFPLAY_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "selfplay/actor.h"
#include "selfplay/checkpoint.h"
#include "selfplay/game.h"

namespace eightfold::selfplay {

// The folder of a run:
//
//   shard-00000.safetensors …  finished games (MakeShard), in the order in which they ended; all
//                              have equally many, but for the last
//   checkpoint.safetensors     where the run is
//   lock                       held while a process plays
//
// Every file appears by one rename, and a shard before the checkpoint that counts it. A run that
// was killed goes on from its checkpoint, and writes the shards after it again: no game is lost,
// none is there twice, and on a device that gives the same numbers the files are those of a run
// that was not killed.
class RunFolder {
 public:
  // Makes the folder, unless it is there, and locks it. Error: another process plays there.
  static Result<RunFolder> Open(const std::string& path);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  std::string ShardPath(int64_t shard) const;
  std::string CheckpointPath() const;

  // The checkpoint; without one, that of a run with `settings` that has not begun (no seats).
  // Errors: it is damaged, or of a run with other settings; shards that it counts are missing;
  // there are shards, but no checkpoint.
  Result<Checkpoint> Load(const Game& game, const RunSettings& settings) const;
  // Errors also: the folder is no longer where it was.
  Result<void> Save(const Game& game, const Checkpoint& checkpoint) const;
  Result<void> SaveShard(const Game& game, const RunSettings& settings, int64_t shard,
                         std::span<const Trajectory> games) const;

 private:
  RunFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  Result<void> CheckThatItIsThere() const;
  Result<void> Write(const std::string& path, const TensorFile& file) const;
  std::string path_;
  int lock_;
};

struct RunOptions {
  int64_t games_per_shard = 1000;
  double checkpoint_seconds = 30;  // 0: after every move
};

struct RunSummary {
  bool finished = false;    // else it was told to stop
  int64_t games = 0;        // that are finished, those before a restart included
  int64_t first_games = 0;  // of those, before this process
  int64_t moves = 0;        // that this process played
  int64_t shards = 0;
  double seconds = 0;  // of this process
};

// Called after each move with what there is so far; false ends the run after a checkpoint.
using RunProgress = std::function<bool(const RunSummary&)>;

// Plays from `start`, which `folder` has loaded, until all games are finished. Errors: those of the
// actor, after a checkpoint, and of writing; the last checkpoint stays.
Result<RunSummary> Play(const RunFolder& folder, const Game& game, Checkpoint start, Actor& actor,
                        const RunOptions& options, const RunProgress& progress);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_RUN_H_
