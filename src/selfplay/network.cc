#include "selfplay/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "selfplay/ops.h"

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kBF16 = PrimitiveType::kBF16;
constexpr auto kF8 = PrimitiveType::kF8E4M3FN;
constexpr auto kS32 = PrimitiveType::kS32;

constexpr int kLayers = 2;  // of a block

std::string BlockName(int64_t block) { return fmt::format("block{}", block); }
std::string LayerName(int layer) { return fmt::format("conv{}", layer); }

// The parameters of one convolution in a block; scales, f32[], with kFp8 only.
struct Layer {
  Instruction* weight = nullptr;
  Instruction* weight_scale = nullptr;
  Instruction* input_scale = nullptr;
  Instruction* bias = nullptr;
};

PrimitiveType StemType(Precision precision) { return precision == Precision::kF32 ? kF32 : kBF16; }

PrimitiveType WeightType(Precision precision) {
  return precision == Precision::kFp8 ? kF8 : StemType(precision);
}

Instruction* As(Builder& b, PrimitiveType type, Instruction* x) {
  return x->shape->type == type ? x : b.Convert(x, type);
}

// 3x3, padded to keep the size of the board; f32. Of bf16, the sums are rounded to bf16: XLA's GPU
// compiler multiplies in f32 when a convolution of bf16 returns f32.
Instruction* Conv(Builder& b, Instruction* x, Instruction* kernel) {
  hlo::Window window;
  window.dimensions.assign(2, {.size = 3, .padding_low = 1, .padding_high = 1});
  hlo::ConvolutionDimensions nhwc;
  nhwc.input_batch = nhwc.output_batch = 0;
  nhwc.input_spatial = nhwc.output_spatial = {1, 2};
  nhwc.input_feature = nhwc.output_feature = 3;
  nhwc.kernel_spatial = {0, 1};
  nhwc.kernel_input_feature = 2;
  nhwc.kernel_output_feature = 3;
  PrimitiveType type = x->shape->type == kBF16 ? kBF16 : kF32;
  Instruction* sums = b.Conv(x, kernel, window, nhwc, type);
  return As(b, kF32, sums);
}

// A scalar everywhere, and a number per channel, in the dimensions of `x`.
Instruction* Everywhere(Builder& b, Instruction* scalar, Instruction* x) {
  return b.Broadcast(scalar, x->shape->dims);
}
Instruction* PerChannel(Builder& b, Instruction* channels, Instruction* x) {
  int64_t last[] = {3};
  return b.Broadcast(channels, x->shape->dims, last);
}

Instruction* Relu(Builder& b, Instruction* x) { return b.Maximum(x, b.ZerosLike(x)); }

// x / scale in f8e4m3fn, or in f32 but of the same values. `x` comes from a Relu: only the upper
// limit counts.
Instruction* Quantize(Builder& b, Instruction* x, Instruction* scale, PrimitiveType type) {
  Instruction* scaled = b.Divide(x, Everywhere(b, scale, x));
  if (type == kF8) return b.Convert(Clip(b, scaled, -kLargestF8, kLargestF8), kF8);
  return RoundToF8E4M3(b, b.Minimum(scaled, b.Like(scaled, kLargestF8)));
}

// weight * x + bias.
Instruction* Apply(Builder& b, const Layer& layer, const NetworkOptions& options, Instruction* x) {
  Instruction* y = nullptr;
  if (options.precision == Precision::kFp8) {
    PrimitiveType type = options.fp8_in_f32 ? kF32 : kF8;
    Instruction* quantized = Quantize(b, x, layer.input_scale, type);
    Instruction* product = Conv(b, quantized, As(b, type, layer.weight));
    Instruction* scale = b.Multiply(layer.input_scale, layer.weight_scale);
    y = b.Multiply(product, Everywhere(b, scale, product));
  } else {
    y = Conv(b, As(b, WeightType(options.precision), x), layer.weight);
  }
  return b.Add(y, PerChannel(b, layer.bias, y));
}

