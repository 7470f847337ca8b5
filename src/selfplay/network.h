#ifndef EIGHTFOLD_SELFPLAY_NETWORK_H_
#define EIGHTFOLD_SELFPLAY_NETWORK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/builder.h"
#include "selfplay/loop.h"
#include "selfplay/search.h"

// A residual network of 3x3 convolutions over boards, with a policy and a value:
//
//   x = relu(stem * observation)
//   blocks times:  x = relu(w1 * relu(w0 * x + bias0) + bias1 + x)
//   h = mean of x over the board;  logits = h policy;  value = tanh(h value)
//
// Precision says what is multiplied. All the rest is f32, but convolutions of bf16 return bf16.
namespace eightfold::selfplay {

inline constexpr float kLargestF8 = 448;  // that f8e4m3fn has

enum class Precision {
  kF32,
  kBf16,  // convolutions of bf16
  kFp8,   // convolutions of f8e4m3fn, but for the stem, which is bf16
};
// "f32", "bf16", "fp8", as flags spell them.
std::string_view Name(Precision precision);

struct NetworkOptions {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t planes = 0;  // of an observation
  int64_t actions = 0;
  int64_t width = 128;  // channels
  int64_t blocks = 10;  // of two convolutions
  Precision precision = Precision::kFp8;
  // FP8 for devices without it, CPUs: the same network with the same numbers, rounded and
  // multiplied in f32. XLA's CPU compiler would convert to FP8 and back, slower than the
  // convolution itself; of this it makes one kernel. Parameters are the same.
  bool fp8_in_f32 = false;
  // Evaluates a batch in a loop over pieces of so many rows, if it consists of such: on CPUs pieces
  // that stay in the cache can be faster. 0: all at once.
  int64_t rows_at_once = 0;
};

struct ParameterInfo {
  std::string name;  // "stem", "block3.conv1.weight", "policy"
  hlo::PrimitiveType type{};
  std::vector<int64_t> dims;
};
// What the network learns, in the order in which programs take it. Kernels are [3,3,in,out]. With
// kFp8 a weight stands for weight * weight_scale, and the input of its convolution is rounded to
// multiples of f8e4m3fn numbers: clamp(x / input_scale, ±448).
std::vector<ParameterInfo> NetworkParameters(const NetworkOptions& options);

// Adds program parameters `first`, `first` + 1 … for them.
Values DeclareParameters(hlo::Builder& b, const NetworkOptions& options, int64_t first = 0);

// Evaluates `observation`, f32[B,rows,columns,planes]: logits f32[B,A], value f32[B] in [-1, 1].
// `largest_inputs`, unless null, gets the largest magnitude (amax), f32[], in the input of each
// convolution of a block, in order: what input scales are made of. Parameters or an observation
// that do not fit are programming mistakes: std::logic_error.
Prediction Network(hlo::Builder& b, const NetworkOptions& options, const Values& parameters,
                   hlo::Instruction* observation, Values* largest_inputs = nullptr);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_NETWORK_H_
