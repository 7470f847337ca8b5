#include "hlo/attribute.h"

#include <array>
#include <unordered_map>

#include "base/hash.h"

namespace eightfold::hlo {
namespace {

constexpr std::array<TextAttributeInfo, kTextAttributeCount> kAttributes = {{
#define ATTRIBUTE(enumerator, text, field, codec) {text, field, Codec::codec},
#include "hlo/attributes.def"
#undef ATTRIBUTE
}};

}  // namespace

const TextAttributeInfo& Info(TextAttribute attribute) {
  return kAttributes[static_cast<size_t>(attribute)];
}

std::optional<TextAttribute> FindTextAttribute(std::string_view text) {
  static const auto* const by_text = [] {
    auto* map = new std::unordered_map<std::string_view, TextAttribute, BytesHash>;
    for (size_t i = 0; i < kAttributes.size(); ++i) {
      map->emplace(kAttributes[i].text, static_cast<TextAttribute>(i));
    }
    return map;
  }();
  auto it = by_text->find(text);
  if (it == by_text->end()) return std::nullopt;
  return it->second;
}

}  // namespace eightfold::hlo
