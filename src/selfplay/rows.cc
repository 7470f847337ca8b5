#include "selfplay/rows.h"

#include <limits>

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kTiny = std::numeric_limits<float>::min();
constexpr float kLowest = std::numeric_limits<float>::lowest();

}  // namespace

Instruction* Spread(Builder& b, Instruction* column, Instruction* like_row) {
  int64_t games[] = {1};
  return b.Broadcast(column, like_row->shape->dims, {games, column->shape->rank()});
}

Instruction* ArgMaxOver(Builder& b, Instruction* row) {
  // Two plain reductions: the usual one over (value, index) pairs does not vectorize.
  Instruction* highest = b.Equal(row, Spread(b, MaxOver(b, row), row));
  auto last = static_cast<double>(row->shape->dims[0] - 1);
  Instruction* action = b.IotaLike(row, PrimitiveType::kS32, 0);
  Instruction* candidate = b.Select(highest, action, b.Like(action, last));
  return MinOver(b, candidate);
}

Instruction* SafeLog(Builder& b, Instruction* x) { return b.Log(b.Maximum(x, b.Like(x, kTiny))); }

Instruction* MaskLogits(Builder& b, Instruction* row, Instruction* invalid) {
  if (invalid == nullptr) return row;
  Instruction* centered = b.Subtract(row, Spread(b, MaxOver(b, row), row));
  return b.Select(invalid, b.Like(row, kLowest), centered);
}

Instruction* ArgMaxValid(Builder& b, Instruction* row, Instruction* invalid) {
  if (invalid == nullptr) return ArgMaxOver(b, row);
  return ArgMaxOver(b, b.Select(invalid, b.Like(row, -kInfinity), row));
}

Instruction* Turn(Builder& b, Instruction* x) {
  return x == nullptr ? nullptr : b.Transpose(x, {1, 0});
}

}  // namespace eightfold::selfplay
