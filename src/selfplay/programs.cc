#include "selfplay/programs.h"

#include <algorithm>
#include <bit>

#include "selfplay/loop.h"
#include "selfplay/ops.h"
#include "selfplay/rng.h"

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;

// Far below what a network says, and not so far that sums with it overflow.
constexpr double kIllegalLogit = -1e9;

// Boards times channels of a piece (NetworkOptions::rows_at_once) whose activations stay in the
// cache of a core: measured, with 32 channels 64 boards take a fifth less time than 256 at once,
// with 64 channels 32 boards take 6 % less.
constexpr int64_t kPiece = 2048;

// Moves of BuildThreeCopies after the search.
constexpr double kMovesAfter = 4;

// What the network sees in states of the game; where a game is over no action is legal and all
// logits are equal.
Prediction Evaluate(Builder& b, const ProgramOptions& options, const Values& parameters,
                    Instruction* state) {
  Prediction p = Network(b, NetworkOf(options), parameters, options.game->Observe(b, state));
  p.logits = Where(b, options.game->Legal(b, state), p.logits, b.Constant(kF32, kIllegalLogit));
  return p;
}

Transition Move(Builder& b, const Game& game, Instruction* action, Instruction* state) {
  Instruction* next = game.Step(b, state, action);
  // Result speaks for the player to move, who has not made this move; a game is won once.
  Instruction* won = b.Negate(game.Result(b, next));
  Instruction* nothing = b.Constant(kF32, 0);
  return {.reward = Where(b, game.Terminal(b, state), nothing, won),
          .discount = Where(b, game.Terminal(b, next), nothing, b.Constant(kF32, -1)),
          .embedding = next};
}

Instruction* Observation(Builder& b, const ProgramOptions& options, size_t number) {
  const GameInfo& info = options.game->info();
  const hlo::Shape* shape = b.Array(kF32, {options.batch, info.rows, info.columns, Game::kPlanes});
  return b.Parameter(static_cast<int64_t>(number), shape, "observation");
}

// A policy move in progress: what was declared and what was found.
struct PolicyMove {
  Values parameters;
  Instruction* state = nullptr;
  SearchResult found;
};

PolicyMove AddPolicyMove(Builder& b, const ProgramOptions& options) {
  const Game& game = *options.game;
  PolicyMove move;
  move.parameters = DeclareParameters(b, NetworkOf(options));
  auto number = static_cast<int64_t>(move.parameters.size());
  Instruction* key = b.Parameter(number, b.Array(PrimitiveType::kU32, {2}), "key");
  move.state =
      b.Parameter(number + 1, b.Array(PrimitiveType::kU64, {options.batch, Game::kWords}), "state");
  int64_t noise_dims[] = {options.batch, game.info().actions};
  move.found = GumbelMuZero(b, GameModel(options, move.parameters), move.state,
                            {.simulations = options.simulations,
                             .invalid = b.Not(game.Legal(b, move.state)),
                             .root_in_loop = options.root_in_loop},
                            {.gumbel = Gumbel(b, key, noise_dims)});
  return move;
}

}  // namespace

ProgramOptions ForCpu(ProgramOptions options) {
  options.fp8_in_f32 = true;
  options.rows_at_once = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, kPiece / options.width))));
  return options;
}

NetworkOptions NetworkOf(const ProgramOptions& options) {
  const GameInfo& info = options.game->info();
  return {.rows = info.rows,
          .columns = info.columns,
          .planes = Game::kPlanes,
          .actions = info.actions,
          .width = options.width,
          .blocks = options.blocks,
          .precision = options.precision,
          .fp8_in_f32 = options.fp8_in_f32,
          .rows_at_once = options.rows_at_once};
}

Model GameModel(const ProgramOptions& options, const Values& parameters) {
  Model model{.actions = options.game->info().actions, .weights = parameters};
  model.step = [options](Builder& b, const Values&, Instruction* action, Instruction* state) {
    return Move(b, *options.game, action, state);
  };
  model.predict = [options](Builder& b, const Values& weights, Instruction* state) {
    return Evaluate(b, options, weights, state);
  };
  return model;
}

