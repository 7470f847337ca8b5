#ifndef EIGHTFOLD_HLO_TEXT_SPELLING_H_
#define EIGHTFOLD_HLO_TEXT_SPELLING_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "hlo/attribute.h"
#include "hlo/opcode.h"

// How text spells enumerators and parts of messages, for the reader and the writer alike.
namespace eightfold::hlo::text {

// Enumerators by number; "" where text has no spelling for one.
struct EnumSpelling {
  std::span<const std::string_view> names;
  bool any_case = false;  // read in upper case, too

  // The number of `word`; -1 when it is none of the names.
  int Find(std::string_view word) const;
  std::string_view Name(uint64_t number) const {
    return number < names.size() ? names[number] : std::string_view();
  }
};

// Of an attribute with codec kEnum, kSubEnum or kAlgorithm.
const EnumSpelling& EnumOf(TextAttribute attribute, Opcode opcode);
// Of the elements of operand_precision.
const EnumSpelling& PrecisionSpelling();
// The words that a kWord attribute may have.
std::span<const std::string_view> WordsOf(TextAttribute attribute);

// Of an attribute with codec kSubInts, kSubInt, kSubBool or kSubEnum: the message it is part of,
// and its field number there. The dot dimensions of a ragged-dot are kept one message deeper: they
// are field 1 of kRaggedDotDimensionNumbers, and SubMessage says kDotDimensionNumbers.
Field SubMessage(TextAttribute attribute, Opcode opcode);
uint32_t SubField(TextAttribute attribute, Opcode opcode);

constexpr uint64_t kTriStateTrue = 1;
constexpr uint64_t kTriStateFalse = 2;
constexpr uint64_t kApiVersionOriginal = 1;

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_SPELLING_H_
