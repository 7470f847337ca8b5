#include "selfplay/othello.h"

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

constexpr int64_t kSize = 6;
// A row takes seven bits: the last is never set, so a stone that is moved over an edge is gone.
constexpr int64_t kStride = kSize + 1;
constexpr int64_t kPass = kSize * kSize;
// Bits from a cell to its neighbours right, below left, below and below right; the other four are
// as far the other way.
constexpr std::array<int64_t, 4> kSteps = {1, kStride - 1, kStride, kStride + 1};
// A line has at most four stones between its ends.
constexpr int kLongestRun = kSize - 2;

// Flags: how many passes in a row, 0 to 2.
constexpr uint64_t kOnePass = Game::kFirstOfTheGame;
constexpr uint64_t kPasses = 3 * kOnePass;

GameInfo Describe() {
  GameInfo info{.name = "othello6",
                .rows = kSize,
                .columns = kSize,
                .actions = kPass + 1,
                .has_pass = true,
                // 32 empty cells, a pass before each, and the two at the end.
                .longest = 2 * (kPass - 4) + 2};
  for (int64_t row = 0; row < kSize; ++row) {
    for (int64_t column = 0; column < kSize; ++column) {
      info.cells.push_back(row * kStride + column);
    }
  }
  auto bit = [&](int64_t row, int64_t column) { return uint64_t{1} << (row * kStride + column); };
  info.start[0] = bit(2, 3) | bit(3, 2);
  info.start[1] = bit(2, 2) | bit(3, 3);
  return info;
}

// The runs of `other` that begin beside a stone of `from`, and the cells behind them, along each
// line one way: u64[4,B].
struct Runs {
  Instruction* stones = nullptr;
  Instruction* behind = nullptr;
};

Runs RunsFrom(Builder& b, Instruction* from, Instruction* other, bool upwards) {
  Instruction* steps = PerDirection(b, from, kSteps);
  auto moved = [&](Instruction* boards) {
    return upwards ? b.ShiftLeft(boards, steps) : b.ShiftRightLogical(boards, steps);
  };
  Instruction* in_between = EachDirection(b, other, kSteps.size());
  Instruction* run = b.And(moved(EachDirection(b, from, kSteps.size())), in_between);
  for (int i = 1; i < kLongestRun; ++i) run = b.Or(run, b.And(moved(run), in_between));
  return {.stones = run, .behind = moved(run)};
}

// u64[B]: the empty cells where a stone of `own` would take some of `other`.
Instruction* Placements(Builder& b, Instruction* own, Instruction* other, uint64_t cells) {
  Instruction* behind =
      b.Or(RunsFrom(b, own, other, true).behind, RunsFrom(b, own, other, false).behind);
  Instruction* empty = b.And(b.Not(b.Or(own, other)), Bits(b, own, cells));
  return b.And(AnyDirection(b, behind), empty);
}

// u64[B]: the stones of `other` that the stone `placed` takes.
Instruction* Flips(Builder& b, Instruction* placed, Instruction* own, Instruction* other) {
  Instruction* ends = EachDirection(b, own, kSteps.size());
  auto taken = [&](bool upwards) {
    Runs runs = RunsFrom(b, placed, other, upwards);
    return b.Select(HasBits(b, b.And(runs.behind, ends)), runs.stones, b.ZerosLike(runs.stones));
  };
  return AnyDirection(b, b.Or(taken(true), taken(false)));
}

}  // namespace

OthelloGame::OthelloGame() : Game(Describe()) {}

Instruction* OthelloGame::IsOver(Builder& b, const Words& words) const {
  Instruction* stones = b.Or(words.own, words.other);
  Instruction* full = b.Equal(stones, Bits(b, stones, AllCells()));
  Instruction* passes = b.And(words.flags, Bits(b, stones, kPasses));
  return b.Or(full, b.Equal(passes, Bits(b, stones, 2 * kOnePass)));
}

Instruction* OthelloGame::Legal(Builder& b, Instruction* state) const {
  Words words = Split(b, state);
  Instruction* over = IsOver(b, words);
  Instruction* places = Placements(b, words.own, words.other, AllCells());
  Instruction* pass = b.And(b.Not(HasBits(b, places)), b.Not(over));
  places = b.Select(over, b.ZerosLike(places), places);
  return b.Concatenate(
      {Stones(b, places, info().cells), b.Reshape(pass, {state->shape->dims[0], 1})}, 1);
}

Instruction* OthelloGame::Step(Builder& b, Instruction* state, Instruction* action) const {
  Words words = Split(b, state);
  Instruction* cell = b.Convert(action, kU64);
  Instruction* row = b.Divide(cell, Bits(b, cell, kSize));
  // Each row above has a bit that is no cell. A pass is the bit behind the last cell's row.
  Instruction* bit = b.ShiftLeft(Bits(b, cell, 1), b.Add(cell, row));
  Instruction* placed = b.And(bit, Bits(b, bit, AllCells()));
  Instruction* passed = b.Not(HasBits(b, placed));
  Instruction* flips = Flips(b, placed, words.own, words.other);
  Instruction* passes = b.Add(words.flags, Bits(b, words.flags, kOnePass));
  Instruction* no_passes = b.And(words.flags, Bits(b, words.flags, kSecondPlayer));
  Instruction* flags = b.Select(passed, passes, no_passes);
  Words next = {.own = b.And(words.other, b.Not(flips)),
                .other = b.Or(b.Or(words.own, placed), flips),
                .flags = b.Xor(flags, Bits(b, flags, kSecondPlayer))};
  return Where(b, IsOver(b, words), state, Join(b, next));
}

Instruction* OthelloGame::Terminal(Builder& b, Instruction* state) const {
  return IsOver(b, Split(b, state));
}

Instruction* OthelloGame::Result(Builder& b, Instruction* state) const {
  Words words = Split(b, state);
  auto count = [&](Instruction* stones) {
    return b.Convert(b.PopulationCount(stones), PrimitiveType::kS32);
  };
  Instruction* lead = b.Sign(b.Subtract(count(words.own), count(words.other)));
  Instruction* none = b.Zeros(kF32, lead->shape->dims);
  return b.Select(IsOver(b, words), b.Convert(lead, kF32), none);
}

}  // namespace eightfold::selfplay