void BuildForward(hlo::Module& module, const ProgramOptions& options) {
  module.name = "forward";
  Builder b(module, "main");
  Values parameters = DeclareParameters(b, NetworkOf(options));
  Instruction* observation = Observation(b, options, parameters.size());
  Prediction p = Network(b, NetworkOf(options), parameters, observation);
  module.entry = b.Build(b.Tuple({p.logits, p.value}));
}

void BuildCalibration(hlo::Module& module, const ProgramOptions& options) {
  module.name = "calibration";
  Builder b(module, "main");
  Values parameters = DeclareParameters(b, NetworkOf(options));
  Instruction* observation = Observation(b, options, parameters.size());
  Values largest;
  Prediction p = Network(b, NetworkOf(options), parameters, observation, &largest);
  for (Instruction*& x : largest) x = b.Reshape(x, {1});
  Instruction* all = largest.empty() ? b.Zeros(kF32, {0}) : b.Concatenate(largest, 0);
  module.entry = b.Build(b.Tuple({p.logits, p.value, all}));
}

void BuildTwoForwards(hlo::Module& module, const ProgramOptions& options) {
  module.name = "two_forwards";
  Builder b(module, "main");
  Values parameters = DeclareParameters(b, NetworkOf(options));
  Instruction* observation = Observation(b, options, parameters.size());
  Instruction* half = b.Multiply(observation, b.Like(observation, 0.5));
  Prediction p = Network(b, NetworkOf(options), parameters, observation);
  Prediction q = Network(b, NetworkOf(options), parameters, half);
  module.entry = b.Build(b.Tuple({p.logits, p.value, q.logits, q.value}));
}

void BuildPolicyMove(hlo::Module& module, const ProgramOptions& options) {
  module.name = "policy_move";
  Builder b(module, "main");
  SearchResult r = AddPolicyMove(b, options).found;
  module.entry = b.Build(b.Tuple({r.action, r.action_weights, r.value}));
}

void BuildStep(hlo::Module& module, const ProgramOptions& options) {
  module.name = "step";
  Builder b(module, "main");
  Instruction* state =
      b.Parameter(0, b.Array(PrimitiveType::kU64, {options.batch, Game::kWords}), "state");
  Instruction* action = b.Parameter(1, b.Array(kS32, {options.batch}), "action");
  module.entry = b.Build(b.Tuple({options.game->Step(b, state, action)}));
}

void BuildThreeCopies(hlo::Module& module, const ProgramOptions& options) {
  module.name = "three_copies";
  Builder b(module, "main");
  auto [parameters, state, found] = AddPolicyMove(b, options);
  enum : size_t { kMove, kState, kTotal, kWeights };
  Instruction* after = options.game->Step(b, state, found.action);
  Values start = {b.Constant(kS32, 0), after, b.ZerosLike(found.value)};
  start.insert(start.end(), parameters.begin(), parameters.end());
  auto more = [](Builder& in, const Values& carried) {
    return in.Less(carried[kMove], in.Constant(kS32, kMovesAfter));
  };
  auto play = [&](Builder& in, const Values& carried) {
    Values weights(carried.begin() + kWeights, carried.end());
    Prediction p = Evaluate(in, options, weights, carried[kState]);
    Values next = carried;
    next[kMove] = in.Add(carried[kMove], in.Constant(kS32, 1));
    next[kState] = options.game->Step(in, carried[kState], ArgMax(in, p.logits));
    next[kTotal] = in.Add(carried[kTotal], p.value);
    return next;
  };
  Values end = Loop(b, "play", start, more, play);
  module.entry = b.Build(b.Tuple({found.action, found.action_weights, found.value, end[kTotal]}));
}

}  // namespace eightfold::selfplay
