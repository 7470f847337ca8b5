#include "pjrt/array.h"

#include <fmt/format.h>

#include <utility>

namespace eightfold::pjrt {
namespace {

using hlo::PrimitiveType;

// Numbers of PJRT_Buffer_Type. Token (22) is no array; the 2-, 4- and 6-bit types are packed
// differently on the host and on devices, and nothing here needs them.
constexpr std::pair<PrimitiveType, int> kNumbers[] = {
    {PrimitiveType::kPred, 1},        {PrimitiveType::kS8, 2},
    {PrimitiveType::kS16, 3},         {PrimitiveType::kS32, 4},
    {PrimitiveType::kS64, 5},         {PrimitiveType::kU8, 6},
    {PrimitiveType::kU16, 7},         {PrimitiveType::kU32, 8},
    {PrimitiveType::kU64, 9},         {PrimitiveType::kF16, 10},
    {PrimitiveType::kF32, 11},        {PrimitiveType::kF64, 12},
    {PrimitiveType::kBF16, 13},       {PrimitiveType::kC64, 14},
    {PrimitiveType::kC128, 15},       {PrimitiveType::kF8E5M2, 16},
    {PrimitiveType::kF8E4M3FN, 17},   {PrimitiveType::kF8E4M3B11FNUZ, 18},
    {PrimitiveType::kF8E5M2FNUZ, 19}, {PrimitiveType::kF8E4M3FNUZ, 20},
    {PrimitiveType::kF8E4M3, 26},     {PrimitiveType::kF8E3M4, 27},
    {PrimitiveType::kF8E8M0FNU, 28},
};

}  // namespace

int AbiType(PrimitiveType type) {
  for (const auto& [known, number] : kNumbers) {
    if (known == type) return number;
  }
  return 0;
}

PrimitiveType TypeFromAbi(int number) {
  for (const auto& [type, known] : kNumbers) {
    if (known == number) return type;
  }
  return PrimitiveType::kInvalid;
}

Result<ArrayShape> ArrayShape::From(const hlo::Shape& shape) {
  if (!shape.IsArray()) {
    return Fail(fmt::format("{} is not an array", hlo::ToString(shape, false)));
  }
  if (AbiType(shape.type) == 0) {
    return Fail(fmt::format("arrays of {} cannot be passed to programs", hlo::Name(shape.type)));
  }
  const bool is_dynamic = !shape.dynamic.empty();
  const int64_t elements = hlo::ElementCount(shape);
  if (is_dynamic || elements < 0 || elements >> 56 != 0) {
    return Fail(fmt::format("{} has no fixed size, or is too large", hlo::ToString(shape, false)));
  }
  return ArrayShape{shape.type, {shape.dims.begin(), shape.dims.end()}};
}

int64_t ArrayShape::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

std::string ToString(const ArrayShape& shape) {
  std::string text = fmt::format("{}[", hlo::Name(shape.type));
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", shape.dims[i]);
  }
  return text + "]";
}

}  // namespace eightfold::pjrt
