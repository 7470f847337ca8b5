// The convolutions of a random module: their operands, windows and attributes.
#include <fmt/format.h>

#include <algorithm>

#include "maker.h"

namespace eightfold::differential {
namespace {

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
  return out;
}

bool IsWide(PrimitiveType type) {
  return type == PrimitiveType::kF32 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF16;
}

}  // namespace

PrimitiveType Maker::NarrowType() {
  using enum PrimitiveType;
  switch (choices_.Below(32)) {
    default:
      return kF8E4M3FN;
    case 22:
    case 23:
    case 24:
    case 25:
    case 26:
    case 27:
      return kF8E5M2;
    case 28:
    case 29:
      return choices_.Of({kBF16, kF32, kF16});
    case 31:
      return choices_.Of({kS8, kF8E4M3FN, kF8E5M2});
  }
}

// Something that is not `converted` × or ÷ a scalar.
Instruction* Maker::ScaleMiss(Instruction* converted) {
  switch (choices_.Below(5)) {
    case 0:
      return builder_.Divide(Spread(PickScalar(converted->shape->type), converted), converted);
    case 1: {
      const int64_t dimension = feature_at_;
      Instruction* vector = Parameter(converted->shape->type,
                                      {converted->shape->dims[static_cast<size_t>(dimension)]});
      return builder_.Multiply(converted,
                               builder_.Broadcast(vector, converted->shape->dims, {&dimension, 1}));
    }
    case 2:
      return builder_.Multiply(converted, Parameter(converted->shape->type, DimsOf(converted)));
    case 3:
      return builder_.Add(converted, Spread(PickScalar(converted->shape->type), converted));
    default:
      return builder_.Multiply(builder_.Unary(Opcode::kNegate, converted),
                               Spread(PickScalar(converted->shape->type), converted));
  }
}

// `narrow` converted to `wide`, perhaps scaled.
Instruction* Maker::Scaled(Instruction* narrow, PrimitiveType wide) {
  if (IsWide(narrow->shape->type) && narrow->shape->type == wide && !choices_.OneIn(4)) {
    return narrow;
  }
  Instruction* converted = builder_.Convert(narrow, wide);
  if (choices_.OneIn(24))
    converted = builder_.Convert(builder_.Convert(narrow, PrimitiveType::kF16), wide);
  if (Miss()) return ScaleMiss(converted);
  switch (choices_.Below(6)) {
    default:
      return converted;
    case 2:
    case 3:
      return EitherOrder(Opcode::kMultiply, converted, Spread(PickScalar(wide), converted));
    case 4:
      return builder_.Divide(converted, Spread(PickScalar(wide), converted));
    case 5: {
      // The scale's own type is narrower.
      Instruction* scale = PickScalar(PrimitiveType::kBF16);
      Instruction* spread = choices_.OneIn(2) ? builder_.Convert(Spread(scale, converted), wide)
                                              : Spread(builder_.Convert(scale, wide), converted);
      return EitherOrder(Opcode::kMultiply, converted, spread);
    }
  }
}

// A tensor of the family's rank; some are results of earlier convolutions.
Instruction* Maker::PickInput() {
  if (choices_.OneIn(2)) {
    std::vector<Instruction*> narrow;
    for (Instruction* tensor : tensors_) {
      if (tensor->shape->rank() != main_.size()) continue;
      if (!IsWide(tensor->shape->type) || choices_.OneIn(8)) narrow.push_back(tensor);
    }
    if (!narrow.empty()) {
      return narrow[narrow.size() - 1 - choices_.Below(static_cast<uint32_t>(narrow.size()))];
    }
  }
  Dims dims = main_;
  if (choices_.OneIn(60)) dims[choices_.Below(static_cast<uint32_t>(dims.size()))] = 0;
  return Parameter(NarrowType(), dims);
}

