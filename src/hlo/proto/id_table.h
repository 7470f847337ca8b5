#ifndef EIGHTFOLD_HLO_PROTO_ID_TABLE_H_
#define EIGHTFOLD_HLO_PROTO_ID_TABLE_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hlo/module.h"

namespace eightfold::hlo {

// Finds the instructions of one computation by id. XLA from jaxlib 0.7.2 on looks only at the low
// 32 bits inside a computation, older versions at the whole id; the low bits decide here as long as
// they are unique.
class IdTable {
 public:
  // Forgets what it held. Throws wire::Damage naming the instruction that repeats an id.
  void Build(std::span<Instruction* const> instructions);
  // Null when there is none.
  Instruction* Find(int64_t id) const {
    uint32_t low = static_cast<uint32_t>(id);
    if (mode_ == Mode::kDense) {
      uint32_t at = low - base_;
      return at < dense_.size() ? dense_[at] : nullptr;
    }
    return FindSparse(id);
  }

 private:
  enum class Mode {
    kDense,    // low bits close together: a vector
    kLowBits,  // low bits far apart: a hash map, so that one id of 2^31-1 costs nothing
    kWhole,    // low bits repeat: by whole id
  };

  bool BuildDense(std::span<Instruction* const> instructions);
  bool BuildSparse(std::span<Instruction* const> instructions, Mode mode);
  Instruction* FindSparse(int64_t id) const;

  Mode mode_ = Mode::kDense;
  uint32_t base_ = 0;
  std::vector<Instruction*> dense_;
  std::unordered_map<int64_t, Instruction*> sparse_;
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_ID_TABLE_H_
