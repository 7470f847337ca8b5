#ifndef EIGHTFOLD_SELFPLAY_PROGRAMS_H_
#define EIGHTFOLD_SELFPLAY_PROGRAMS_H_

#include <cstdint>

#include "hlo/module.h"
#include "selfplay/game.h"
#include "selfplay/network.h"
#include "selfplay/search.h"

// The programs of self-play. The first parameters of each are those of the network, in the order of
// NetworkParameters, unless it says otherwise; results are tuples.
namespace eightfold::selfplay {

struct ProgramOptions {
  const Game* game = nullptr;
  int64_t batch = 256;  // B
  int64_t width = 128;
  int64_t blocks = 10;
  Precision precision = Precision::kFp8;
  bool fp8_in_f32 = false;   // see NetworkOptions
  int64_t rows_at_once = 0;  // see NetworkOptions
  int64_t simulations = 16;
  bool root_in_loop = false;  // see SearchOptions
};

// The same programs made for XLA's CPU compiler: same parameters and arguments, same results up to
// the order of sums.
ProgramOptions ForCpu(ProgramOptions options);

// The network for the game.
NetworkOptions NetworkOf(const ProgramOptions& options);

// The game and network as a model to search in: embeddings are states of the game. A reward is what
// the move wins, illegal actions have low logits, and nothing follows the end of a game.
Model GameModel(const ProgramOptions& options, const Values& parameters);

// Each fills an empty module.
//
// (…, observation f32[B,rows,columns,3]) -> logits f32[B,A], value f32[B].
void BuildForward(hlo::Module& module, const ProgramOptions& options);
// The same, and then the largest magnitude that the input of each convolution in a block has in
// this batch, f32[2*blocks]: for ToPrecision in parameters.h.
void BuildCalibration(hlo::Module& module, const ProgramOptions& options);
// As forward, and then logits and value of observation / 2: the network twice in one computation.
void BuildTwoForwards(hlo::Module& module, const ProgramOptions& options);
// (…, key u32[2], state u64[B,3]) -> action s32[B], weights f32[B,A], value of the root f32[B]:
// Gumbel MuZero, its noise drawn from the key. Games that are over get action 0.
void BuildPolicyMove(hlo::Module& module, const ProgramOptions& options);
// (state u64[B,3], action s32[B]) -> the state after it u64[B,3]. Takes no parameters of a network.
void BuildStep(hlo::Module& module, const ProgramOptions& options);
// As the policy move, and then the sum of the values f32[B] that the network alone sees in four
// moves after it: the network in three computations.
void BuildThreeCopies(hlo::Module& module, const ProgramOptions& options);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_PROGRAMS_H_
