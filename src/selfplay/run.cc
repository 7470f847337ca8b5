#include "selfplay/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "base/source.h"

namespace eightfold::selfplay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kCheckpoint[] = "checkpoint.safetensors";
constexpr char kLock[] = "lock";
constexpr char kUnfinished[] = ".tmp";
constexpr char kShard[] = "shard-";

// Names of the files in the folder that begin with one of `beginnings`.
std::vector<std::string> Names(const std::string& path,
                               std::initializer_list<std::string_view> beginnings) {
  std::error_code ignored;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    std::string name = it->path().filename().string();
    const bool begins = std::ranges::any_of(
        beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
    if (begins && it->is_regular_file(ignored)) names.push_back(std::move(name));
  }
  return names;
}

// What processes that were killed had begun to write.
void RemoveUnfinished(const std::string& path) {
  std::error_code ignored;
  for (const std::string& name : Names(path, {kCheckpoint, kShard})) {
    if (name.ends_with(kUnfinished)) fs::remove(fs::path(path) / name, ignored);
  }
}

// Whether what is in the file or folder `path` is on disk now. That folders cannot be synchronized
// is no error: some file systems say so.
bool Synchronize(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = fsync(fd) == 0;
  close(fd);
  return done;
}

// WriteFile that outlives a loss of power, too: the contents are on disk before the name is.
Result<void> WriteDurably(const std::string& path, std::string_view bytes) {
  const std::string unnamed = path + kUnfinished;
  auto fail = [&] {
    const std::string why = std::strerror(errno);
    unlink(unnamed.c_str());
    return Fail(fmt::format("cannot write {}: {}", path, why));
  };
  if (!WriteFile(unnamed, bytes)) return fail();
  if (!Synchronize(unnamed, O_RDONLY) || rename(unnamed.c_str(), path.c_str()) != 0) return fail();
  Synchronize(fs::path(path).parent_path().string(), O_RDONLY | O_DIRECTORY);
  return {};
}

Result<void> SameSettings(const std::string& path, const RunSettings& there,
                          const RunSettings& wanted) {
  std::string differences;
  for (const auto& [key, value] : wanted) {
    auto it = there.find(key);
    if (it != there.end() && it->second == value) continue;
    differences += fmt::format("{}{} {}, not {}", differences.empty() ? "" : "; ", key,
                               it == there.end() ? "unknown" : it->second, value);
  }
  if (differences.empty()) return {};
  return Fail(fmt::format("{} holds another run: {}", path, differences),
              "the same options go on with it; another run needs another --out");
}

tl::unexpected<Error> Damaged(const std::string& checkpoint, Error error) {
  if (error.what.find(checkpoint) == std::string::npos) error.where.file = checkpoint;
  error.next =
      "the finished games beside it are not affected. Move it away with them, and the same command "
      "plays all of them again";
  return Fail(std::move(error));
}

// A run on its way.
class Player {
 public:
  Player(const RunFolder& folder, const Game& game, Checkpoint start, Actor& actor,
         const RunOptions& options)
      : folder_(folder), game_(game), at_(std::move(start)), actor_(actor), options_(options) {}

  Result<RunSummary> Play(const RunProgress& progress) {
    if (!at_.state.seats.empty()) {
      if (Result<void> restored = actor_.Restore(std::move(at_.state)); !restored) {
        return Damaged(folder_.CheckpointPath(), std::move(restored).error());
      }
      EF_CHECK_OK(CheckBooks());
    }
    summary_.first_games = Games();
    while (!actor_.IsDone()) {
      if (!progress(Summary())) {
        EF_CHECK_OK(Save());
        return Summary();
      }
      const int64_t playing = actor_.playing();
      Result<std::vector<Trajectory>> finished = actor_.Move();
      if (!finished) {
        EF_CHECK_OK(Save());
        return tl::unexpected(std::move(finished).error());
      }
      summary_.moves += playing;
      for (Trajectory& trajectory : *finished) at_.finished.push_back(std::move(trajectory));
      const bool full = at_.finished.size() >= static_cast<size_t>(options_.games_per_shard);
      while (at_.finished.size() >= static_cast<size_t>(options_.games_per_shard)) {
        EF_CHECK_OK(SaveShard(static_cast<size_t>(options_.games_per_shard)));
      }
      if (full || SecondsSince(saved_) >= options_.checkpoint_seconds) EF_CHECK_OK(Save());
    }
    return Finish();
  }

