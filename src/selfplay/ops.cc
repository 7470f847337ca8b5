#include "selfplay/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

using Dims = std::vector<int64_t>;

constexpr auto kS32 = PrimitiveType::kS32;

Dims DimsOf(const Instruction* x) { return {x->shape->dims.begin(), x->shape->dims.end()}; }

// Dimension `dimension` of `x`, -1 being the last.
int64_t Resolve(const Instruction* x, int64_t dimension) {
  auto rank = static_cast<int64_t>(x->shape->rank());
  int64_t resolved = dimension == -1 ? rank - 1 : dimension;
  if (resolved >= 0 && resolved < rank) return resolved;
  throw std::logic_error(fmt::format("dimension {} of {}", dimension, ToString(*x->shape, false)));
}

int64_t SizeOf(const Instruction* x, int64_t dimension) {
  return x->shape->dims[static_cast<size_t>(Resolve(x, dimension))];
}

// The dimensions of `x` but `dimension`, as positions in it: where Broadcast puts a reduced array.
Dims Others(const Instruction* x, int64_t dimension) {
  Dims others;
  for (int64_t i = 0; i < static_cast<int64_t>(x->shape->rank()); ++i) {
    if (i != dimension) others.push_back(i);
  }
  return others;
}

Instruction* Fold(Builder& b, Opcode opcode, Instruction* x, int64_t dimension, double init) {
  PrimitiveType type = x->shape->type;
  return b.Reduce(x, b.Constant(type, init), {Resolve(x, dimension)}, b.Reducer(opcode, type));
}

// The lowest number of `type`: what a maximum starts from.
double Lowest(PrimitiveType type) {
  if (type == PrimitiveType::kPred || hlo::IsUnsigned(type)) return 0;
  if (hlo::IsFloating(type)) return -std::numeric_limits<double>::infinity();
  return -std::ldexp(1.0, hlo::BitWidth(type) - 1);
}

// The greatest number of `type`; of 64-bit integers, the greatest that a double can be.
double Highest(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return 1;
  if (hlo::IsFloating(type)) return std::numeric_limits<double>::infinity();
  int bits = hlo::BitWidth(type) - (hlo::IsSigned(type) ? 1 : 0);
  double limit = std::ldexp(1.0, bits);
  return bits > 53 ? std::nextafter(limit, 0) : limit - 1;
}

// A reduced array repeated along `dimension` of `like`.
Instruction* Unreduce(Builder& b, Instruction* reduced, const Instruction* like,
                      int64_t dimension) {
  return b.Broadcast(reduced, like->shape->dims, Others(like, dimension));
}

// (value, index) pairs to the greater value: NaN above all, then the lower index.
hlo::Computation* ArgMaxReducer(Builder& caller, PrimitiveType type) {
  std::string name = fmt::format("reducer.argmax.{}", hlo::Name(type));
  for (hlo::Computation* made : caller.module().computations) {
    if (made->name == name) return made;
  }
  Builder b(caller.module(), name);
  Instruction* best = b.Parameter(0, b.Array(type, {}));
  Instruction* best_index = b.Parameter(1, b.Array(kS32, {}));
  Instruction* value = b.Parameter(2, b.Array(type, {}));
  Instruction* index = b.Parameter(3, b.Array(kS32, {}));
  // NaN compares as unequal to itself.
  Instruction* keeps = b.Or(b.Greater(best, value), b.NotEqual(best, best));
  Instruction* ties = b.And(b.Equal(best, value), b.Less(best_index, index));
  return b.Build(
      b.Tuple({b.Select(keeps, best, value), b.Select(b.Or(keeps, ties), best_index, index)}));
}

// (a, b, index a, index b) -> whether a is greater.
hlo::Computation* GreaterFirst(Builder& caller, PrimitiveType type) {
  std::string name = fmt::format("greater_first.{}", hlo::Name(type));
  for (hlo::Computation* made : caller.module().computations) {
    if (made->name == name) return made;
  }
  Builder b(caller.module(), name);
  Instruction* x = b.Parameter(0, b.Array(type, {}));
  Instruction* y = b.Parameter(1, b.Array(type, {}));
  b.Parameter(2, b.Array(kS32, {}));
  b.Parameter(3, b.Array(kS32, {}));
  return b.Build(b.Greater(x, y));
}

