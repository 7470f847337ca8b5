#include "selfplay/calibration.h"

#include <random>
#include <utility>

#include "hlo/module.h"
#include "hlo/proto/proto.h"

namespace eightfold::selfplay {

using hlo::PrimitiveType;

namespace {

// Of random games, enough for some hundred of them.
constexpr int64_t kPositions = 4096;

void AppendObservation(const Board& board, std::vector<float>& to) {
  for (int row = 0; row < board.rows(); ++row) {
    for (int column = 0; column < board.columns(); ++column) {
      const int stone = board.At(row, column);
      to.push_back(stone > 0 ? 1.F : 0.F);
      to.push_back(stone < 0 ? 1.F : 0.F);
      to.push_back(static_cast<float>(board.player()));
    }
  }
}

// One of the actions that are legal; the game is not over.
int RandomAction(const Board& board, std::mt19937_64& random) {
  std::vector<int> legal;
  for (int action = 0; action < board.actions(); ++action) {
    if (board.IsLegal(action)) legal.push_back(action);
  }
  return legal.at(random() % legal.size());
}

}  // namespace

std::vector<float> RandomObservations(std::string_view game, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Board start = Board::Start(game).value();
  Board board = start;
  std::vector<float> observations;
  for (int64_t i = 0; i < count; ++i) {
    AppendObservation(board, observations);
    (void)board.Play(RandomAction(board, random));
    if (board.IsOver()) board = start;
  }
  return observations;
}

Result<pjrt::Buffer> UploadRandomObservations(const pjrt::Client& client, const GameInfo& game,
                                              int64_t count, uint64_t seed) {
  return pjrt::Buffer::FromHost(
      client, {PrimitiveType::kF32, {count, game.rows, game.columns, Game::kPlanes}},
      RandomObservations(game.name, count, seed));
}

Result<std::vector<float>> Calibrate(const pjrt::Client& client, ProgramOptions options,
                                     const Parameters& f32, uint64_t seed,
                                     const Actor::Compile& compile) {
  options.precision = Precision::kF32;
  options.batch = kPositions;
  hlo::Module module;
  BuildCalibration(module, options);
  EF_TRY(std::string program, hlo::WriteProto(module));
  EF_TRY(pjrt::LoadedExecutable calibration, compile(program));
  EF_TRY(std::vector<pjrt::Buffer> arguments, Upload(client, f32));
  EF_TRY(pjrt::Buffer observation,
         UploadRandomObservations(client, options.game->info(), options.batch, seed));
  arguments.push_back(std::move(observation));
  EF_TRY(std::vector<pjrt::Buffer> results, calibration.Execute(arguments));
  return results.at(2).ToHost<float>();
}

}  // namespace eightfold::selfplay
