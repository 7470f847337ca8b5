#include "selfplay/board_ops.h"

#include <vector>

namespace eightfold::selfplay {
namespace {

constexpr auto kU64 = hlo::PrimitiveType::kU64;

}  // namespace

hlo::Instruction* Bits(hlo::Builder& b, hlo::Instruction* like, uint64_t bits) {
  auto value = static_cast<int64_t>(bits);
  return b.Broadcast(b.ConstantInts(kU64, {}, {&value, 1}), like->shape->dims);
}

hlo::Instruction* EachDirection(hlo::Builder& b, hlo::Instruction* board, int64_t directions) {
  return b.Broadcast(board, {directions, board->shape->dims[0]}, {1});
}

hlo::Instruction* PerDirection(hlo::Builder& b, hlo::Instruction* like,
                               std::span<const int64_t> numbers, int64_t times) {
  std::vector<int64_t> multiples;
  for (int64_t number : numbers) multiples.push_back(number * times);
  auto count = static_cast<int64_t>(numbers.size());
  hlo::Instruction* column = b.ConstantInts(kU64, {&count, 1}, multiples);
  return b.Broadcast(column, {count, like->shape->dims[0]}, {0});
}

hlo::Instruction* AnyDirection(hlo::Builder& b, hlo::Instruction* boards) {
  return b.Reduce(boards, b.Constant(kU64, 0), {0}, b.OrReducer(kU64));
}

hlo::Instruction* HasBits(hlo::Builder& b, hlo::Instruction* boards) {
  return b.NotEqual(boards, b.ZerosLike(boards));
}

}  // namespace eightfold::selfplay