Instruction* LargestMagnitude(Builder& b, Instruction* x) {
  return b.Reduce(b.Abs(x), b.Constant(kF32, 0), {0, 1, 2, 3}, b.MaxReducer(kF32));
}

Instruction* Block(Builder& b, std::span<const Layer> layers, const NetworkOptions& options,
                   Instruction* x, Values* largest_inputs) {
  auto convolution = [&](int layer, Instruction* input) {
    Builder::Scope scope(b, LayerName(layer));
    if (largest_inputs != nullptr) largest_inputs->push_back(LargestMagnitude(b, input));
    return Apply(b, layers[static_cast<size_t>(layer)], options, input);
  };
  Instruction* y = Relu(b, convolution(0, x));
  return Relu(b, b.Add(convolution(1, y), x));
}

// [B,rows,columns,C] to [B,C].
Instruction* MeanOverBoard(Builder& b, Instruction* x) {
  Instruction* sum = b.Reduce(x, b.Constant(kF32, 0), {1, 2}, b.AddReducer(kF32));
  auto cells = static_cast<double>(x->shape->dims[1] * x->shape->dims[2]);
  return b.Divide(sum, b.Like(sum, cells));
}

Instruction* MatMul(Builder& b, Instruction* x, Instruction* y) {
  return b.Dot(x, y, {.lhs_contracting = {1}, .rhs_contracting = {0}});
}

bool IsArrayOf(const Instruction* x, PrimitiveType type, std::span<const int64_t> dims) {
  return x->shape->type == type && std::ranges::equal(x->shape->dims, dims);
}

void Check(const NetworkOptions& options, const Values& parameters, Instruction* observation) {
  auto infos = NetworkParameters(options);
  if (parameters.size() != infos.size()) {
    throw std::logic_error(
        fmt::format("network: {} parameters where {} are needed", parameters.size(), infos.size()));
  }
  for (size_t i = 0; i < infos.size(); ++i) {
    if (IsArrayOf(parameters[i], infos[i].type, infos[i].dims)) continue;
    throw std::logic_error(fmt::format("network: parameter {} ({}) is {}", i, infos[i].name,
                                       ToString(*parameters[i]->shape, false)));
  }
  if (observation->shape->rank() == 4) {
    int64_t batch = observation->shape->dims[0];
    int64_t dims[] = {batch, options.rows, options.columns, options.planes};
    if (IsArrayOf(observation, kF32, dims)) return;
  }
  throw std::logic_error("network: an observation " + ToString(*observation->shape, false));
}

// Takes parameters in the order of NetworkParameters.
class Reader {
 public:
  explicit Reader(const Values& parameters) : next_(parameters.begin()) {}

  Instruction* Take() { return *next_++; }
  Layer TakeLayer(Precision precision) {
    Layer layer;
    layer.weight = Take();
    if (precision == Precision::kFp8) {
      layer.weight_scale = Take();
      layer.input_scale = Take();
    }
    layer.bias = Take();
    return layer;
  }

 private:
  Values::const_iterator next_;
};

// The network for all rows of `observation` at once.
Prediction Evaluate(Builder& b, const NetworkOptions& options, const Values& parameters,
                    Instruction* observation, Values* largest_inputs) {
  Reader reader(parameters);
  Instruction* x = observation;
  {
    Builder::Scope scope(b, "stem");
    x = Relu(b, Conv(b, As(b, StemType(options.precision), x), reader.Take()));
  }
  for (int64_t block = 0; block < options.blocks; ++block) {
    Builder::Scope scope(b, BlockName(block));
    Layer first = reader.TakeLayer(options.precision);
    Layer second = reader.TakeLayer(options.precision);
    Layer layers[] = {first, second};
    x = Block(b, layers, options, x, largest_inputs);
  }
  Builder::Scope heads(b, "heads");
  Instruction* h = MeanOverBoard(b, x);
  Instruction* logits = MatMul(b, h, reader.Take());
  Instruction* value = b.Tanh(MatMul(b, h, reader.Take()));
  return {logits, b.Reshape(value, {value->shape->dims[0]})};
}

