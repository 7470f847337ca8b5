#ifndef EIGHTFOLD_SELFPLAY_RNG_H_
#define EIGHTFOLD_SELFPLAY_RNG_H_

#include <array>
#include <cstdint>
#include <span>

#include "hlo/builder.h"

// Random numbers that depend on a key and a position only: Threefry-2x32 with 20 rounds ("Parallel
// random numbers: as easy as 1, 2, 3", Salmon et al., 2011), made of additions, rotations and xors,
// so every plugin gives the same bits. A key is u32[2]. Keys, bits and uniform numbers are bit for
// bit those of jax.random (threefry2x32, partitionable, jax >= 0.5) for the same key and
// dimensions; logarithms differ between compilers in the last bits.
namespace eightfold::selfplay {

using Key = std::array<uint32_t, 2>;

// jax.random.key(seed).
Key KeyOf(uint64_t seed);
// The two words of one block, on the host: what Threefry gives for a scalar counter.
Key Threefry(Key key, Key counter);

struct Block {
  hlo::Instruction* high = nullptr;
  hlo::Instruction* low = nullptr;
};
// Encrypts counters, each u32[…]; `key` is u32[2].
Block Threefry(hlo::Builder& b, hlo::Instruction* key, Block counter);

// A key that `data`, u32[] or s32[], makes of `key`: one per move, game or purpose.
hlo::Instruction* FoldIn(hlo::Builder& b, hlo::Instruction* key, hlo::Instruction* data);
// `count` keys: u32[count,2]. A key that was split is not used again.
hlo::Instruction* SplitKey(hlo::Builder& b, hlo::Instruction* key, int64_t count);

// u32 of `dims`.
hlo::Instruction* RandomBits(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims);
// f32 of `dims` in [low, high), 2^23 values apart.
hlo::Instruction* Uniform(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims,
                          double low = 0, double high = 1);
// f32 of `dims`: -log(-log(u)), u uniform and not 0. An arg max of logits plus this samples them.
hlo::Instruction* Gumbel(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims);
// f32 of `dims`: standard normal, by Box and Muller.
hlo::Instruction* Normal(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims);
// f32 of `dims`: the logarithm of gamma variates of shape `alpha` > 0, which themselves may be too
// small for a float.
hlo::Instruction* LogGamma(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims,
                           double alpha);
// f32 of `dims`: along the last dimension, samples of the symmetric Dirichlet distribution.
hlo::Instruction* Dirichlet(hlo::Builder& b, hlo::Instruction* key, std::span<const int64_t> dims,
                            double alpha);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_RNG_H_
