#include "selfplay/trajectory.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>
#include <utility>

namespace eightfold::selfplay {

using hlo::PrimitiveType;

namespace {

template <class T>
constexpr PrimitiveType TypeOf() {
  if constexpr (std::is_same_v<T, float>) {
    return PrimitiveType::kF32;
  } else if constexpr (std::is_same_v<T, int8_t>) {
    return PrimitiveType::kS8;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return PrimitiveType::kS32;
  } else {
    static_assert(std::is_same_v<T, int64_t>);
    return PrimitiveType::kS64;
  }
}

template <class T>
Tensor Make(std::string name, std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor tensor{.name = std::move(name), .type = TypeOf<T>(), .dims = std::move(dims)};
  if (values.empty()) return tensor;
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

template <class T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

tl::unexpected<Error> Wrong(const std::string& name, std::string_view what) {
  return Fail(fmt::format("tensor \"{}\" {}", name, what));
}

// Elements of a tensor whose dimensions are `size` (negative: any) and then `row`.
template <class T>
Result<std::vector<T>> Take(const TensorFile& file, const std::string& name, int64_t size,
                            std::span<const int64_t> row = {}) {
  const Tensor* tensor = FindTensor(file, name);
  if (tensor == nullptr) return Wrong(name, "is missing");
  std::vector<int64_t> dims = {size < 0 && !tensor->dims.empty() ? tensor->dims[0] : size};
  dims.insert(dims.end(), row.begin(), row.end());
  if (tensor->type != TypeOf<T>() || tensor->dims != dims) {
    return Wrong(name, fmt::format("is {}, not {}", ToString(tensor->type, tensor->dims),
                                   ToString(TypeOf<T>(), dims)));
  }
  std::vector<T> values(tensor->bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

// What a shard says of games besides the trajectories themselves.
struct Positions {
  std::vector<int8_t> result, board, player, outcome;
};

Result<void> AddPositions(std::string_view game, const Trajectory& trajectory, Positions& all) {
  EF_TRY(Board board, Board::Start(game));
  const size_t first = all.player.size();
  for (int32_t action : trajectory.actions) {
    for (int row = 0; row < board.rows(); ++row) {
      for (int column = 0; column < board.columns(); ++column) {
        all.board.push_back(static_cast<int8_t>(board.At(row, column)));
      }
    }
    all.player.push_back(static_cast<int8_t>(board.player()));
    EF_CHECK_OK(board.Play(action));
  }
  const int of_first = board.player() == 0 ? board.Result() : -board.Result();
  all.result.push_back(static_cast<int8_t>(of_first));
  for (size_t i = first; i < all.player.size(); ++i) {
    all.outcome.push_back(static_cast<int8_t>(all.player[i] == 0 ? of_first : -of_first));
  }
  return {};
}

}  // namespace

void AppendTrajectories(TensorFile& file, std::string_view prefix,
                        std::span<const Trajectory> games, int64_t actions) {
  std::vector<int64_t> number;
  std::vector<int32_t> length;
  Trajectory all;
  for (const Trajectory& game : games) {
    number.push_back(game.number);
    length.push_back(static_cast<int32_t>(game.actions.size()));
    Append(all.actions, game.actions);
    Append(all.weights, game.weights);
    Append(all.values, game.values);
  }
  auto name = [&](std::string_view what) { return fmt::format("{}{}", prefix, what); };
  const auto count = static_cast<int64_t>(games.size());
  const auto moves = static_cast<int64_t>(all.actions.size());
  file.tensors.push_back(Make(name("number"), {count}, number));
  file.tensors.push_back(Make(name("length"), {count}, length));
  file.tensors.push_back(Make(name("action"), {moves}, all.actions));
  file.tensors.push_back(Make(name("weights"), {moves, actions}, all.weights));
  file.tensors.push_back(Make(name("value"), {moves}, all.values));
}

Result<std::vector<Trajectory>> ReadTrajectories(const TensorFile& file, std::string_view prefix,
                                                 int64_t actions) {
  auto name = [&](std::string_view what) { return fmt::format("{}{}", prefix, what); };
  EF_TRY(std::vector<int64_t> number, Take<int64_t>(file, name("number"), -1));
  EF_TRY(std::vector<int32_t> length,
         Take<int32_t>(file, name("length"), static_cast<int64_t>(number.size())));
  int64_t moves = 0;
  for (int32_t moves_of_game : length) {
    if (moves_of_game < 0) return Wrong(name("length"), "has a game of fewer than no moves");
    moves += moves_of_game;
  }
  Trajectory all;
  const int64_t row[] = {actions};
  EF_TRY(all.actions, Take<int32_t>(file, name("action"), moves));
  EF_TRY(all.weights, Take<float>(file, name("weights"), moves, row));
  EF_TRY(all.values, Take<float>(file, name("value"), moves));
  std::vector<Trajectory> games;
  int64_t at = 0;
  for (size_t i = 0; i < number.size(); ++i) {
    const int64_t end = at + length[i];
    games.push_back(
        {.number = number[i],
         .actions = {all.actions.begin() + at, all.actions.begin() + end},
         .weights = {all.weights.begin() + at * actions, all.weights.begin() + end * actions},
         .values = {all.values.begin() + at, all.values.begin() + end}});
    at = end;
  }
  return games;
}

Result<Board> Replay(std::string_view game, const Trajectory& trajectory) {
  EF_TRY(Board board, Board::Start(game));
  for (int32_t action : trajectory.actions) EF_CHECK_OK(board.Play(action));
  return board;
}

Result<TensorFile> MakeShard(std::string_view game, std::span<const Trajectory> games) {
  EF_TRY(Board start, Board::Start(game));
  Positions all;
  for (const Trajectory& trajectory : games) EF_CHECK_OK(AddPositions(game, trajectory, all));
  TensorFile file;
  AppendTrajectories(file, "", games, start.actions());
  const auto count = static_cast<int64_t>(games.size());
  const auto moves = static_cast<int64_t>(all.player.size());
  file.tensors.push_back(Make("result", {count}, all.result));
  file.tensors.push_back(Make("board", {moves, start.rows(), start.columns()}, all.board));
  file.tensors.push_back(Make("player", {moves}, all.player));
  file.tensors.push_back(Make("outcome", {moves}, all.outcome));
  return file;
}

}  // namespace eightfold::selfplay
