#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_GENERATE_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_GENERATE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hlo/module.h"

namespace eightfold::differential {

// What one computation is made from: see Choices.
using Recipe = std::vector<uint32_t>;

// The numbers that the computation of this seed draws.
Recipe RandomRecipe(uint64_t seed);

// A module of FP8 convolutions and what may follow them. One recipe: an entry. Several: one
// computation each, which the entry calls in turn, parameters and results side by side.
std::unique_ptr<hlo::Module> Generate(std::span<const Recipe> recipes);

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_GENERATE_H_
