#ifndef EIGHTFOLD_HLO_PRIMITIVE_TYPE_H_
#define EIGHTFOLD_HLO_PRIMITIVE_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace eightfold::hlo {

// Element types, numbered as in xla_data.proto.
enum class PrimitiveType : uint8_t {
  kInvalid = 0,
#define TYPE(enumerator, text, number, bits, literal_field) enumerator = number,
#include "hlo/primitive_types.def"
#undef TYPE
};
constexpr int kPrimitiveTypeCount = 37;

// "f8e4m3fn"; "invalid" for kInvalid.
std::string_view Name(PrimitiveType type);
std::optional<PrimitiveType> FindPrimitiveType(std::string_view text);
// Bits of one element; 0 for tuples, tokens, opaques and buffers.
int BitWidth(PrimitiveType type);
// Number of the LiteralProto field that holds data of this type; 0 when there is none.
int LiteralField(PrimitiveType type);

// Arrays have dimensions and a layout; everything but tuple, token, opaque and buffer is one.
inline bool IsArray(PrimitiveType type) { return BitWidth(type) != 0; }
bool IsF8(PrimitiveType type);        // any 8-bit float
bool IsFloating(PrimitiveType type);  // any real float, down to f4
bool IsSigned(PrimitiveType type);    // s1 … s64
bool IsUnsigned(PrimitiveType type);  // u1 … u64
bool IsComplex(PrimitiveType type);
inline bool IsIntegral(PrimitiveType type) { return IsSigned(type) || IsUnsigned(type); }

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PRIMITIVE_TYPE_H_
