#ifndef EIGHTFOLD_SELFPLAY_OPS_H_
#define EIGHTFOLD_SELFPLAY_OPS_H_

#include <cstdint>
#include <span>

#include "hlo/builder.h"

// Formulas over whole arrays, as jax.numpy has them: each is a few instructions of hlo::Builder.
// Dimensions count from 0; where -1 is allowed it is the last one. Operands that do not fit are
// programming mistakes: std::logic_error.
namespace eightfold::selfplay {

// `x`, whose dimensions are the first ones of `dims`, repeated along the others: [B] to [B,A].
hlo::Instruction* BroadcastPrefix(hlo::Builder& b, hlo::Instruction* x,
                                  std::span<const int64_t> dims);
// `on_true` where `condition`, else `on_false`. Each is a scalar, has the dimensions of the largest
// or the first ones of them: pred[B] chooses rows of [B,S].
hlo::Instruction* Where(hlo::Builder& b, hlo::Instruction* condition, hlo::Instruction* on_true,
                        hlo::Instruction* on_false);
// `x` within [low, high].
hlo::Instruction* Clip(hlo::Builder& b, hlo::Instruction* x, double low, double high);
// `x`, f32 within [0, 448], rounded to the nearest number that f8e4m3fn has, ties to even: what
// converting there and back gives. XLA's CPU compiler is fast at it, and slow at converting.
hlo::Instruction* RoundToF8E4M3(hlo::Builder& b, hlo::Instruction* x);

// Over one dimension, which the result has not. Numbers add up in the type of `x`; Max and Min of
// nothing are the lowest and highest number; Any and All are of pred.
hlo::Instruction* Sum(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* Mean(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* Max(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* Min(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* Any(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* All(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
// s32: where the greatest element is, the first of equal ones; the first NaN if there is one.
hlo::Instruction* ArgMax(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
// Running sums along a dimension, each with its own element.
hlo::Instruction* CumSum(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);

// exp(x) / sum exp(x) and its logarithm, of floats, without overflow.
hlo::Instruction* Softmax(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);
hlo::Instruction* LogSoftmax(hlo::Builder& b, hlo::Instruction* x, int64_t dimension = -1);

// [...] integers to [..., size]: one where the index is, else zero; no one for indices outside.
hlo::Instruction* OneHot(hlo::Builder& b, hlo::Instruction* indices, int64_t size,
                         hlo::PrimitiveType type);

struct TopKResult {
  hlo::Instruction* values = nullptr;   // [..., k], falling
  hlo::Instruction* indices = nullptr;  // s32[..., k], of equal values the first one first
};
// Along the last dimension, which has at least `k` elements. There must be no NaN.
TopKResult TopK(hlo::Builder& b, hlo::Instruction* x, int64_t k);

// x[b, index[b]]: [B,N,…] at s32[B] is [B,…]. Indices outside are moved inside.
hlo::Instruction* BatchGather(hlo::Builder& b, hlo::Instruction* x, hlo::Instruction* index);
// x[…, indices[…, k]]: [..., N] at s32[..., K] is [..., K]. Indices outside are moved inside.
hlo::Instruction* TakeAlong(hlo::Builder& b, hlo::Instruction* x, hlo::Instruction* indices);
// `x` with x[b, index[b]] = update[b]: [B,N,…] at s32[B] with [B,…]. Indices outside change
// nothing. A scatter: XLA's CPU compiler makes it a loop over B.
hlo::Instruction* BatchUpdate(hlo::Builder& b, hlo::Instruction* x, hlo::Instruction* index,
                              hlo::Instruction* update);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_OPS_H_
