#include "selfplay/in_a_row.h"

#include <array>

#include "selfplay/board_ops.h"
#include "selfplay/ops.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kU64 = PrimitiveType::kU64;
constexpr auto kF32 = PrimitiveType::kF32;

GameInfo Describe(std::string_view name, int64_t rows, int64_t columns, bool falls) {
  GameInfo info{.name = name,
                .rows = rows,
                .columns = columns,
                .actions = falls ? columns : rows * columns,
                .longest = rows * columns};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      info.cells.push_back(column * (rows + 1) + rows - 1 - row);
    }
  }
  return info;
}

}  // namespace

InARowGame::InARowGame(std::string_view name, int64_t rows, int64_t columns, int length, bool falls)
    : Game(Describe(name, rows, columns, falls)), length_(length), falls_(falls) {}

Instruction* InARowGame::HasRow(Builder& b, Instruction* stones) const {
  std::array<int64_t, 4> steps = {1, stride() - 1, stride(), stride() + 1};
  Instruction* each = EachDirection(b, stones, steps.size());
  Instruction* rows = each;
  for (int i = 1; i < length_; ++i) {
    rows = b.And(rows, b.ShiftRightLogical(each, PerDirection(b, stones, steps, i)));
  }
  return HasBits(b, AnyDirection(b, rows));
}

Instruction* InARowGame::IsOver(Builder& b, const Words& words) const {
  Instruction* stones = b.Or(words.own, words.other);
  return b.Or(HasRow(b, words.other), b.Equal(stones, Bits(b, stones, AllCells())));
}

Instruction* InARowGame::Legal(Builder& b, Instruction* state) const {
  Words words = Split(b, state);
  // The cells that must be empty: of a column the top one, which is in the first row.
  std::vector<int64_t> cells(info().cells.begin(), info().cells.begin() + info().actions);
  Instruction* taken = Stones(b, b.Or(words.own, words.other), cells);
  Instruction* over = b.Broadcast(IsOver(b, words), taken->shape->dims, std::vector<int64_t>{0});
  return b.Not(b.Or(taken, over));
}

Instruction* InARowGame::Placed(Builder& b, Instruction* stones, Instruction* action) const {
  Instruction* number = b.Convert(action, kU64);
  auto all = [&](int64_t value) { return Bits(b, number, static_cast<uint64_t>(value)); };
  if (falls_) {
    // Added to a column, its lowest bit carries to the first one that is not set.
    Instruction* lowest = b.ShiftLeft(all(1), b.Multiply(number, all(stride())));
    Instruction* column = b.Multiply(lowest, all((int64_t{1} << info().rows) - 1));
    return b.And(b.Add(stones, lowest), column);
  }
  Instruction* row = b.Divide(number, all(info().columns));
  Instruction* from_left = b.Multiply(b.Remainder(number, all(info().columns)), all(stride()));
  Instruction* bit = b.Subtract(b.Add(from_left, all(info().rows - 1)), row);
  return b.And(b.ShiftLeft(all(1), bit), b.Not(stones));
}

Instruction* InARowGame::Step(Builder& b, Instruction* state, Instruction* action) const {
  Words words = Split(b, state);
  Instruction* placed = Placed(b, b.Or(words.own, words.other), action);
  Words next = {.own = words.other,
                .other = b.Or(words.own, placed),
                .flags = b.Xor(words.flags, Bits(b, words.flags, kSecondPlayer))};
  return Where(b, IsOver(b, words), state, Join(b, next));
}

Instruction* InARowGame::Terminal(Builder& b, Instruction* state) const {
  return IsOver(b, Split(b, state));
}

Instruction* InARowGame::Result(Builder& b, Instruction* state) const {
  Instruction* lost = HasRow(b, Split(b, state).other);
  return Where(b, lost, b.Constant(kF32, -1), b.Zeros(kF32, lost->shape->dims));
}

}  // namespace eightfold::selfplay