Instruction* Maker::FilterParameter(const Filter& filter, PrimitiveType wide, bool bare) {
  Dims dims(filter.layout.size());
  for (size_t i = 0; i < filter.kernel.size(); ++i) {
    dims[static_cast<size_t>(filter.layout[i])] = filter.kernel[i];
  }
  dims[static_cast<size_t>(filter.layout[filter.kernel.size()])] = filter.input_features;
  dims[static_cast<size_t>(filter.layout.back())] = filter.output_features;
  for (Instruction* earlier : filters_) {
    if (DimsOf(earlier) == dims && choices_.OneIn(2)) {
      return bare ? earlier : Scaled(earlier, wide);
    }
  }
  PrimitiveType type = NarrowType();
  Instruction* narrow = choices_.OneIn(10) ? builder_.Broadcast(builder_.Constant(type, 1), dims)
                                           : Parameter(type, dims);
  filters_.push_back(narrow);
  return bare ? narrow : Scaled(narrow, wide);
}

void Maker::ChooseWindowDimension(hlo::WindowDimension& window, int64_t input) {
  if (choices_.OneIn(2)) window.stride = 1 + choices_.Below(3);
  if (choices_.OneIn(2)) {
    window.padding_low = static_cast<int64_t>(choices_.Below(4)) - (choices_.OneIn(6) ? 2 : 0);
    window.padding_high = static_cast<int64_t>(choices_.Below(4)) - (choices_.OneIn(6) ? 2 : 0);
  }
  if (choices_.OneIn(4)) window.window_dilation = 1 + choices_.Below(3);
  if (choices_.OneIn(4)) window.base_dilation = 1 + choices_.Below(3);
  // As large as to have a result.
  const int64_t base = input == 0 ? 0 : (input - 1) * window.base_dilation + 1;
  const int64_t needed = (window.size - 1) * window.window_dilation + 1;
  const int64_t missing = needed - (base + window.padding_low + window.padding_high);
  if (missing > 0 && !choices_.OneIn(100)) window.padding_high += missing;
}

hlo::Window Maker::ChooseWindow(const Instruction* input, const hlo::ConvolutionDimensions& dims,
                                const Dims& kernel) {
  const bool plain = !choices_.OneIn(3);
  const uint32_t reversal = choices_.OneIn(10) ? 1 + choices_.Below(3) : 0;
  hlo::Window window;
  for (size_t i = 0; i < kernel.size(); ++i) {
    hlo::WindowDimension dimension;
    dimension.size = kernel[i];
    dimension.padding_low = (kernel[i] - 1) / 2;
    dimension.padding_high = kernel[i] / 2;
    if (!plain) {
      ChooseWindowDimension(dimension,
                            input->shape->dims[static_cast<size_t>(dims.input_spatial[i])]);
    }
    dimension.reversal = reversal == 1 || (reversal > 1 && i + 2 == reversal);
    window.dimensions.push_back(dimension);
  }
  return window;
}

// `filter` reversed over its spatial dimensions, or almost.
Instruction* Maker::Reversed(Instruction* filter, const hlo::ConvolutionDimensions& dims) {
  Dims over = dims.kernel_spatial;
  if (Miss()) {
    if (choices_.OneIn(2)) {
      over.push_back(dims.kernel_input_feature);
    } else if (!over.empty()) {
      over.pop_back();
    }
  }
  const std::string bytes = hlo::EncodeInts(over);
  const hlo::Attribute attribute =
      hlo::Attribute::Bytes(hlo::Field::kDimensions, module_.arena.Copy(bytes));
  return builder_.Make(Opcode::kReverse, {&filter, 1}, {&attribute, 1});
}

Instruction* Maker::Convolve(Instruction* input, Instruction* filter, const hlo::Window& window,
                             const hlo::ConvolutionDimensions& dims, int64_t feature_groups,
                             int64_t batch_groups, PrimitiveType type) {
  using hlo::Attribute, hlo::Field;
  auto payload = [&](Field field, const std::string& bytes) {
    return Attribute::Bytes(field, module_.arena.Copy(bytes));
  };
  std::vector<Attribute> attributes = {
      payload(Field::kWindow, hlo::EncodeWindow(window)),
      payload(Field::kConvolutionDimensionNumbers, hlo::EncodeConvolutionDimensions(dims)),
      Attribute::Varint(Field::kFeatureGroupCount, static_cast<uint64_t>(feature_groups)),
      Attribute::Varint(Field::kBatchGroupCount, static_cast<uint64_t>(batch_groups))};
  if (choices_.OneIn(4)) {
    // PrecisionConfig{operand_precision: HIGHEST, HIGHEST}
    attributes.push_back(payload(Field::kPrecisionConfig, std::string("\x0a\x02\x02\x02")));
  }
  Instruction* operands[] = {input, filter};
  Instruction* convolution = builder_.Make(Opcode::kConvolution, operands, attributes);
  hlo::Shape shape = *convolution->shape;
  shape.type = type;
  convolution->shape = module_.shapes.Intern(shape);
  return convolution;
}

