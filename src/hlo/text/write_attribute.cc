#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hlo/text/spelling.h"
#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/views.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

using wire::Cursor;
using wire::Damage;

void Collect(const Cursor& cursor, std::vector<int64_t>& into) {
  cursor.Ints([&](int64_t value) { into.push_back(value); });
}

// A packed list, or the single value that an unpacked one of one element is.
std::vector<int64_t> Ints(const Instruction& instruction, Field field) {
  std::vector<int64_t> values;
  for (const Attribute& attribute : instruction.attributes) {
    if (attribute.field != field) continue;
    if (attribute.wire == Attribute::Wire::kVarint) {
      values.push_back(static_cast<int64_t>(attribute.scalar));
    } else if (attribute.wire == Attribute::Wire::kBytes) {
      const char* at = attribute.bytes.data();
      const char* end = at + attribute.bytes.size();
      while (at != end) values.push_back(static_cast<int64_t>(wire::Varint(at, end)));
    }
  }
  return values;
}

std::string_view EnumName(const EnumSpelling& spelling, uint64_t number) {
  std::string_view name = spelling.Name(number);
  if (name.empty()) throw Damage(fmt::format("has value {}, which text has no word for", number));
  return name;
}

// What a compare of these operands means when text leaves `type` out.
std::string_view DefaultComparison(const Instruction& compare) {
  if (compare.operands.empty()) return "";
  PrimitiveType type = compare.operands[0]->shape->type;
  if (IsFloating(type) || IsComplex(type)) return "FLOAT";
  return IsSigned(type) ? "SIGNED" : "UNSIGNED";
}

}  // namespace

void Writer::WriteAttribute(const Instruction& instruction, TextAttribute attribute,
                            bool required) {
  const TextAttributeInfo& info = Info(attribute);
  Field field{info.field};
  switch (info.codec) {
    case Codec::kInts:
    case Codec::kOneInt:
      return WriteInts(instruction, attribute, required);
    case Codec::kInt:
      return WriteInt(instruction, attribute, required);
    case Codec::kBool:
      if (instruction.Int(field) != 0) {
        Begin(attribute);
        out_ += "true";
      } else if (attribute == TextAttribute::kLargest) {
        out_ += ", largest=false";
      }
      return;
    case Codec::kFloat:
      Begin(attribute);
      return AppendFloat(out_, std::bit_cast<float>(static_cast<uint32_t>(instruction.Int(field))));
    case Codec::kEnum:
    case Codec::kAlgorithm:
      return WriteEnum(instruction, attribute, required);
    case Codec::kTriState:
      if (instruction.Int(field) == 0) return;
      Begin(attribute);
      out_ += instruction.Int(field) == kTriStateTrue ? "true" : "false";
      return;
    case Codec::kWord:
      return WriteWord(instruction, attribute);
    case Codec::kString:
      return WriteString(instruction, attribute, required);
    case Codec::kSubInts:
    case Codec::kSubInt:
    case Codec::kSubBool:
    case Codec::kSubEnum:
      return WriteSub(instruction, attribute, required);
    case Codec::kComputation:
    case Codec::kComputations:
      return WriteCalled(instruction, attribute);
    default:
      return WriteMessage(instruction, attribute, required);
  }
}

void Writer::WriteMessage(const Instruction& instruction, TextAttribute attribute, bool required) {
  Field field{Info(attribute).field};
  switch (Info(attribute).codec) {
    case Codec::kWindow:
      // XLA crashes over a cuDNN call without a window, be it over no dimensions.
      if (instruction.opcode == Opcode::kCustomCall && instruction.Find(field) != nullptr &&
          instruction.Bytes(field).empty()) {
        Begin("window");
        out_ += "{}";
        return;
      }
      return WriteWindow(instruction.Bytes(field));
    case Codec::kDimLabels:
      if (required || instruction.Find(field) != nullptr) WriteDimLabels(instruction.Bytes(field));
      return;
    case Codec::kSlice:
      return WriteSlice(instruction);
    case Codec::kPadding:
      return WritePadding(instruction);
    case Codec::kShape:
      if (instruction.Find(field) == nullptr) return;
      Begin(attribute);
      return AppendWireShape(instruction.Bytes(field));
    case Codec::kOperandPrecision:
      return WritePrecision(instruction.Bytes(field));
    case Codec::kSourceTargetPairs:
      return WritePairs(instruction);
    case Codec::kDomain:
      return WriteDomain(instruction);
    case Codec::kOperandLayoutConstraints:
      return WriteLayoutConstraints(instruction);
    case Codec::kParameterReplication:
      return WriteReplication(instruction);
    case Codec::kOutputToOperandAliasing:
      return WriteOutputAliasing(instruction);
    case Codec::kReplicaGroups:
      Begin(attribute);
      return AppendReplicaGroups(out_, instruction);
    case Codec::kSparsityConfig:
      return WriteSparsity(instruction.Bytes(field));
    case Codec::kLiteral:
      return WriteLiteralAttribute(instruction.Bytes(field));
    default:
      return;  // printed with the attributes that all opcodes share, or has no spelling
  }
}

void Writer::WriteInts(const Instruction& instruction, TextAttribute attribute, bool required) {
  if (attribute == TextAttribute::kSliceSizes && instruction.opcode != Opcode::kGather) {
    return WritePermuteSizes(instruction);
  }
  std::vector<int64_t> values = Ints(instruction, Field{Info(attribute).field});
  if (values.empty() && !required) return;
  if (Info(attribute).codec == Codec::kInts) {
    Begin(attribute);
    return AppendInts(out_, values);
  }
  int64_t value = values.empty() ? 0 : values[0];
  if (!required && value < 0) return;
  Begin(attribute);
  AppendInt(out_, value);
}

