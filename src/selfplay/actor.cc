#include "selfplay/actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hlo/module.h"
#include "hlo/proto/proto.h"
#include "selfplay/rng.h"

namespace eightfold::selfplay {

using hlo::PrimitiveType;

namespace {

Result<pjrt::LoadedExecutable> BuildAndCompile(void (*build)(hlo::Module&, const ProgramOptions&),
                                               const ProgramOptions& options,
                                               const Actor::Compile& compile) {
  hlo::Module module;
  build(module, options);
  EF_TRY(std::string program, hlo::WriteProto(module));
  return compile(program);
}

// The key of the random numbers in a move of the batch.
std::vector<uint32_t> KeyFor(uint64_t seed, int64_t move) {
  const auto number = static_cast<uint64_t>(move);
  const Key key =
      Threefry(KeyOf(seed), {static_cast<uint32_t>(number >> 32), static_cast<uint32_t>(number)});
  return {key[0], key[1]};
}

tl::unexpected<Error> Impossible(const Seat& seat, const std::string& what) {
  return FailCompiler(
      fmt::format("game {}, move {}: {}", seat.trajectory.number, seat.trajectory.actions.size(),
                  what),
      "where the parameters of --network are sound (no number so large that sums overflow), the "
      "device or its compiler is at fault; the games before this move are not affected");
}

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

Result<std::vector<pjrt::Buffer>> Upload(const pjrt::Client& client, const Parameters& parameters) {
  std::vector<pjrt::Buffer> buffers;
  for (const Tensor& tensor : parameters) {
    EF_TRY(
        pjrt::Buffer buffer,
        pjrt::Buffer::FromHost(client, {tensor.type, tensor.dims},
                               std::as_bytes(std::span(tensor.bytes.data(), tensor.bytes.size()))));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

int64_t ActorState::playing() const {
  return std::ranges::count_if(
      seats, [](const Seat& seat) { return seat.trajectory.number != Seat::kEmpty; });
}

bool SameBoard(const GameInfo& info, std::span<const uint64_t, Game::kWords> state,
               const Board& board) {
  for (size_t cell = 0; cell < info.cells.size(); ++cell) {
    const auto at = static_cast<int>(cell);
    const int stone = static_cast<int>(state[0] >> info.cells[cell] & 1) -
                      static_cast<int>(state[1] >> info.cells[cell] & 1);
    if (stone != board.At(at / board.columns(), at % board.columns())) return false;
  }
  return true;
}

Result<Actor> Actor::Create(const pjrt::Client& client, const Options& options,
                            const Parameters& parameters, const Compile& compile) {
  EF_TRY(Board start, Board::Start(options.program.game->info().name));
  EF_TRY(pjrt::LoadedExecutable move, BuildAndCompile(BuildPolicyMove, options.program, compile));
  EF_TRY(pjrt::LoadedExecutable step, BuildAndCompile(BuildStep, options.program, compile));
  Actor actor(options, client, std::move(move), std::move(step), start);
  EF_TRY(actor.parameters_, Upload(client, parameters));
  for (int64_t i = 0; i < options.program.batch; ++i) {
    actor.state_.seats.push_back({.trajectory = {}, .board = start});
    actor.FillSeat(actor.state_.seats.back());
  }
  return actor;
}

// A seat without a game has a board, too: the device plays on all.
void Actor::FillSeat(Seat& seat) {
  const GameInfo& info = options_.program.game->info();
  const bool more = state_.next_game < options_.games;
  seat = {.trajectory = {.number = more ? state_.next_game++ : Seat::kEmpty},
          .board = start_,
          .state = {info.start[0], info.start[1], 0}};
}

Result<void> Actor::Restore(ActorState state) {
  const GameInfo& info = options_.program.game->info();
  if (state.seats.size() != state_.seats.size() || state.moves < 0 || state.next_game < 0 ||
      state.next_game > options_.games) {
    return Fail("a state of another run");
  }
  for (const Seat& seat : state.seats) {
    if (!SameBoard(info, seat.state, seat.board)) return Fail("a board that its moves do not make");
    if (seat.trajectory.number == Seat::kEmpty) continue;
    if (seat.board.IsOver()) {
      return Fail(fmt::format("game {} goes on after its end", seat.trajectory.number));
    }
  }
  if (state.playing() == 0 && state.next_game < options_.games)
    return Fail("games that nobody plays");
  state_ = std::move(state);
  return {};
}

Result<Actor::Answer> Actor::Ask() const {
  std::vector<uint64_t> states;
  for (const Seat& seat : state_.seats) {
    states.insert(states.end(), seat.state.begin(), seat.state.end());
  }
  EF_TRY(pjrt::Buffer key, pjrt::Buffer::FromHost(client_, {PrimitiveType::kU32, {2}},
                                                  KeyFor(options_.seed, state_.moves)));
  EF_TRY(pjrt::Buffer state,
         pjrt::Buffer::FromHost(
             client_, {PrimitiveType::kU64, {options_.program.batch, Game::kWords}}, states));
  std::vector<const pjrt::Buffer*> arguments;
  for (const pjrt::Buffer& parameter : parameters_) arguments.push_back(&parameter);
  arguments.insert(arguments.end(), {&key, &state});
  EF_TRY(std::vector<pjrt::Buffer> found, move_.Execute(arguments));
  const pjrt::Buffer* step_arguments[] = {&state, &found.at(0)};
  EF_TRY(std::vector<pjrt::Buffer> next, step_.Execute(step_arguments));
  Answer answer;
  EF_TRY(answer.actions, found.at(0).ToHost<int32_t>());
  EF_TRY(answer.weights, found.at(1).ToHost<float>());
  EF_TRY(answer.values, found.at(2).ToHost<float>());
  EF_TRY(answer.states, next.at(0).ToHost<uint64_t>());
  return answer;
}

std::span<const float> Actor::WeightsAt(const Answer& answer, size_t place) const {
  const auto actions = static_cast<size_t>(options_.program.game->info().actions);
  return std::span(answer.weights).subspan(place * actions, actions);
}

std::span<const uint64_t, Game::kWords> Actor::StateAt(const Answer& answer, size_t place) {
  return std::span(answer.states).subspan(place * Game::kWords).first<Game::kWords>();
}

Result<Board> Actor::Check(const Answer& answer, size_t place) const {
  const Seat& seat = state_.seats[place];
  const int32_t action = answer.actions[place];
  if (!AllFinite(WeightsAt(answer, place)) || !std::isfinite(answer.values[place])) {
    return Impossible(seat, "the search gave numbers that are not finite");
  }
  Board board = seat.board;
  if (Result<void> played = board.Play(action); !played) {
    return Impossible(seat, played.error().what);
  }
  if (!SameBoard(options_.program.game->info(), StateAt(answer, place), board)) {
    return Impossible(seat, fmt::format("action {} does not lead to the board that it should:\n{}",
                                        action, board.ToString()));
  }
  return board;
}

Result<std::vector<Trajectory>> Actor::Move() {
  EF_TRY(Answer answer, Ask());
  std::vector<Board> boards;
  for (size_t place = 0; place < state_.seats.size(); ++place) {
    boards.push_back(start_);
    if (state_.seats[place].trajectory.number == Seat::kEmpty) continue;
    EF_TRY(boards.back(), Check(answer, place));
  }
  std::vector<Trajectory> finished;
  for (size_t place = 0; place < state_.seats.size(); ++place) {
    Seat& seat = state_.seats[place];
    Trajectory& trajectory = seat.trajectory;
    if (trajectory.number == Seat::kEmpty) continue;
    seat.board = boards[place];
    std::ranges::copy(StateAt(answer, place), seat.state.begin());
    trajectory.actions.push_back(answer.actions[place]);
    trajectory.values.push_back(answer.values[place]);
    const auto weights = WeightsAt(answer, place);
    trajectory.weights.insert(trajectory.weights.end(), weights.begin(), weights.end());
    if (!seat.board.IsOver()) continue;
    finished.push_back(std::move(trajectory));
    FillSeat(seat);
  }
  ++state_.moves;
  return finished;
}

}  // namespace eightfold::selfplay