 private:
  static double SecondsSince(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  // What a checkpoint says of shards, against what it says of games.
  Result<void> CheckBooks() const {
    const auto unsaved = static_cast<int64_t>(at_.finished.size());
    const int64_t saved = Games() - unsaved;
    const int64_t size = options_.games_per_shard;
    const bool complete = actor_.IsDone() && unsaved == 0;
    if (saved >= 0 && at_.shards == (complete ? (saved + size - 1) / size : saved / size) &&
        (complete || saved % size == 0)) {
      return {};
    }
    return Damaged(folder_.CheckpointPath(),
                   {.what = fmt::format("{} files of games for {} games", at_.shards, saved)});
  }

  // That are finished.
  int64_t Games() const { return actor_.state().next_game - actor_.playing(); }

  RunSummary Summary() {
    summary_.finished = actor_.IsDone();
    summary_.games = Games();
    summary_.shards = at_.shards;
    summary_.seconds = SecondsSince(started_);
    return summary_;
  }

  Result<RunSummary> Finish() {
    if (!at_.finished.empty()) EF_CHECK_OK(SaveShard(at_.finished.size()));
    if (summary_.moves > 0) EF_CHECK_OK(Save());
    return Summary();
  }

  Result<void> SaveShard(size_t games) {
    const std::span first(at_.finished.data(), games);
    EF_CHECK_OK(folder_.SaveShard(game_, at_.settings, at_.shards, first));
    at_.finished.erase(at_.finished.begin(),
                       at_.finished.begin() + static_cast<std::ptrdiff_t>(games));
    ++at_.shards;
    return {};
  }

  Result<void> Save() {
    at_.state = actor_.state();
    EF_CHECK_OK(folder_.Save(game_, at_));
    saved_ = Clock::now();
    return {};
  }

  const RunFolder& folder_;
  const Game& game_;
  Checkpoint at_;  // but for the actor's state, which is current only where it is saved
  Actor& actor_;
  const RunOptions& options_;
  RunSummary summary_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point saved_ = started_;
};

}  // namespace

Result<RunFolder> RunFolder::Open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    return Fail(fmt::format("cannot make the folder {}: {}", path,
                            error ? error.message() : "a file has that name"));
  }
  const std::string lock_path = (fs::path(path) / kLock).string();
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) return Fail(fmt::format("cannot write {}: {}", lock_path, std::strerror(errno)));
  RunFolder folder(path, lock);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return Fail(fmt::format("another process plays in {}", path),
                "wait for it, or choose another --out");
  }
  RemoveUnfinished(path);
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

std::string RunFolder::ShardPath(int64_t shard) const {
  return (fs::path(path_) / fmt::format("{}{:05}.safetensors", kShard, shard)).string();
}

std::string RunFolder::CheckpointPath() const { return (fs::path(path_) / kCheckpoint).string(); }

Result<Checkpoint> RunFolder::Load(const Game& game, const RunSettings& settings) const {
  const std::string path = CheckpointPath();
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (!Names(path_, {kShard}).empty()) {
      return Fail(fmt::format("{} has games, but no {}", path_, kCheckpoint),
                  "a run that begins would write over them: choose another --out");
    }
    Checkpoint fresh;
    fresh.settings = settings;
    return fresh;
  }
  Result<TensorFile> file = ReadTensors(path);
  if (!file) return Damaged(path, std::move(file).error());
  Result<RunSettings> there = SettingsOf(*file);
  if (!there) return Damaged(path, std::move(there).error());
  EF_CHECK_OK(SameSettings(path_, *there, settings));
  Result<Checkpoint> checkpoint = DecodeCheckpoint(game, *file);
  if (!checkpoint) return Damaged(path, std::move(checkpoint).error());
  const auto shards = static_cast<int64_t>(Names(path_, {kShard}).size());
  if (shards < checkpoint->shards) {
    return Fail(fmt::format("{} counts {} files of games, and {} are there", path,
                            checkpoint->shards, shards),
                "put the others back, or begin again with another --out");
  }
  return checkpoint;
}

// Whether the folder of this name is still the one that is locked.
Result<void> RunFolder::CheckThatItIsThere() const {
  struct stat locked {};
  struct stat named {};
  const std::string lock_path = (fs::path(path_) / kLock).string();
  if (fstat(lock_, &locked) == 0 && stat(lock_path.c_str(), &named) == 0 &&
      locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) {
    return {};
  }
  return Fail(fmt::format("{} was moved or removed while games were played there", path_),
              "put it back, and the same command goes on from its last checkpoint");
}

Result<void> RunFolder::Write(const std::string& path, const TensorFile& file) const {
  EF_CHECK_OK(CheckThatItIsThere());
  Result<void> written = WriteDurably(path, EncodeTensors(file));
  if (written) return {};
  EF_CHECK_OK(CheckThatItIsThere());
  Error error = std::move(written).error();
  std::error_code ignored;
  error.next = fs::exists(CheckpointPath(), ignored)
                   ? "when it can be written, the same command goes on from the last checkpoint"
                   : "nothing has been written there yet";
  return Fail(std::move(error));
}

Result<void> RunFolder::Save(const Game& game, const Checkpoint& checkpoint) const {
  return Write(CheckpointPath(), EncodeCheckpoint(game, checkpoint));
}

Result<void> RunFolder::SaveShard(const Game& game, const RunSettings& settings, int64_t shard,
                                  std::span<const Trajectory> games) const {
  EF_TRY(TensorFile file, MakeShard(game.info().name, games));
  file.metadata = settings;
  return Write(ShardPath(shard), file);
}

Result<RunSummary> Play(const RunFolder& folder, const Game& game, Checkpoint start, Actor& actor,
                        const RunOptions& options, const RunProgress& progress) {
  return Player(folder, game, std::move(start), actor, options).Play(progress);
}

}  // namespace eightfold::selfplay