void Writer::WriteInt(const Instruction& instruction, TextAttribute attribute, bool required) {
  Field field{Info(attribute).field};
  int64_t value = instruction.Int(field);
  bool present = required;
  if (attribute == TextAttribute::kChannelId) present = value > 0;
  if (attribute == TextAttribute::kFeatureGroupCount ||
      attribute == TextAttribute::kBatchGroupCount) {
    present = value > 1;
  }
  if (attribute == TextAttribute::kCrossProgramPrefetchIndex) {
    present = instruction.Find(field) != nullptr;
  }
  if (!present) return;
  Begin(attribute);
  AppendInt(out_, value);
}

void Writer::WriteEnum(const Instruction& instruction, TextAttribute attribute, bool required) {
  const EnumSpelling& spelling = EnumOf(attribute, instruction.opcode);
  Field field{Info(attribute).field};
  uint64_t number = 0;
  if (attribute == TextAttribute::kAlgorithm && instruction.opcode != Opcode::kRngBitGenerator) {
    for (Cursor cursor(instruction.Bytes(field)); cursor.Next();) {
      if (cursor.field() == 2) number = static_cast<uint64_t>(cursor.Int());
    }
  } else {
    if (attribute == TextAttribute::kAlgorithm) field = Field::kRngAlgorithm;
    number = static_cast<uint64_t>(instruction.Int(field));
  }
  uint64_t silent = attribute == TextAttribute::kApiVersion ? kApiVersionOriginal : 0;
  if (!required && (number == silent || number == 0)) return;
  Begin(attribute);
  out_ += EnumName(spelling, number);
}

void Writer::WriteWord(const Instruction& instruction, TextAttribute attribute) {
  std::string_view word = instruction.Bytes(Field{Info(attribute).field});
  if (word.empty()) return;
  if (attribute == TextAttribute::kType && word == DefaultComparison(instruction)) return;
  Begin(attribute);
  out_ += word;
}

void Writer::WriteString(const Instruction& instruction, TextAttribute attribute, bool required) {
  std::string_view value = instruction.Bytes(Field{Info(attribute).field});
  if (value.empty() && !required) return;
  if (attribute == TextAttribute::kAsyncExecutionThread &&
      (value == "main" || instruction.opcode != Opcode::kAsyncStart)) {
    return;
  }
  Begin(attribute);
  AppendQuoted(out_, value);
}

void Writer::WriteSub(const Instruction& instruction, TextAttribute attribute, bool required) {
  uint32_t wanted = SubField(attribute, instruction.opcode);
  std::string_view message = instruction.Bytes(SubMessage(attribute, instruction.opcode));
  if (instruction.opcode == Opcode::kRaggedDot &&
      SubMessage(attribute, instruction.opcode) == Field::kDotDimensionNumbers) {
    for (Cursor cursor(instruction.Bytes(Field::kRaggedDotDimensionNumbers)); cursor.Next();) {
      if (cursor.field() == 1) message = cursor.Message();
    }
  }
  Codec codec = Info(attribute).codec;
  std::vector<int64_t> ints;
  int64_t scalar = 0;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() != wanted) continue;
    if (codec == Codec::kSubInts) {
      Collect(cursor, ints);
    } else {
      scalar = cursor.Int();
    }
  }
  // A dot says what it contracts even when that is nothing.
  bool always = required || attribute == TextAttribute::kLhsContractingDims ||
                attribute == TextAttribute::kRhsContractingDims;
  if (!always && ints.empty() && scalar == 0) return;
  Begin(attribute);
  switch (codec) {
    case Codec::kSubInts:
      return AppendInts(out_, ints);
    case Codec::kSubInt:
      return AppendInt(out_, scalar);
    case Codec::kSubBool:
      out_ += "true";
      return;
    default:
      out_ += EnumName(EnumOf(attribute, instruction.opcode), static_cast<uint64_t>(scalar));
  }
}

void Writer::AppendNames(std::span<Computation* const> computations) {
  out_ += '{';
  for (size_t i = 0; i < computations.size(); ++i) {
    if (i != 0) out_ += ", ";
    AppendName(computations[i]->name);
  }
  out_ += '}';
}

void Writer::WriteCalled(const Instruction& instruction, TextAttribute attribute) {
  std::span<Computation* const> called = instruction.called;
  bool two_branches = instruction.opcode == Opcode::kConditional && called.size() == 2 &&
                      !instruction.operands.empty() &&
                      instruction.operands[0]->shape->type == PrimitiveType::kPred;
  size_t slot = 0;
  switch (attribute) {
    case TextAttribute::kCondition:
    case TextAttribute::kScatter:
      slot = 1;
      break;
    case TextAttribute::kFalseComputation:
      slot = 1;
      [[fallthrough]];
    case TextAttribute::kTrueComputation:
      if (!two_branches) return;
      break;
    case TextAttribute::kCalls:
      // What an async operation wraps stands at its start, unless it is written as one operation.
      if (instruction.opcode == Opcode::kAsyncUpdate || instruction.opcode == Opcode::kAsyncDone ||
          Wrapped(instruction) != nullptr) {
        return;
      }
      break;
    case TextAttribute::kToApply:
      // A custom-call lists all it calls as called_computations.
      if (instruction.opcode == Opcode::kCustomCall) return;
      break;
    default:
      break;
  }
  bool is_list = Info(attribute).codec == Codec::kComputations;
  if (called.size() <= slot || (is_list && two_branches)) return;
  Begin(attribute);
  if (is_list) return AppendNames(called);
  AppendName(called[slot]->name);
}

}  // namespace eightfold::hlo::text
