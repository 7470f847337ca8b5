#ifndef EIGHTFOLD_SELFPLAY_ACTOR_H_
#define EIGHTFOLD_SELFPLAY_ACTOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pjrt/execute.h"
#include "selfplay/bitboard.h"
#include "selfplay/game.h"
#include "selfplay/parameters.h"
#include "selfplay/programs.h"
#include "selfplay/trajectory.h"

namespace eightfold::selfplay {

// A place of the batch and the game that is played there.
struct Seat {
  static constexpr int64_t kEmpty = -1;  // number of the trajectory: no game any more

  Trajectory trajectory;
  Board board;                                 // the host's view of it
  std::array<uint64_t, Game::kWords> state{};  // the device's
};

// Where a run is: all that the next move depends on, besides parameters and seed.
struct ActorState {
  int64_t moves = 0;      // of the batch; chooses the random numbers of the next
  int64_t next_game = 0;  // number of the first game that has not begun
  std::vector<Seat> seats;

  int64_t playing() const;  // the number of games that are being played
};

// Plays numbered games, as many at once as the batch has: each begins in the first seat that is
// free. What is played depends on nothing but options, parameters and seed, as far as the device
// gives the same numbers again. The host plays along and checks every move.
class Actor {
 public:
  struct Options {
    ProgramOptions program;
    int64_t games = 0;
    uint64_t seed = 0;
  };
  // Compiles a program, a serialized HloModuleProto.
  using Compile = std::function<Result<pjrt::LoadedExecutable>(const std::string& program)>;

  // An actor before its first move. `options` and `parameters` must fit together: std::logic_error.
  // Errors: those of `compile` and of the device.
  static Result<Actor> Create(const pjrt::Client& client, const Options& options,
                              const Parameters& parameters, const Compile& compile);

  // Goes on from `state`, which is of an actor with the same options. Error: it is none.
  Result<void> Restore(ActorState state);
  const ActorState& state() const { return state_; }

  bool IsDone() const { return playing() == 0; }
  int64_t playing() const { return state_.playing(); }

  // Makes a move in all games; those that it ended, in the order of their seats. Error: the device
  // fails, or answers what cannot be: an illegal move, a board that is not the host's, numbers that
  // are not finite. The state is then that before the move.
  Result<std::vector<Trajectory>> Move();

 private:
  struct Answer {
    std::vector<int32_t> actions;
    std::vector<float> weights, values;
    std::vector<uint64_t> states;
  };
  Actor(const Options& options, pjrt::Client client, pjrt::LoadedExecutable move,
        pjrt::LoadedExecutable step, const Board& start)
      : options_(options),
        client_(std::move(client)),
        move_(std::move(move)),
        step_(std::move(step)),
        start_(start) {}
  // What the device plays next in all seats.
  Result<Answer> Ask() const;
  // The board after the move in the seat `place`.
  Result<Board> Check(const Answer& answer, size_t place) const;
  std::span<const float> WeightsAt(const Answer& answer, size_t place) const;
  static std::span<const uint64_t, Game::kWords> StateAt(const Answer& answer, size_t place);
  // Begins the next game there, if there is one.
  void FillSeat(Seat& seat);

  Options options_;
  pjrt::Client client_;
  pjrt::LoadedExecutable move_;
  pjrt::LoadedExecutable step_;
  Board start_;
  std::vector<pjrt::Buffer> parameters_;
  ActorState state_;
};

// The parameters of a network on the device, in their order.
Result<std::vector<pjrt::Buffer>> Upload(const pjrt::Client& client, const Parameters& parameters);

// Whether the stones of `state` are those on `board`.
bool SameBoard(const GameInfo& info, std::span<const uint64_t, Game::kWords> state,
               const Board& board);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_ACTOR_H_