// A name by which the comparison finds it again.
void Maker::Decorate(Instruction* convolution) {
  const std::string op_name = fmt::format("conv{}", convolutions_++);
  convolution->metadata =
      module_.arena.Copy("\x12" + Varint(op_name.size()) + op_name);  // OpMetadata.op_name
}

void Maker::Convolution() {
  using enum PrimitiveType;
  const PrimitiveType wide = choices_.Of({kF32, kF32, kF32, kBF16, kF16});
  Instruction* narrow = PickInput();
  const bool bare = choices_.OneIn(8);
  Instruction* input = narrow;
  if (!operands_.empty() && choices_.OneIn(3)) {
    input = Recent(operands_);
  } else if (!bare) {
    input = Scaled(narrow, wide);
    operands_.push_back(input);
  }

  hlo::ConvolutionDimensions dims;
  dims.input_batch = dims.output_batch = batch_at_;
  dims.input_feature = dims.output_feature = feature_at_;
  if (choices_.OneIn(10)) std::swap(dims.input_batch, dims.input_feature);
  if (choices_.OneIn(10)) std::swap(dims.output_batch, dims.output_feature);
  dims.input_spatial = dims.output_spatial = spatial_at_;
  dims.kernel_spatial.assign(filter_layout_.begin(), filter_layout_.end() - 2);
  dims.kernel_input_feature = filter_layout_[filter_layout_.size() - 2];
  dims.kernel_output_feature = filter_layout_.back();

  const int64_t features = input->shape->dims[static_cast<size_t>(dims.input_feature)];
  const int64_t batch = input->shape->dims[static_cast<size_t>(dims.input_batch)];
  int64_t feature_groups = 1, batch_groups = 1;
  if (features > 1 && choices_.OneIn(8)) {
    feature_groups = features % 2 == 0 && !choices_.OneIn(2) ? 2 : features;
  } else if (batch > 1 && choices_.OneIn(24)) {
    batch_groups = batch;
  }
  Filter filter;
  filter.layout = filter_layout_;
  for (int64_t at : spatial_at_) {
    // As large as the input: what a gradient looks like.
    const bool large = choices_.OneIn(20);
    filter.kernel.push_back(large ? std::max<int64_t>(main_[static_cast<size_t>(at)], 1)
                                  : choices_.Of<int64_t>({3, 1, 2, 5}));
  }
  filter.input_features = features / feature_groups;
  filter.output_features = choices_.OneIn(6)
                               ? 4 * feature_groups * batch_groups
                               : std::max<int64_t>(main_[static_cast<size_t>(feature_at_)], 1);
  const int64_t groups = feature_groups * batch_groups;
  filter.output_features = (filter.output_features + groups - 1) / groups * groups;

  Instruction* kernel =
      FilterParameter(filter, IsWide(input->shape->type) ? input->shape->type : wide, bare);
  if (choices_.OneIn(12)) kernel = Reversed(kernel, dims);
  const hlo::Window window = ChooseWindow(input, dims, filter.kernel);
  PrimitiveType type = wide;
  if (choices_.OneIn(8)) type = choices_.Of({kF32, kBF16, kF16, kF8E4M3FN, kF8E5M2});
  Instruction* convolution =
      Convolve(input, kernel, window, dims, feature_groups, batch_groups, type);
  Decorate(convolution);
  Keep(convolution);
}

}  // namespace eightfold::differential
