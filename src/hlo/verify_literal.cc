#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hlo/infer_internal.h"
#include "hlo/verify_internal.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

// LiteralProto and ShapeProto fields.
constexpr uint32_t kLiteralShape = 1;
constexpr uint32_t kTupleLiterals = 10;
constexpr uint32_t kShapeType = 2;
constexpr uint32_t kShapeDimensions = 3;

// How many elements one occurrence of the data field of `type` holds.
int64_t ElementsIn(PrimitiveType type, const wire::Cursor& cursor) {
  if (cursor.type() != wire::Type::kBytes) return 1;
  auto size = static_cast<int64_t>(cursor.bytes().size());
  switch (type) {
    case PrimitiveType::kPred:
    case PrimitiveType::kS32:
    case PrimitiveType::kS64:
    case PrimitiveType::kU32:
    case PrimitiveType::kU64:
      return static_cast<int64_t>(wire::CountInts(cursor.bytes()));
    default:
      return size / std::max(BitWidth(type) / 8, 1);
  }
}

// Whether `message`, the literal's own ShapeProto, is an array like `shape`.
bool IsShape(std::string_view message, const Shape& shape) {
  int64_t type = 0;
  std::vector<int64_t> dims;
  for (wire::Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == kShapeType) type = cursor.Int();
    if (cursor.field() == kShapeDimensions) {
      cursor.Ints([&](int64_t value) { dims.push_back(value); });
    }
  }
  return type == static_cast<int64_t>(shape.type) && dims.size() == shape.rank() &&
         (!shape.dynamic.empty() || std::ranges::equal(dims, shape.dims));
}

// Elements below a byte take one byte each; older writers packed them.
bool HoldsElements(const Shape& shape, int64_t found) {
  int64_t wanted = ElementCount(shape);
  int bits = BitWidth(shape.type);
  if (IsComplex(shape.type) && found == 2 * wanted) return true;  // unpacked parts
  return found == wanted || (bits < 8 && found == (wanted * bits + 7) / 8);
}

std::string ArrayProblem(std::string_view message, const Shape& shape) {
  auto data_field = static_cast<uint32_t>(LiteralField(shape.type));
  int64_t elements = 0;
  for (wire::Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == kLiteralShape && !IsShape(cursor.Message(), shape)) {
      return fmt::format("the literal of a constant {} has another shape", Bare(shape));
    }
    if (cursor.field() == data_field) elements += ElementsIn(shape.type, cursor);
  }
  if (shape.dynamic.empty() && !HoldsElements(shape, elements)) {
    return fmt::format("the literal of a constant {} has {} element{} instead of {}", Bare(shape),
                       elements, elements == 1 ? "" : "s", ElementCount(shape));
  }
  return {};
}

std::string LiteralProblem(std::string_view literal, const Shape& whole) {
  std::vector<std::pair<std::string_view, const Shape*>> pending = {{literal, &whole}};
  while (!pending.empty()) {
    auto [message, shape] = pending.back();
    pending.pop_back();
    if (shape->IsArray()) {
      if (std::string problem = ArrayProblem(message, *shape); !problem.empty()) return problem;
      continue;
    }
    if (!shape->IsTuple()) continue;
    size_t elements = 0;
    for (wire::Cursor cursor(message); cursor.Next();) {
      if (cursor.field() != kTupleLiterals) continue;
      if (elements < shape->tuple.size()) {
        pending.emplace_back(cursor.Message(), shape->tuple[elements]);
      }
      ++elements;
    }
    if (elements != shape->tuple.size()) {
      return fmt::format("the literal of a constant {} has {} elements", Bare(*shape), elements);
    }
  }
  return {};
}

}  // namespace

bool CheckLiteral(Verdict& verdict, const Instruction& constant) {
  const Attribute* literal = constant.Find(Field::kLiteral);
  if (literal == nullptr) return true;  // printed as {...}: the values are not known
  try {
    std::string problem = LiteralProblem(literal->bytes, *constant.shape);
    return problem.empty() || verdict.Fail(constant, problem);
  } catch (const wire::Damage& damage) {
    return verdict.Fail(constant, fmt::format("its literal is damaged: {}", damage.what()));
  }
}

}  // namespace eightfold::hlo
