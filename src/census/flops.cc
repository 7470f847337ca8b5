#include "census/flops.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace eightfold::census {
namespace {

using Json = nlohmann::json;

double Elements(const hlo::Shape& shape) {
  return std::max(0.0, static_cast<double>(hlo::ElementCount(shape)));
}

const hlo::Shape& FirstArray(const hlo::Shape& shape) {
  return shape.IsTuple() && !shape.tuple.empty() ? *shape.tuple[0] : shape;
}

double DimOr1(const hlo::Shape& shape, int64_t dim) {
  if (dim < 0 || static_cast<size_t>(dim) >= shape.rank()) return 1;
  return std::max(0.0, static_cast<double>(shape.dims[dim]));
}

Json ParseConfig(const hlo::Instruction& call, const char* member) {
  Json config = Json::parse(call.backend_config, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config.contains(member) || !config[member].is_object()) return {};
  return config[member];
}

// int64 fields are strings in this JSON ("64"), numbers in some hand-written ones.
int64_t ToInt(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = -1;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

std::vector<int64_t> IntList(const Json& object, const char* member) {
  std::vector<int64_t> values;
  if (!object.is_object() || !object.contains(member) || !object[member].is_array()) return values;
  for (const Json& value : object[member]) values.push_back(ToInt(value));
  return values;
}

enum class Direction { kForward, kBackwardInput, kBackwardFilter };

Direction DirectionOf(const hlo::Instruction& convolution) {
  std::string_view target = convolution.custom_call_target();
  if (target == "__cudnn$convBackwardInput") return Direction::kBackwardInput;
  if (target == "__cudnn$convBackwardFilter") return Direction::kBackwardFilter;
  return Direction::kForward;
}

}  // namespace

double ConvolutionFlops(const hlo::Instruction& convolution) {
  if (convolution.operands.size() < 2) return 0;
  const hlo::Shape& result = FirstArray(*convolution.shape);
  const hlo::Shape& lhs = *convolution.operands[0]->shape;
  const hlo::Shape& rhs = *convolution.operands[1]->shape;
  hlo::ConvolutionDimensions dims =
      hlo::DecodeConvolutionDimensions(convolution.Bytes(hlo::Field::kConvolutionDimensionNumbers));
  Direction direction = DirectionOf(convolution);
  const hlo::Shape& kernel = direction == Direction::kBackwardFilter ? result : rhs;
  const hlo::Shape& output = direction == Direction::kForward         ? result
                             : direction == Direction::kBackwardInput ? lhs
                                                                      : rhs;
  double terms = DimOr1(kernel, dims.kernel_input_feature);
  for (int64_t spatial : dims.kernel_spatial) terms *= DimOr1(kernel, spatial);
  return 2 * Elements(output) * terms;
}

double DotFlops(const hlo::Shape& lhs, const hlo::Shape& result,
                const std::vector<int64_t>& contracting) {
  double terms = 1;
  for (int64_t dim : contracting) terms *= DimOr1(lhs, dim);
  return 2 * Elements(result) * terms;
}

double DotFlops(const hlo::Instruction& dot) {
  if (dot.operands.empty()) return 0;
  hlo::DotDimensions dims = hlo::DecodeDotDimensions(dot);
  const hlo::Shape& lhs = *dot.operands[0]->shape;
  double flops = DotFlops(lhs, *dot.shape, dims.lhs_contracting);
  bool ragged_contracting = std::ranges::any_of(dims.lhs_ragged, [&](int64_t dim) {
    return std::ranges::find(dims.lhs_contracting, dim) != dims.lhs_contracting.end();
  });
  // Then the result has one slice for each group, and each group contracts its own part only.
  if (ragged_contracting && dot.operands.size() > 2) {
    flops /= std::max(1.0, Elements(*dot.operands[2]->shape));
  }
  return flops;
}

double GemmCallFlops(const hlo::Instruction& call) {
  if (call.operands.empty()) return 0;
  Json config = ParseConfig(call, "gemm_backend_config");
  if (config.is_null()) {
    config = ParseConfig(call, "grouped_gemm_backend_config");
    if (config.is_object() && config.contains("gemm_backend_config")) {
      config = config["gemm_backend_config"];
    }
  }
  if (!config.is_object() || !config.contains("dot_dimension_numbers")) return 0;
  return DotFlops(*call.operands[0]->shape, FirstArray(*call.shape),
                  IntList(config["dot_dimension_numbers"], "lhs_contracting_dimensions"));
}

double AttentionFlops(const hlo::Instruction& call) {
  if (call.operands.empty()) return 0;
  Json config = ParseConfig(call, "cudnn_fmha_backend_config");
  if (!config.is_object() || !config.contains("intermediate_tensor_shape")) return 0;
  double scores = 1;
  for (int64_t dim : IntList(config["intermediate_tensor_shape"], "dimensions")) {
    scores *= static_cast<double>(std::max<int64_t>(dim, 0));
  }
  std::vector<int64_t> contracting;
  for (const char* product :
       {"bmm1_dot_dimension_numbers", "bmm1_grad_gemm1_dot_dimension_numbers"}) {
    if (contracting.empty() && config.contains(product)) {
      contracting = IntList(config[product], "lhs_contracting_dimensions");
    }
  }
  const hlo::Shape& query = *call.operands[0]->shape;
  // [batch, sequence, heads, head size] by default: the head size is contracted.
  double head_size =
      contracting.empty() ? DimOr1(query, static_cast<int64_t>(query.rank()) - 1) : 1;
  for (int64_t dim : contracting) head_size *= DimOr1(query, dim);
  bool backward = call.custom_call_target().find("Backward") != std::string_view::npos;
  return (backward ? 5 : 2) * 2 * scores * head_size;
}

}  // namespace eightfold::census
