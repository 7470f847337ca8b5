#include "hlo/primitive_type.h"

#include <array>
#include <unordered_map>

namespace eightfold::hlo {
namespace {

struct TypeInfo {
  std::string_view name = "invalid";
  int bits = 0;
  int literal_field = 0;
};

constexpr std::array<TypeInfo, kPrimitiveTypeCount> kTypes = [] {
  std::array<TypeInfo, kPrimitiveTypeCount> types{};
#define TYPE(enumerator, text, number, bits, literal_field) \
  types[number] = TypeInfo{text, bits, literal_field};
#include "hlo/primitive_types.def"
#undef TYPE
  return types;
}();

const TypeInfo& Info(PrimitiveType type) {
  auto index = static_cast<size_t>(type);
  return kTypes[index < kTypes.size() ? index : 0];
}

}  // namespace

std::string_view Name(PrimitiveType type) { return Info(type).name; }
int BitWidth(PrimitiveType type) { return Info(type).bits; }
int LiteralField(PrimitiveType type) { return Info(type).literal_field; }

std::optional<PrimitiveType> FindPrimitiveType(std::string_view text) {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string_view, PrimitiveType>;
    for (size_t i = 1; i < kTypes.size(); ++i) {
      map->emplace(kTypes[i].name, static_cast<PrimitiveType>(i));
    }
    return map;
  }();
  auto it = by_name->find(text);
  if (it == by_name->end()) return std::nullopt;
  return it->second;
}

bool IsF8(PrimitiveType type) { return BitWidth(type) == 8 && IsFloating(type); }

bool IsFloating(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
    case PrimitiveType::kF32:
    case PrimitiveType::kF64:
    case PrimitiveType::kBF16:
      return true;
    default:
      return Name(type).starts_with("f8") || Name(type).starts_with("f4") ||
             Name(type).starts_with("f6");
  }
}

bool IsSigned(PrimitiveType type) { return Name(type).front() == 's'; }
bool IsUnsigned(PrimitiveType type) { return Name(type).front() == 'u'; }
bool IsComplex(PrimitiveType type) {
  return type == PrimitiveType::kC64 || type == PrimitiveType::kC128;
}

}  // namespace eightfold::hlo
