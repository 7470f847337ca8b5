#ifndef EIGHTFOLD_SELFPLAY_CALIBRATION_H_
#define EIGHTFOLD_SELFPLAY_CALIBRATION_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pjrt/execute.h"
#include "selfplay/actor.h"
#include "selfplay/parameters.h"
#include "selfplay/programs.h"

namespace eightfold::selfplay {

// Observations f32[count,rows,columns,3] (Game::Observe), dense, of positions in games that are
// played at random, from the start to the last move.
std::vector<float> RandomObservations(std::string_view game, int64_t count, uint64_t seed);

// The same on the device.
Result<pjrt::Buffer> UploadRandomObservations(const pjrt::Client& client, const GameInfo& game,
                                              int64_t count, uint64_t seed);

// The largest magnitude in the input of each convolution of the blocks, for ToPrecision, over some
// thousand random positions, whatever the batch of `options`. `f32` are the parameters of the
// network of `options`, of any precision, in f32.
Result<std::vector<float>> Calibrate(const pjrt::Client& client, ProgramOptions options,
                                     const Parameters& f32, uint64_t seed,
                                     const Actor::Compile& compile);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_CALIBRATION_H_