// The same for some rows after the other.
Prediction EvaluateInPieces(Builder& b, const NetworkOptions& options, const Values& parameters,
                            Instruction* observation) {
  const int64_t rows = options.rows_at_once;
  const int64_t batch = observation->shape->dims[0];
  enum : size_t { kRow, kObservation, kLogits, kValue, kParameters };
  Values start = {b.Constant(kS32, 0), observation, b.Zeros(kF32, {batch, options.actions}),
                  b.Zeros(kF32, {batch})};
  start.insert(start.end(), parameters.begin(), parameters.end());
  auto more = [batch](Builder& in, const Values& carried) {
    return in.Less(carried[kRow], in.Constant(kS32, static_cast<double>(batch)));
  };
  auto piece = [&](Builder& in, const Values& carried) {
    Instruction* row = carried[kRow];
    Instruction* zero = in.Constant(kS32, 0);
    Instruction* seen = in.DynamicSlice(carried[kObservation], {row, zero, zero, zero},
                                        {rows, options.rows, options.columns, options.planes});
    Values inner(carried.begin() + kParameters, carried.end());
    Builder::Scope network(in, "network");
    Prediction p = Evaluate(in, options, inner, seen, nullptr);
    Values next = carried;
    next[kRow] = in.Add(row, in.Constant(kS32, static_cast<double>(rows)));
    next[kLogits] = in.DynamicUpdateSlice(carried[kLogits], p.logits, {row, zero});
    next[kValue] = in.DynamicUpdateSlice(carried[kValue], p.value, {row});
    return next;
  };
  Values end = Loop(b, "network", start, more, piece);
  return {end[kLogits], end[kValue]};
}

}  // namespace

std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
  }
  return "";
}

std::vector<ParameterInfo> NetworkParameters(const NetworkOptions& options) {
  int64_t width = options.width;
  Precision precision = options.precision;
  std::vector<ParameterInfo> all = {{"stem", StemType(precision), {3, 3, options.planes, width}}};
  for (int64_t block = 0; block < options.blocks; ++block) {
    for (int layer = 0; layer < kLayers; ++layer) {
      std::string prefix = fmt::format("{}.{}.", BlockName(block), LayerName(layer));
      all.push_back({prefix + "weight", WeightType(precision), {3, 3, width, width}});
      if (precision == Precision::kFp8) {
        all.push_back({prefix + "weight_scale", kF32, {}});
        all.push_back({prefix + "input_scale", kF32, {}});
      }
      all.push_back({prefix + "bias", kF32, {width}});
    }
  }
  all.push_back({"policy", kF32, {width, options.actions}});
  all.push_back({"value", kF32, {width, 1}});
  return all;
}

Values DeclareParameters(Builder& b, const NetworkOptions& options, int64_t first) {
  Values values;
  for (const ParameterInfo& info : NetworkParameters(options)) {
    auto number = first + static_cast<int64_t>(values.size());
    values.push_back(b.Parameter(number, b.Array(info.type, info.dims), info.name));
  }
  return values;
}

Prediction Network(Builder& b, const NetworkOptions& options, const Values& parameters,
                   Instruction* observation, Values* largest_inputs) {
  Check(options, parameters, observation);
  Builder::Scope network(b, "network");
  const int64_t rows = options.rows_at_once;
  const int64_t batch = observation->shape->dims[0];
  if (rows == 0 || rows >= batch || batch % rows != 0 || largest_inputs != nullptr) {
    return Evaluate(b, options, parameters, observation, largest_inputs);
  }
  Values converted = parameters;  // once, not for each piece
  for (Instruction*& x : converted) {
    if (options.fp8_in_f32 && x->shape->type == kF8) x = b.Convert(x, kF32);
  }
  return EvaluateInPieces(b, options, converted, observation);
}

}  // namespace eightfold::selfplay
