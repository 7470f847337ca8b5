#include "selfplay/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "base/hash.h"

namespace eightfold::selfplay {

using hlo::PrimitiveType;

namespace {

// Names in the file.
constexpr char kFormat[] = "format";
constexpr char kFormatName[] = "eightfold checkpoint 1";
constexpr char kHash[] = "hash";
constexpr char kMoves[] = "moves";
constexpr char kNextGame[] = "next_game";
constexpr char kShards[] = "shards";
constexpr int64_t kMost = int64_t{1} << 48;  // of anything that is counted
constexpr std::string_view kSetting = "setting.";
constexpr char kPlaying[] = "playing.";
constexpr char kFinished[] = "finished.";
constexpr char kState[] = "state";

// Of everything but itself, in an order that does not depend on that of the file.
std::string HashOf(const TensorFile& file) {
  uint64_t hash = 0;
  for (const auto& [key, value] : file.metadata) {
    if (key != kHash) hash = HashBytes(value, HashBytes(key, hash));
  }
  uint64_t tensors = 0;
  for (const Tensor& tensor : file.tensors) {
    uint64_t one = HashBytes(tensor.name, hash);
    tensors += HashBytes(tensor.bytes, HashBytes(ToString(tensor.type, tensor.dims), one));
  }
  return fmt::format("{:016x}", hash ^ tensors);
}

Result<int64_t> Number(const TensorFile& file, const std::string& key) {
  auto it = file.metadata.find(key);
  if (it == file.metadata.end()) return Fail(fmt::format("\"{}\" is missing", key));
  const std::string& text = it->second;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > kMost) {
    return Fail(fmt::format("\"{}\" is no count: {}", key, text));
  }
  return number;
}

Result<std::vector<Seat>> Seats(const Game& game, const TensorFile& file) {
  const GameInfo& info = game.info();
  EF_TRY(std::vector<Trajectory> playing, ReadTrajectories(file, kPlaying, info.actions));
  const Tensor* states = FindTensor(file, kState);
  const std::vector<int64_t> dims = {static_cast<int64_t>(playing.size()), Game::kWords};
  if (states == nullptr || states->type != PrimitiveType::kU64 || states->dims != dims) {
    return Fail("the states are missing, or are not of the games that are played");
  }
  std::vector<Seat> seats;
  for (Trajectory& trajectory : playing) {
    EF_TRY(Board board, Replay(info.name, trajectory));
    Seat seat{.trajectory = std::move(trajectory), .board = board};
    std::memcpy(seat.state.data(), states->bytes.data() + seats.size() * sizeof(seat.state),
                sizeof(seat.state));
    seats.push_back(std::move(seat));
  }
  return seats;
}

bool IsSound(const Trajectory& trajectory) {
  auto finite = [](float value) { return std::isfinite(value); };
  return std::ranges::all_of(trajectory.weights, finite) &&
         std::ranges::all_of(trajectory.values, finite);
}

// Numbers of games are each there once, below next_game; what is finished is over.
Result<void> CheckGames(const Game& game, const Checkpoint& checkpoint) {
  std::set<int64_t> numbers;
  auto check = [&](const Trajectory& trajectory) -> Result<void> {
    const int64_t number = trajectory.number;
    if (number < 0 || number >= checkpoint.state.next_game || !numbers.insert(number).second) {
      return Fail(fmt::format("game {} is where it cannot be", number));
    }
    if (IsSound(trajectory)) return {};
    return Fail(fmt::format("game {} has numbers that are not finite", number));
  };
  for (const Seat& seat : checkpoint.state.seats) {
    if (seat.trajectory.number != Seat::kEmpty) EF_CHECK_OK(check(seat.trajectory));
  }
  for (const Trajectory& trajectory : checkpoint.finished) {
    EF_CHECK_OK(check(trajectory));
    EF_TRY(Board board, Replay(game.info().name, trajectory));
    if (!board.IsOver()) return Fail(fmt::format("game {} is not over", trajectory.number));
  }
  return {};
}

}  // namespace

TensorFile EncodeCheckpoint(const Game& game, const Checkpoint& checkpoint) {
  TensorFile file;
  file.metadata = {{kFormat, kFormatName},
                   {kMoves, fmt::to_string(checkpoint.state.moves)},
                   {kNextGame, fmt::to_string(checkpoint.state.next_game)},
                   {kShards, fmt::to_string(checkpoint.shards)}};
  for (const auto& [key, value] : checkpoint.settings) {
    file.metadata[std::string(kSetting) + key] = value;
  }
  std::vector<Trajectory> playing;
  Tensor states{.name = kState,
                .type = PrimitiveType::kU64,
                .dims = {static_cast<int64_t>(checkpoint.state.seats.size()), Game::kWords}};
  for (const Seat& seat : checkpoint.state.seats) {
    playing.push_back(seat.trajectory);
    states.bytes.append(reinterpret_cast<const char*>(seat.state.data()), sizeof(seat.state));
  }
  AppendTrajectories(file, kPlaying, playing, game.info().actions);
  AppendTrajectories(file, kFinished, checkpoint.finished, game.info().actions);
  file.tensors.push_back(std::move(states));
  file.metadata[kHash] = HashOf(file);
  return file;
}

Result<RunSettings> SettingsOf(const TensorFile& file) {
  auto format = file.metadata.find(kFormat);
  if (format == file.metadata.end() || format->second != kFormatName) {
    return Fail("it is no checkpoint of this version");
  }
  auto hash = file.metadata.find(kHash);
  if (hash == file.metadata.end() || hash->second != HashOf(file)) {
    return Fail("its contents are not those that were written");
  }
  RunSettings settings;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(kSetting)) settings[key.substr(kSetting.size())] = value;
  }
  return settings;
}

Result<Checkpoint> DecodeCheckpoint(const Game& game, const TensorFile& file) {
  Checkpoint checkpoint;
  EF_TRY(checkpoint.settings, SettingsOf(file));
  EF_TRY(checkpoint.state.moves, Number(file, kMoves));
  EF_TRY(checkpoint.state.next_game, Number(file, kNextGame));
  EF_TRY(checkpoint.shards, Number(file, kShards));
  EF_TRY(checkpoint.state.seats, Seats(game, file));
  EF_TRY(checkpoint.finished, ReadTrajectories(file, kFinished, game.info().actions));
  if (checkpoint.state.seats.empty()) return Fail("it has no seats");
  EF_CHECK_OK(CheckGames(game, checkpoint));
  return checkpoint;
}

}  // namespace eightfold::selfplay
