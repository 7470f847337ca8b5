#include "maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "generate.h"

namespace eightfold::differential {
namespace {

std::vector<int64_t> Permutation(int64_t size, Choices& choices) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (!choices.OneIn(3)) return order;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + choices.Below(static_cast<uint32_t>(order.size() - i))]);
  }
  return order;
}

}  // namespace

hlo::Computation* Maker::Make() {
  ChooseFamily();
  Convolution();
  const uint32_t steps = choices_.Below(14);
  for (uint32_t i = 0; i < steps; ++i) Step();
  return builder_.Build(Root());
}

void Maker::ChooseFamily() {
  chain_ = choices_.OneIn(2);
  spatial_ = choices_.Of({2, 2, 2, 2, 1, 3, 2, 2, 1, 3, 4});
  std::vector<int64_t> order = Permutation(spatial_ + 2, choices_);
  // Batch, spatial dimensions, features, wherever `order` puts them.
  batch_at_ = order.front();
  feature_at_ = order.back();
  spatial_at_.assign(order.begin() + 1, order.end() - 1);
  main_.assign(static_cast<size_t>(spatial_) + 2, 1);
  main_[static_cast<size_t>(batch_at_)] = choices_.Of({2, 1, 4, 8, 3});
  main_[static_cast<size_t>(feature_at_)] = choices_.Of({8, 16, 4, 2, 1, 3});
  for (int64_t at : spatial_at_) main_[static_cast<size_t>(at)] = choices_.Of({4, 3, 5, 1, 8, 2});
  filter_layout_ = Permutation(spatial_ + 2, choices_);
}

void Maker::Step() {
  switch (choices_.Below(9)) {
    case 8:
      return Convolution();
    default:
      return Follow();
  }
}

// Everything that nothing uses, sometimes with some of the rest, sometimes without.
Instruction* Maker::Root() {
  std::unordered_set<const Instruction*> used;
  for (const Instruction* instruction : all_) {
    for (const Instruction* operand : instruction->operands) used.insert(operand);
  }
  std::vector<Instruction*> results;
  const bool dead_code = choices_.OneIn(12);
  for (Instruction* value : all_) {
    if (used.contains(value) || value->opcode == Opcode::kParameter) continue;
    if (!dead_code || !choices_.OneIn(3)) results.push_back(value);
  }
  const uint32_t extra = !chain_ && choices_.OneIn(4) ? 1 + choices_.Below(2) : 0;
  for (uint32_t i = 0; i < extra; ++i) {
    results.push_back(Recent(tensors_));
  }
  // A root that dead code uses is what no compiler hands on.
  if (results.size() == 1 && !dead_code && !choices_.OneIn(3)) return results[0];
  return builder_.Tuple(results);
}

Instruction* Maker::Parameter(PrimitiveType type, const Dims& dims) {
  Instruction* made =
      builder_.Parameter(parameters_, module_.shapes.ArrayWithDefaultLayout(type, dims),
                         fmt::format("p{}.{}", parameters_, name_));
  ++parameters_;
  return made;
}

Instruction* Maker::Keep(Instruction* tensor) {
  all_.push_back(tensor);
  tensors_.push_back(tensor);
  return tensor;
}

Instruction* Maker::Recent(const std::vector<Instruction*>& pool) {
  if (chain_ || !choices_.OneIn(4)) return pool.back();
  return pool[pool.size() - 1 - choices_.Below(static_cast<uint32_t>(pool.size()))];
}

Instruction* Maker::PickLike(const Instruction* tensor) {
  std::vector<Instruction*> alike;
  for (Instruction* value : tensors_) {
    if (value->shape->bare == tensor->shape->bare) alike.push_back(value);
  }
  switch (choices_.Below(6)) {
    default:
      return Parameter(tensor->shape->type, DimsOf(tensor));
    case 3:
    case 4:
      return Recent(alike);
    case 5:
      return Spread(PickScalar(tensor->shape->type), tensor);
  }
}

Instruction* Maker::PickScalar(PrimitiveType type) {
  std::vector<Instruction*> alike;
  for (Instruction* value : scalars_) {
    if (value->shape->type == type) alike.push_back(value);
  }
  Instruction* made = nullptr;
  switch (choices_.Below(6)) {
    default:
      made = Parameter(type, {});
      break;
    case 2:
      made = builder_.Constant(type, choices_.Of({0.5, 0.0, 2.0, -1.0, 1.0}));
      break;
    case 3:
    case 4:
      if (!alike.empty()) return Recent(alike);
      made = Parameter(type, {});
      break;
    case 5:
      if (scalars_.empty()) {
        made = Parameter(type, {});
      } else {
        made = builder_.Convert(Recent(scalars_), type);
      }
      break;
  }
  all_.push_back(made);
  scalars_.push_back(made);
  return made;
}

Instruction* Maker::Spread(Instruction* scalar, const Instruction* like) {
  return builder_.Broadcast(scalar, like->shape->dims);
}

Instruction* Maker::Fill(double value, const Instruction* like) {
  return Spread(builder_.Constant(like->shape->type, value), like);
}

Instruction* Maker::EitherOrder(Opcode opcode, Instruction* a, Instruction* b) {
  return choices_.OneIn(2) ? builder_.Binary(opcode, b, a) : builder_.Binary(opcode, a, b);
}

Recipe RandomRecipe(uint64_t seed) {
  Choices choices(seed);
  hlo::Module module;
  Maker(module, "main", choices).Make();
  return choices.numbers();
}

namespace {

// Calls every computation with parameters of its own.
hlo::Computation* CallAll(hlo::Module& module, const std::vector<hlo::Computation*>& computations) {
  hlo::Builder entry(module, "main");
  std::vector<std::vector<Instruction*>> arguments;
  int64_t number = 0;
  for (const hlo::Computation* computation : computations) {
    arguments.emplace_back();
    for (const Instruction* instruction : computation->instructions) {
      if (instruction->opcode != Opcode::kParameter) continue;
      arguments.back().push_back(entry.Parameter(number++, instruction->shape));
    }
  }
  std::vector<Instruction*> results;
  for (size_t i = 0; i < computations.size(); ++i) {
    results.push_back(entry.Call(computations[i], std::span<Instruction* const>(arguments[i])));
  }
  return entry.Build(entry.Tuple(results));
}

}  // namespace

std::unique_ptr<hlo::Module> Generate(std::span<const Recipe> recipes) {
  auto module = std::make_unique<hlo::Module>();
  module->name = "m";
  std::vector<hlo::Computation*> computations;
  for (size_t i = 0; i < recipes.size(); ++i) {
    Choices choices(recipes[i]);
    const std::string name = recipes.size() == 1 ? "main" : fmt::format("part{}", i);
    computations.push_back(Maker(*module, name, choices).Make());
  }
  module->entry = computations.size() == 1 ? computations[0] : CallAll(*module, computations);
  hlo::Finish(*module);
  return module;
}

}  // namespace eightfold::differential
