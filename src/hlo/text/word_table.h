#ifndef EIGHTFOLD_HLO_TEXT_WORD_TABLE_H_
#define EIGHTFOLD_HLO_TEXT_WORD_TABLE_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace eightfold::hlo::text {

// Finds a word among a few hundred fixed ones. Length and three characters tell them apart well
// enough for a table that is mostly empty.
class WordTable {
 public:
  // `word(i)` is the i-th of `count` words.
  template <class Word>
  WordTable(int count, Word word) {
    for (int i = 0; i < count; ++i) {
      size_t slot = Hash(word(i));
      while (!slots_[slot].word.empty()) slot = (slot + 1) % kSlots;
      slots_[slot] = {word(i), i};
    }
  }

  // The number of `word`; -1 when it is none of them.
  int Find(std::string_view word) const {
    if (word.empty()) return -1;
    for (size_t i = Hash(word); !slots_[i].word.empty(); i = (i + 1) % kSlots) {
      if (slots_[i].word == word) return slots_[i].number;
    }
    return -1;
  }

 private:
  static constexpr size_t kSlots = 1024;
  struct Slot {
    std::string_view word;
    int number = -1;
  };

  static size_t Hash(std::string_view word) {
    auto at = [word](size_t i) { return static_cast<unsigned char>(word[i]); };
    return (word.size() * 37 + at(0) * 131u + at(word.size() - 1) * 29u +
            at(word.size() / 2) * 7u) %
           kSlots;
  }

  std::array<Slot, kSlots> slots_;
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_WORD_TABLE_H_
