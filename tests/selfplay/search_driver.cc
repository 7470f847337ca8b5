// Writes a search over a model that is a table, as a HloModuleProto, to standard output:
// search_parity_test.py runs it next to mctx. Arguments: name=number, see Settings.
//
// Parameters: 0 next s32[T,A], 1 logits f32[T,A], 2 value f32[T], 3 reward f32[T,A], 4 discount
// f32[T,A] of T states, 5 state of the root s32[B], 6 gumbel f32[B,A], 7 invalid pred[B,A]; with
// puct 8 dirichlet f32[B,A], 9 tie noise f32[S,depth,B,A]. Results: those of SearchResult.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "../hlo/print_proto.h"
#include "selfplay/ops.h"
#include "selfplay/search.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;

struct Settings {
  std::map<std::string, double> numbers = {
      {"batch", 8},          {"actions", 9},     {"states", 64},      {"simulations", 16},
      {"max_depth", 0},      {"puct", 0},        {"root_in_loop", 0}, {"invalid", 1},
      {"considered", 16},    {"rescale", 1},     {"mixed", 1},        {"value_scale", 0.1},
      {"maxvisit_init", 50}, {"fraction", 0.25}, {"temperature", 1},  {"wide_embedding", 0}};

  double operator[](const char* name) const { return numbers.at(name); }
  int64_t Int(const char* name) const { return static_cast<int64_t>(numbers.at(name)); }
  bool Parse(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      size_t equals = std::min(argument.find('='), argument.size());
      auto found = numbers.find(argument.substr(0, equals));
      if (found == numbers.end() || equals == argument.size()) return false;
      found->second = std::atof(argument.c_str() + equals + 1);
    }
    return true;
  }
};

// table[state, action] of each game.
Instruction* Lookup(Builder& b, Instruction* table, Instruction* state, Instruction* action) {
  int64_t batch = state->shape->dims[0];
  Instruction* at = b.Concatenate({b.Reshape(state, {batch, 1}), b.Reshape(action, {batch, 1})}, 1);
  int64_t sizes[] = {1, 1};
  return b.Gather(table, at,
                  {.collapsed = {0, 1}, .start_index_map = {0, 1}, .index_vector_dim = 1}, sizes);
}

// The embedding is the state, s32[B], or stands in a corner of f32[B,2,3].
struct Embedding {
  bool wide;

  Instruction* Of(Builder& b, Instruction* state) const {
    if (!wide) return state;
    int64_t batch = state->shape->dims[0];
    return b.Broadcast(b.Convert(state, kF32), {batch, 2, 3}, {0});
  }
  Instruction* State(Builder& b, Instruction* embedding) const {
    if (!wide) return embedding;
    int64_t batch = embedding->shape->dims[0];
    Instruction* corner = b.Slice(embedding, {{0, batch, 1}, {1, 2, 1}, {2, 3, 1}});
    return b.Convert(b.Reshape(corner, {batch}), kS32);
  }
};

Model TableModel(const Settings& settings, const Values& tables) {
  Embedding embedding{settings["wide_embedding"] != 0};
  Model model{.actions = settings.Int("actions"), .weights = tables};
  model.step = [=](Builder& b, const Values& w, Instruction* action, Instruction* from) {
    Instruction* state = embedding.State(b, from);
    return Transition{Lookup(b, w[3], state, action), Lookup(b, w[4], state, action),
                      embedding.Of(b, Lookup(b, w[0], state, action))};
  };
  model.predict = [=](Builder& b, const Values& w, Instruction* from) {
    Instruction* state = embedding.State(b, from);
    int64_t sizes[] = {1, w[1]->shape->dims[1]};
    Instruction* logits = b.Gather(
        w[1], state,
        {.offset = {1}, .collapsed = {0}, .start_index_map = {0}, .index_vector_dim = 1}, sizes);
    int64_t one[] = {1};
    Instruction* value = b.Gather(
        w[2], state, {.collapsed = {0}, .start_index_map = {0}, .index_vector_dim = 1}, one);
    return Prediction{logits, value};
  };
  return model;
}

// Parameter 9 at the simulation and depth.
TieNoise Injected(Instruction* noise) {
  TieNoise tie_noise{.values = {noise}};
  tie_noise.at = [](Builder& b, const Values& values, Instruction* simulation, Instruction* depth) {
    int64_t batch = values[0]->shape->dims[2];
    int64_t actions = values[0]->shape->dims[3];
    Instruction* zero = b.Constant(kS32, 0);
    Instruction* part =
        b.DynamicSlice(values[0], {simulation, depth, zero, zero}, {1, 1, batch, actions});
    return b.Reshape(part, {batch, actions});
  };
  return tie_noise;
}

SearchResult Build(Builder& b, const Settings& settings) {
  int64_t batch = settings.Int("batch");
  int64_t actions = settings.Int("actions");
  int64_t states = settings.Int("states");
  int64_t simulations = settings.Int("simulations");
  Values tables = {b.Parameter(0, b.Array(kS32, {states, actions})),
                   b.Parameter(1, b.Array(kF32, {states, actions})),
                   b.Parameter(2, b.Array(kF32, {states})),
                   b.Parameter(3, b.Array(kF32, {states, actions})),
                   b.Parameter(4, b.Array(kF32, {states, actions}))};
  Instruction* state = b.Parameter(5, b.Array(kS32, {batch}));
  Instruction* gumbel = b.Parameter(6, b.Array(kF32, {batch, actions}));
  Instruction* invalid = b.Parameter(7, b.Array(PrimitiveType::kPred, {batch, actions}));
  SearchOptions options{.simulations = simulations,
                        .max_depth = settings.Int("max_depth"),
                        .invalid = settings["invalid"] != 0 ? invalid : nullptr,
                        .root_in_loop = settings["root_in_loop"] != 0};
  Model model = TableModel(settings, tables);
  Instruction* root = Embedding{settings["wide_embedding"] != 0}.Of(b, state);
  if (settings["puct"] == 0) {
    return GumbelMuZero(b, model, root, options,
                        {.gumbel = gumbel,
                         .max_considered = settings.Int("considered"),
                         .value_scale = settings["value_scale"],
                         .maxvisit_init = settings["maxvisit_init"],
                         .rescale_values = settings["rescale"] != 0,
                         .use_mixed_value = settings["mixed"] != 0});
  }
  int64_t depth = options.max_depth > 0 ? options.max_depth : simulations;
  return MuZero(
      b, model, root, options,
      {.dirichlet = b.Parameter(8, b.Array(kF32, {batch, actions})),
       .dirichlet_fraction = settings["fraction"],
       .gumbel = gumbel,
       .temperature = settings["temperature"],
       .tie_noise = Injected(b.Parameter(9, b.Array(kF32, {simulations, depth, batch, actions})))});
}

int Run(int argc, char** argv) {
  Settings settings;
  if (!settings.Parse(argc, argv)) {
    std::fprintf(stderr, "arguments are name=number of the settings in search_driver.cc\n");
    return 2;
  }
  hlo::Module module;
  module.name = "search";
  Builder b(module, "main");
  SearchResult r = Build(b, settings);
  module.entry = b.Build(b.Tuple({r.action, r.action_weights, r.value, r.visit_counts, r.qvalues}));
  return hlo::PrintProto(module);
}

}  // namespace
}  // namespace eightfold::selfplay

int main(int argc, char** argv) { return eightfold::selfplay::Run(argc, argv); }
