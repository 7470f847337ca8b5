#ifndef EIGHTFOLD_HLO_OPCODE_H_
#define EIGHTFOLD_HLO_OPCODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hlo/attribute.h"

namespace eightfold::hlo {

enum class Opcode : uint8_t {
#define OPCODE(enumerator, text, fewest, most, attributes) enumerator,
#include "hlo/opcodes.def"
#undef OPCODE
};
constexpr int kOpcodeCount = 0
#define OPCODE(enumerator, text, fewest, most, attributes) +1
#include "hlo/opcodes.def"
#undef OPCODE
    ;

// One row of opcodes.def.
struct OpcodeInfo {
  std::string_view name;
  int fewest_operands;
  int most_operands;                          // -1: any number
  std::span<const TextAttribute> attributes;  // its own, in printing order; without the common ones
  AttributeSet allowed;                       // its own and the common ones
  AttributeSet required;
};

const OpcodeInfo& Info(Opcode opcode);
inline std::string_view Name(Opcode opcode) { return Info(opcode).name; }
std::optional<Opcode> FindOpcode(std::string_view name);
// The known spelling nearest to an unknown one; "" when none is near.
std::string_view NearestOpcode(std::string_view name);

// One operand, one result of the same dimensions, computed element by element (not convert, copy,
// bitcast).
bool IsElementwiseUnary(Opcode opcode);
// Two operands of the same dimensions as the result (not compare, complex: their types differ).
bool IsElementwiseBinary(Opcode opcode);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_OPCODE_H_