// Index vectors (b, index[b]): s32[B,2].
Instruction* RowIndices(Builder& b, Instruction* index) {
  int64_t batch = SizeOf(index, 0);
  Instruction* rows = b.Iota(kS32, {batch, 1}, 0);
  return b.Concatenate({rows, b.Reshape(index, {batch, 1})}, 1);
}

Dims Count(int64_t first, int64_t last) {
  Dims dims;
  for (int64_t i = first; i < last; ++i) dims.push_back(i);
  return dims;
}

}  // namespace

Instruction* BroadcastPrefix(Builder& b, Instruction* x, std::span<const int64_t> dims) {
  if (std::ranges::equal(x->shape->dims, dims)) return x;
  return b.Broadcast(x, dims, Count(0, static_cast<int64_t>(x->shape->rank())));
}

Instruction* Where(Builder& b, Instruction* condition, Instruction* on_true,
                   Instruction* on_false) {
  Dims dims;
  for (const Instruction* part : {condition, on_true, on_false}) {
    if (part->shape->rank() > dims.size()) dims = DimsOf(part);
  }
  // A scalar pred, too: XLA's GPU compiler fails on some selects with one.
  return b.Select(BroadcastPrefix(b, condition, dims), BroadcastPrefix(b, on_true, dims),
                  BroadcastPrefix(b, on_false, dims));
}

Instruction* Clip(Builder& b, Instruction* x, double low, double high) {
  return b.Clamp(b.Like(x, low), x, b.Like(x, high));
}

// Numbers in [2^e, 2^(e+1)) are rounded to multiples of 2^(e-3), those below 2^-6 to multiples of
// 2^-9. f32 has just these multiples in [2^(e+20), 2^(e+21)), so adding a number `large` from there
// rounds. It is x * 2^20, and the middle of the range that rounds to 2^-9 for small x. Subtracting
// x instead of `large` from the sum is Dekker's way to be right for x next to 2^(e+1), too.
Instruction* RoundToF8E4M3(Builder& b, Instruction* x) {
  Instruction* large = b.Multiply(x, b.Like(x, 0x1p20));
  large = b.Maximum(large, b.Like(x, 1.5 * 0x1p14));
  Instruction* sum = b.Add(x, large);
  return b.Subtract(sum, b.Subtract(sum, x));
}

Instruction* Sum(Builder& b, Instruction* x, int64_t dimension) {
  return Fold(b, Opcode::kAdd, x, dimension, 0);
}

Instruction* Mean(Builder& b, Instruction* x, int64_t dimension) {
  Instruction* sum = Sum(b, x, dimension);
  return b.Divide(sum, b.Like(sum, static_cast<double>(SizeOf(x, dimension))));
}

Instruction* Max(Builder& b, Instruction* x, int64_t dimension) {
  return Fold(b, Opcode::kMaximum, x, dimension, Lowest(x->shape->type));
}

Instruction* Min(Builder& b, Instruction* x, int64_t dimension) {
  return Fold(b, Opcode::kMinimum, x, dimension, Highest(x->shape->type));
}

Instruction* Any(Builder& b, Instruction* x, int64_t dimension) {
  return Fold(b, Opcode::kOr, x, dimension, 0);
}

Instruction* All(Builder& b, Instruction* x, int64_t dimension) {
  return Fold(b, Opcode::kAnd, x, dimension, 1);
}

Instruction* ArgMax(Builder& b, Instruction* x, int64_t dimension) {
  PrimitiveType type = x->shape->type;
  int64_t along = Resolve(x, dimension);
  Instruction* xs[] = {x, b.IotaLike(x, kS32, along)};
  Instruction* inits[] = {b.Constant(type, Lowest(type)), b.Constant(kS32, 0)};
  Instruction* best = b.ReduceMany(xs, inits, {&along, 1}, ArgMaxReducer(b, type));
  return b.GetTupleElement(best, 1);
}

