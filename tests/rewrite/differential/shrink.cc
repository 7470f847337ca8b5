#include "shrink.h"

#include <algorithm>

namespace eightfold::differential {
namespace {

class Shrinker {
 public:
  Shrinker(std::vector<Recipe> recipes,
           const std::function<bool(const std::vector<Recipe>&)>& fails, int limit)
      : best_(std::move(recipes)), fails_(fails), left_(limit) {}

  std::vector<Recipe> Run() {
    for (bool progress = true; progress && left_ > 0;) {
      progress = DropRecipes();
      for (size_t i = 0; i < best_.size(); ++i) {
        progress |= DropNumbers(i);
        progress |= LowerNumbers(i);
      }
    }
    return best_;
  }

 private:
  bool Try(std::vector<Recipe> candidate) {
    if (left_ <= 0) return false;
    --left_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool DropRecipes() {
    bool progress = false;
    for (size_t i = best_.size(); best_.size() > 1 && i-- > 0;) {
      auto candidate = best_;
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(i));
      progress |= Try(std::move(candidate));
    }
    return progress;
  }

  bool DropNumbers(size_t which) {
    bool progress = false;
    for (size_t size = std::max<size_t>(best_[which].size() / 2, 1); size > 0; size /= 2) {
      for (size_t at = best_[which].size(); at >= size && at > 0; at -= std::min(at, size)) {
        if (at > best_[which].size()) continue;
        auto candidate = best_;
        auto end = candidate[which].begin() + static_cast<std::ptrdiff_t>(at);
        candidate[which].erase(end - static_cast<std::ptrdiff_t>(size), end);
        progress |= Try(std::move(candidate));
      }
    }
    return progress;
  }

  bool LowerNumbers(size_t which) {
    bool progress = false;
    for (size_t at = 0; at < best_[which].size(); ++at) {
      const uint32_t now = best_[which][at];
      for (uint32_t lower : {uint32_t{0}, now / 2, now - std::min(now, uint32_t{1})}) {
        if (lower >= best_[which][at]) continue;
        auto candidate = best_;
        candidate[which][at] = lower;
        progress |= Try(std::move(candidate));
      }
    }
    return progress;
  }

  std::vector<Recipe> best_;
  const std::function<bool(const std::vector<Recipe>&)>& fails_;
  int left_;
};

}  // namespace

std::vector<Recipe> Shrink(std::vector<Recipe> recipes,
                           const std::function<bool(const std::vector<Recipe>&)>& fails,
                           int limit) {
  return Shrinker(std::move(recipes), fails, limit).Run();
}

}  // namespace eightfold::differential
