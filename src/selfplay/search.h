#ifndef EIGHTFOLD_SELFPLAY_SEARCH_H_
#define EIGHTFOLD_SELFPLAY_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "hlo/builder.h"
#include "selfplay/loop.h"

// Tree search of MuZero and Gumbel MuZero as HLO: all games of a batch at once, all simulations in
// one `while` loop. B is the batch, A the number of actions.
namespace eightfold::selfplay {

// What a state is worth: MuZero's prediction function.
struct Prediction {
  hlo::Instruction* logits = nullptr;  // [B,A], f32 or narrower; illegal actions may be far below
  hlo::Instruction* value = nullptr;   // [B], for the player to move
};
// What an action leads to: MuZero's dynamics function.
struct Transition {
  hlo::Instruction* reward = nullptr;     // [B]
  hlo::Instruction* discount = nullptr;   // [B]: -1 when the other player moves next, 0 at the end
  hlo::Instruction* embedding = nullptr;  // like the embedding before
};

// Both functions are built inside loops, so what they use of the calling computation (parameters of
// the network, usually) is listed in `weights` and handed to them as it is called there. They must
// be functions: the same embedding and action give the same numbers.
struct Model {
  int64_t actions = 0;
  Values weights;
  std::function<Transition(hlo::Builder&, const Values& weights, hlo::Instruction* action,
                           hlo::Instruction* embedding)>
      step;  // action s32[B], embedding [B,…]
  std::function<Prediction(hlo::Builder&, const Values& weights, hlo::Instruction* embedding)>
      predict;
};

struct SearchOptions {
  int64_t simulations = 16;             // at least 1
  int64_t max_depth = 0;                // edges from the root; 0: as deep as it goes
  hlo::Instruction* invalid = nullptr;  // pred[B,A]: actions the root does not have; null: none
  // Evaluates the root as iteration zero of the loop: `predict` is then built once, not twice.
  bool root_in_loop = false;
};

struct GumbelOptions {
  // f32[B,A], standard Gumbel noise; null: none, the best action is played.
  hlo::Instruction* gumbel = nullptr;
  int64_t max_considered = 16;  // actions tried at the root
  // Q-values count (maxvisit_init + visits of the most visited action) * value_scale.
  double value_scale = 0.1;
  double maxvisit_init = 50;
  bool rescale_values = true;   // Q-values of a node to [0, 1] first
  bool use_mixed_value = true;  // for unvisited actions; else the predicted value of the node
  double epsilon = 1e-8;        // least range of values that is rescaled
};

// Numbers in [0, 1) for every decision, to break ties. `at` is built inside the loops and gets
// `values` as they are called there; simulation (from 0) and depth are s32[]. Returns f32[B,A].
struct TieNoise {
  Values values;
  std::function<hlo::Instruction*(hlo::Builder&, const Values& values, hlo::Instruction* simulation,
                                  hlo::Instruction* depth)>
      at;  // empty: the first of equal actions
};

struct PuctOptions {
  // f32[B,A], a sample of the Dirichlet distribution per game; null: none.
  hlo::Instruction* dirichlet = nullptr;
  double dirichlet_fraction = 0.25;  // of the root's prior; without effect when there is no noise
  double pb_c_init = 1.25;
  double pb_c_base = 19652;
  double epsilon = 1e-8;  // least range of values that is rescaled
  // The action is drawn in proportion to visits ^ (1 / temperature) with this standard Gumbel
  // noise, f32[B,A]; null: the most visited action.
  hlo::Instruction* gumbel = nullptr;
  double temperature = 1;
  TieNoise tie_noise;  // added times 1e-7
};

struct SearchResult {
  hlo::Instruction* action = nullptr;          // s32[B], to play
  hlo::Instruction* action_weights = nullptr;  // f32[B,A], the policy to learn
  hlo::Instruction* value = nullptr;           // f32[B], of the root after the search
  hlo::Instruction* visit_counts = nullptr;    // s32[B,A] at the root
  hlo::Instruction* qvalues = nullptr;         // f32[B,A] at the root; 0 for unvisited actions
};

// "Policy improvement by planning with Gumbel" (Danihelka et al., 2022): sequential halving with
// Gumbel noise at the root, deterministic selection below; the weights are the improved policy.
// `embedding`: [B,…], any type. Options that do not fit are programming mistakes:
// std::logic_error.
SearchResult GumbelMuZero(hlo::Builder& b, const Model& model, hlo::Instruction* embedding,
                          const SearchOptions& options, const GumbelOptions& gumbel = {});

// MuZero (Schrittwieser et al., 2020, appendix B): PUCT everywhere; the weights are the visits.
SearchResult MuZero(hlo::Builder& b, const Model& model, hlo::Instruction* embedding,
                    const SearchOptions& options, const PuctOptions& puct = {});

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_SEARCH_H_
