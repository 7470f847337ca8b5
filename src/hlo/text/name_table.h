#ifndef EIGHTFOLD_HLO_TEXT_NAME_TABLE_H_
#define EIGHTFOLD_HLO_TEXT_NAME_TABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace eightfold::hlo::text {

// Names of one scope (a computation's instructions, a module's computations): open addressing over
// things that have a `name`. Clear() is cheap, so that one table serves every computation in turn.
template <class Named>
class NameTable {
 public:
  Named* Find(std::string_view name) const {
    auto hash = static_cast<uint32_t>(HashBytes(name));
    for (size_t i = hash & mask_; slots_[i].round == round_; i = (i + 1) & mask_) {
      if (slots_[i].hash == hash && slots_[i].named->name == name) return slots_[i].named;
    }
    return nullptr;
  }

  // Adds `named`, or returns the one that has its name already.
  Named* Add(Named* named) { return Add(named, HashBytes(named->name)); }
  // With the hash of its name, where the caller needs that, too.
  Named* Add(Named* named, uint64_t full_hash) {
    if ((used_ + 1) * 2 > slots_.size()) Grow();
    auto hash = static_cast<uint32_t>(full_hash);
    size_t i = hash & mask_;
    for (; slots_[i].round == round_; i = (i + 1) & mask_) {
      if (slots_[i].hash == hash && slots_[i].named->name == named->name) return slots_[i].named;
    }
    slots_[i] = {round_, hash, named};
    ++used_;
    return nullptr;
  }

  void Clear() {
    used_ = 0;
    if (++round_ == 0) {
      slots_.assign(slots_.size(), {});
      round_ = 1;
    }
  }

 private:
  struct Slot {
    uint32_t round = 0;  // of Clear() in which it was filled
    uint32_t hash = 0;
    Named* named = nullptr;
  };

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.round != round_) continue;
      size_t i = slot.hash & mask_;
      while (slots_[i].round == round_) i = (i + 1) & mask_;
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t mask_ = 63;
  size_t used_ = 0;
  uint32_t round_ = 1;
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_NAME_TABLE_H_
