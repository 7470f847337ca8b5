#include "selfplay/rng.h"

#include <limits>
#include <stdexcept>
#include <vector>

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kU32 = PrimitiveType::kU32;

// From the paper: left rotations of each round, eight in turn, and the parity of the key schedule.
constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
constexpr int kRounds = 20;
constexpr uint32_t kParity = 0x1BD11BDA;

// A word of the key, u32[].
Instruction* KeyWord(Builder& b, Instruction* key, int64_t word) {
  return b.Reshape(b.Slice(key, {{word, word + 1, 1}}), {});
}

Instruction* Rotate(Builder& b, Instruction* x, int by) {
  return b.Or(b.ShiftLeft(x, b.Like(x, by)), b.ShiftRightLogical(x, b.Like(x, 32 - by)));
}

// Row-major positions in an array of `dims`, as the two words of 64-bit numbers.
Block Positions(Builder& b, std::span<const int64_t> dims) {
  int64_t count = 1;
  Instruction* position = b.Zeros(kU32, dims);
  for (size_t i = dims.size(); i-- > 0;) {
    Instruction* along = b.Iota(kU32, dims, static_cast<int64_t>(i));
    position = b.Add(position, b.Multiply(along, b.Like(along, static_cast<double>(count))));
    if (__builtin_mul_overflow(count, dims[i], &count) ||
        count > std::numeric_limits<uint32_t>::max()) {
      throw std::logic_error("random numbers: more than 2^32 of them");
    }
  }
  return {.high = b.ZerosLike(position), .low = position};
}

}  // namespace

Key KeyOf(uint64_t seed) {
  return {static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)};
}

Key Threefry(Key key, Key counter) {
  uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ kParity};
  uint32_t x = counter[0] + schedule[0];
  uint32_t y = counter[1] + schedule[1];
  for (int round = 0; round < kRounds; ++round) {
    x += y;
    int by = kRotations[round % 8];
    y = ((y << by) | (y >> (32 - by))) ^ x;
    if (round % 4 != 3) continue;
    auto injected = static_cast<uint32_t>(round / 4 + 1);
    x += schedule[injected % 3];
    y += schedule[(injected + 1) % 3] + injected;
  }
  return {x, y};
}

Block Threefry(Builder& b, Instruction* key, Block counter) {
  auto dims = counter.low->shape->dims;
  Instruction* first = KeyWord(b, key, 0);
  Instruction* second = KeyWord(b, key, 1);
  Instruction* third = b.Xor(b.Xor(first, second), b.Constant(kU32, kParity));
  Instruction* schedule[3] = {first, second, third};
  auto injected = [&](Instruction* x, uint32_t word, uint32_t more) {
    Instruction* added = b.Add(schedule[word % 3], b.Constant(kU32, more));
    return b.Add(x, dims.empty() ? added : b.Broadcast(added, dims));
  };
  Instruction* x = injected(counter.high, 0, 0);
  Instruction* y = injected(counter.low, 1, 0);
  for (int round = 0; round < kRounds; ++round) {
    x = b.Add(x, y);
    y = b.Xor(Rotate(b, y, kRotations[round % 8]), x);
    if (round % 4 != 3) continue;
    auto injection = static_cast<uint32_t>(round / 4 + 1);
    x = injected(x, injection, 0);
    y = injected(y, injection + 1, injection);
  }
  return {.high = x, .low = y};
}

Instruction* FoldIn(Builder& b, Instruction* key, Instruction* data) {
  Instruction* word = data->shape->type == kU32 ? data : b.Convert(data, kU32);
  Block made = Threefry(b, key, {.high = b.ZerosLike(word), .low = word});
  return b.Concatenate({b.Reshape(made.high, {1}), b.Reshape(made.low, {1})}, 0);
}

Instruction* SplitKey(Builder& b, Instruction* key, int64_t count) {
  Block made = Threefry(b, key, Positions(b, {&count, 1}));
  return b.Concatenate({b.Reshape(made.high, {count, 1}), b.Reshape(made.low, {count, 1})}, 1);
}

Instruction* RandomBits(Builder& b, Instruction* key, std::span<const int64_t> dims) {
  Block made = Threefry(b, key, Positions(b, dims));
  return b.Xor(made.high, made.low);
}

Instruction* Uniform(Builder& b, Instruction* key, std::span<const int64_t> dims, double low,
                     double high) {
  Instruction* bits = RandomBits(b, key, dims);
  // The mantissa of a number in [1, 2).
  constexpr double kExponentOfOne = 0x3F800000;
  Instruction* mantissa = b.ShiftRightLogical(bits, b.Like(bits, 9));
  Instruction* number = b.BitcastConvert(b.Or(mantissa, b.Like(mantissa, kExponentOfOne)), kF32);
  Instruction* unit = b.Subtract(number, b.Like(number, 1));
  auto from = static_cast<float>(low);
  float range = static_cast<float>(high) - from;
  Instruction* scaled = b.Add(b.Multiply(unit, b.Like(unit, range)), b.Like(unit, from));
  return b.Maximum(b.Like(scaled, from), scaled);
}

Instruction* Gumbel(Builder& b, Instruction* key, std::span<const int64_t> dims) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  Instruction* uniform = Uniform(b, key, dims, kLeast, 1);
  return b.Negate(b.Log(b.Negate(b.Log(uniform))));
}

}  // namespace eightfold::selfplay