Instruction* CumSum(Builder& b, Instruction* x, int64_t dimension) {
  int64_t along = Resolve(x, dimension);
  int64_t size = SizeOf(x, along);
  hlo::Window window;
  window.dimensions.assign(x->shape->rank(), {.size = 1});
  window.dimensions[static_cast<size_t>(along)] = {.size = size, .padding_low = size - 1};
  PrimitiveType type = x->shape->type;
  return b.ReduceWindow(x, b.Constant(type, 0), window, b.AddReducer(type));
}

Instruction* Softmax(Builder& b, Instruction* x, int64_t dimension) {
  int64_t along = Resolve(x, dimension);
  Instruction* powers = b.Exp(b.Subtract(x, Unreduce(b, Max(b, x, along), x, along)));
  return b.Divide(powers, Unreduce(b, Sum(b, powers, along), x, along));
}

Instruction* LogSoftmax(Builder& b, Instruction* x, int64_t dimension) {
  int64_t along = Resolve(x, dimension);
  Instruction* shifted = b.Subtract(x, Unreduce(b, Max(b, x, along), x, along));
  Instruction* total = b.Log(Sum(b, b.Exp(shifted), along));
  return b.Subtract(shifted, Unreduce(b, total, x, along));
}

Instruction* OneHot(Builder& b, Instruction* indices, int64_t size, PrimitiveType type) {
  Dims dims = DimsOf(indices);
  dims.push_back(size);
  auto last = static_cast<int64_t>(dims.size()) - 1;
  Instruction* spread = BroadcastPrefix(b, indices, dims);
  return b.Convert(b.Equal(spread, b.Iota(indices->shape->type, dims, last)), type);
}

TopKResult TopK(Builder& b, Instruction* x, int64_t k) {
  int64_t last = Resolve(x, -1);
  Instruction* operands[] = {x, b.IotaLike(x, kS32, last)};
  Instruction* sorted = b.Sort(operands, last, GreaterFirst(b, x->shape->type));
  std::vector<hlo::SliceRange> ranges;
  for (int64_t size : x->shape->dims) ranges.push_back({0, size, 1});
  ranges.back().limit = k;
  return {.values = b.Slice(b.GetTupleElement(sorted, 0), ranges),
          .indices = b.Slice(b.GetTupleElement(sorted, 1), ranges)};
}

Instruction* BatchGather(Builder& b, Instruction* x, Instruction* index) {
  auto rank = static_cast<int64_t>(x->shape->rank());
  Dims sizes = DimsOf(x);
  if (rank < 2) throw std::logic_error("BatchGather of " + ToString(*x->shape, false));
  sizes[0] = sizes[1] = 1;
  return b.Gather(x, RowIndices(b, index),
                  {.offset = Count(1, rank - 1),
                   .collapsed = {0, 1},
                   .start_index_map = {0, 1},
                   .index_vector_dim = 1},
                  sizes);
}

Instruction* TakeAlong(Builder& b, Instruction* x, Instruction* indices) {
  Dims dims = DimsOf(indices);
  dims.push_back(1);
  std::vector<Instruction*> parts;
  auto rank = static_cast<int64_t>(x->shape->rank());
  for (int64_t i = 0; i < rank - 1; ++i) parts.push_back(b.Iota(kS32, dims, i));
  parts.push_back(b.Reshape(indices, dims));
  Dims all = Count(0, rank);
  return b.Gather(x, b.Concatenate(parts, rank),
                  {.collapsed = all, .start_index_map = all, .index_vector_dim = rank},
                  Dims(all.size(), 1));
}

Instruction* BatchUpdate(Builder& b, Instruction* x, Instruction* index, Instruction* update) {
  auto rank = static_cast<int64_t>(x->shape->rank());
  return b.Scatter(x, RowIndices(b, index), update,
                   {.update_window = Count(1, rank - 1),
                    .inserted_window = {0, 1},
                    .to_operand = {0, 1},
                    .index_vector_dim = 1},
                   b.SetCombiner(x->shape->type), true);
}

}  // namespace eightfold::selfplay
