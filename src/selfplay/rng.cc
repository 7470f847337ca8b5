#include "selfplay/rng.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "selfplay/loop.h"
#include "selfplay/ops.h"

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

// The least that a logarithm is taken of.
constexpr double kLeast = std::numeric_limits<float>::min();

// Key `i` of u32[n,2].
Instruction* KeyAt(Builder& b, Instruction* keys, int64_t i) {
  return b.Reshape(b.Slice(keys, {{i, i + 1, 1}, {0, 2, 1}}), {2});
}

// A word of the key, u32[].
Instruction* KeyWord(Builder& b, Instruction* key, int64_t word) {
  return b.Reshape(b.Slice(key, {{word, word + 1, 1}}), {});
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
    Instruction* added = schedule[word % 3];
    if (more != 0) added = b.Add(added, b.Constant(kU32, more));
    return b.Add(x, dims.empty() ? added : b.Broadcast(added, dims));
  };
  Instruction* left[8];
  Instruction* right[8];
  for (int i = 0; i < 8; ++i) {
    left[i] = b.Like(counter.low, kRotations[i]);
    right[i] = b.Like(counter.low, 32 - kRotations[i]);
  }
  Instruction* x = injected(counter.high, 0, 0);
  Instruction* y = injected(counter.low, 1, 0);
  for (int round = 0; round < kRounds; ++round) {
    x = b.Add(x, y);
    int turn = round % 8;
    y = b.Or(b.ShiftLeft(y, left[turn]), b.ShiftRightLogical(y, right[turn]));
    y = b.Xor(y, x);
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
  Instruction* uniform = Uniform(b, key, dims, kLeast, 1);
  return b.Negate(b.Log(b.Negate(b.Log(uniform))));
}

Instruction* Normal(Builder& b, Instruction* key, std::span<const int64_t> dims) {
  Instruction* keys = SplitKey(b, key, 2);
  Instruction* radius = Uniform(b, KeyAt(b, keys, 0), dims, kLeast, 1);
  Instruction* angle = Uniform(b, KeyAt(b, keys, 1), dims, 0, 2 * std::numbers::pi);
  Instruction* squared = b.Multiply(b.Like(radius, -2), b.Log(radius));
  return b.Multiply(b.Sqrt(squared), b.Unary(hlo::Opcode::kCos, angle));
}

namespace {

// One attempt of "A simple method for generating gamma variables" (Marsaglia and Tsang, 2000) for
// the shape `alpha` + 1: log(d v) where it is accepted.
struct Attempt {
  Instruction* accepted = nullptr;
  Instruction* log_value = nullptr;
};

Attempt TryGamma(Builder& b, Instruction* key, std::span<const int64_t> dims, double alpha) {
  double d = alpha + 1 - 1.0 / 3;
  Instruction* keys = SplitKey(b, key, 2);
  Instruction* x = Normal(b, KeyAt(b, keys, 0), dims);
  Instruction* u = Uniform(b, KeyAt(b, keys, 1), dims, kLeast, 1);
  Instruction* one = b.Like(x, 1);
  Instruction* root = b.Add(one, b.Multiply(x, b.Like(x, 1 / std::sqrt(9 * d))));
  Instruction* v = b.Multiply(b.Multiply(root, root), root);
  Instruction* positive = b.Greater(v, b.ZerosLike(v));
  Instruction* log_v = b.Log(b.Select(positive, v, one));
  Instruction* half_square = b.Multiply(b.Multiply(x, x), b.Like(x, 0.5));
  Instruction* bound =
      b.Add(half_square, b.Multiply(b.Like(x, d), b.Add(b.Subtract(one, v), log_v)));
  return {.accepted = b.And(positive, b.Less(b.Log(u), bound)),
          .log_value = b.Add(log_v, b.Like(x, std::log(d)))};
}

}  // namespace

Instruction* LogGamma(Builder& b, Instruction* key, std::span<const int64_t> dims, double alpha) {
  // An attempt fails one time in twenty at most, so the limit is never met by chance.
  constexpr double kMostAttempts = 64;
  std::vector<int64_t> shape(dims.begin(), dims.end());
  Instruction* keys = SplitKey(b, key, 2);
  Values init = {b.Constant(kU32, 0), KeyAt(b, keys, 0), b.Zeros(PrimitiveType::kPred, shape),
                 b.Zeros(kF32, shape)};
  auto unfinished = [&](Builder& in, const Values& values) {
    Instruction* done = values[2];
    for (size_t i = shape.size(); i-- > 0;) done = All(in, done);
    return in.And(in.Not(done), in.Less(values[0], in.Constant(kU32, kMostAttempts)));
  };
  auto attempt = [&](Builder& in, const Values& values) -> Values {
    Attempt made = TryGamma(in, FoldIn(in, values[1], values[0]), shape, alpha);
    Instruction* next = in.Add(values[0], in.Constant(kU32, 1));
    return {next, values[1], in.Or(values[2], made.accepted),
            in.Select(values[2], values[3], made.log_value)};
  };
  Instruction* above = Loop(b, "gamma", init, unfinished, attempt)[3];
  // Of the shape alpha + 1; times u^(1/alpha) it is of the shape alpha.
  Instruction* u = Uniform(b, KeyAt(b, keys, 1), dims, kLeast, 1);
  return b.Add(above, b.Multiply(b.Log(u), b.Like(u, 1 / alpha)));
}

Instruction* Dirichlet(Builder& b, Instruction* key, std::span<const int64_t> dims, double alpha) {
  return Softmax(b, LogGamma(b, key, dims, alpha));
}

}  // namespace eightfold::selfplay
