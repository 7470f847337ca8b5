#ifndef EIGHTFOLD_SELFPLAY_PARAMETERS_H_
#define EIGHTFOLD_SELFPLAY_PARAMETERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "selfplay/network.h"
#include "selfplay/safetensors.h"

// What a network has learned, on the host.
namespace eightfold::selfplay {

// In the order, with the names, types and dimensions of NetworkParameters.
using Parameters = std::vector<Tensor>;

// A network that has learned nothing: normal weights that keep the size of what passes through
// (variance 2 / inputs, in the last convolution of a block divided by the number of blocks), biases
// of zero. f32 whatever the precision of `options`; the same numbers for the same seed.
Parameters RandomParameters(const NetworkOptions& options, uint64_t seed);

// Parameters of f32 in the precision of `options`. For FP8 a weight_scale is the largest magnitude
// of its weights / 448, and an input_scale is that of `largest_inputs` / 448, where those are per
// convolution, as BuildCalibration returns them, or one for all.
Parameters ToPrecision(const NetworkOptions& options, const Parameters& f32,
                       std::span<const float> largest_inputs);
// Of random networks and boards, a few times more than they reach.
constexpr float kLargestInputOfRandom = 64;

// As safetensors. Errors: see ReadTensors; tensors that this network does not have, or has in
// another type or in other dimensions; tensors that are missing; numbers that are not finite,
// scales that are not positive.
Result<Parameters> ReadParameters(const std::string& path, const NetworkOptions& options);

struct GivenParameters {
  bool in_f32 = false;  // and not in the precision of the network, if that is another
  Parameters parameters;
};
// The same where the file holds the precision of `options` or f32.
Result<GivenParameters> ReadParametersOrF32(const std::string& path, const NetworkOptions& options);

Result<void> WriteParameters(const std::string& path, const Parameters& parameters);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_PARAMETERS_H_
