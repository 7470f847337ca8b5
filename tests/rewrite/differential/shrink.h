#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_SHRINK_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_SHRINK_H_

#include <functional>
#include <vector>

#include "generate.h"

namespace eightfold::differential {

// The smallest recipes found for which `fails` still holds, as it must for `recipes`: with parts
// left out, and with smaller numbers. Tries at most `limit` variants.
std::vector<Recipe> Shrink(std::vector<Recipe> recipes,
                           const std::function<bool(const std::vector<Recipe>&)>& fails,
                           int limit = 600);

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_SHRINK_H_
