#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CHOICES_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CHOICES_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace eightfold::differential {

// The numbers that a random module is made from: drawn from a generator and kept, or played back.
// A shorter or smaller list plays back as a simpler module, and every list as a valid one, so a
// failure is made smaller by editing its list, without knowing what it means.
class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed), playing_(false) {}
  explicit Choices(std::vector<uint32_t> recorded)
      : numbers_(std::move(recorded)), playing_(true) {}

  // 0 … count-1. Draw so that 0 is the simplest. Past the end of a played list: 0.
  uint32_t Below(uint32_t count) {
    if (!playing_) {
      numbers_.push_back(static_cast<uint32_t>(random_() % count));
      return numbers_.back();
    }
    if (at_ == numbers_.size()) return 0;
    return std::min(numbers_[at_++], count - 1);
  }

  // True once in `count` times.
  bool OneIn(uint32_t count) { return Below(count) == count - 1; }

  template <class T>
  T Of(std::initializer_list<T> list) {
    return list.begin()[Below(static_cast<uint32_t>(list.size()))];
  }

  const std::vector<uint32_t>& numbers() const { return numbers_; }

 private:
  std::vector<uint32_t> numbers_;
  std::mt19937_64 random_;
  bool playing_;
  size_t at_ = 0;
};

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_CHOICES_H_
