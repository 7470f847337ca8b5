#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "hlo/shape_codec.h"
#include "hlo/text/attribute_reader.h"
#include "hlo/text/spelling.h"
#include "hlo/text/word_table.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {

int LookUpAttribute(std::string_view text) {
  static const WordTable table(kTextAttributeCount,
                               [](int i) { return Info(static_cast<TextAttribute>(i)).text; });
  return table.Find(text);
}

void AppendPacked(std::string* wire, uint32_t field, std::span<const int64_t> values) {
  if (values.empty()) return;
  protozero::pbf_writer(*wire).add_packed_int64(field, values.begin(), values.end());
}

void AttributeReader::AddPacked(Field field, std::span<const int64_t> values) {
  if (values.empty()) return;
  wire_.clear();
  for (int64_t value : values) {
    protozero::add_varint_to_buffer(&wire_, static_cast<uint64_t>(value));
  }
  AddBytes(field, wire_);
}

void AttributeReader::Merge(Field field, size_t mark, std::string_view part) {
  Attribute* before = Find(field, mark);
  if (before == nullptr) return AddBytes(field, part);
  std::string whole(before->bytes);
  whole += part;
  before->bytes = in_.arena().Copy(std::string_view(whole));
}

std::span<Attribute> AttributeReader::Take(size_t mark) {
  auto first = stack_.begin() + static_cast<ptrdiff_t>(mark);
  // Repeated fields are pushed together already; only order by first appearance is asked for.
  std::span<Attribute> taken = in_.arena().Copy(std::span<const Attribute>(first, stack_.end()));
  stack_.erase(first, stack_.end());
  return taken;
}

std::vector<Attribute> AttributeReader::TakeCommon(size_t mark) {
  auto first = stack_.begin() + static_cast<ptrdiff_t>(mark);
  auto is_own = [](const Attribute& attribute) {
    return attribute.wire != Attribute::Wire::kText && attribute.field != Field::kSharding &&
           attribute.field != Field::kFrontendAttributes &&
           attribute.field != Field::kStatisticsViz && attribute.field != Field::kOriginalValue;
  };
  auto middle = std::stable_partition(first, stack_.end(), is_own);
  std::vector<Attribute> common(middle, stack_.end());
  stack_.erase(middle, stack_.end());
  return common;
}

bool AttributeReader::Read(Opcode opcode, TextAttribute which, size_t mark) {
  const TextAttributeInfo& info = Info(which);
  Field field{info.field};
  switch (info.codec) {
    case Codec::kInts:
      if (which == TextAttribute::kSliceSizes && opcode != Opcode::kGather) {
        return ReadPermuteSizes();
      }
      return ReadInts(field);
    case Codec::kInt:
    case Codec::kOneInt:
    case Codec::kBool:
    case Codec::kFloat:
    case Codec::kTriState:
      return ReadScalar(field, info.codec);
    case Codec::kWord:
    case Codec::kString:
      return ReadWordOrString(opcode, field, info.codec, which);
    case Codec::kEnum:
    case Codec::kAlgorithm:
      return ReadEnum(opcode, which, mark);
    case Codec::kSubInts:
    case Codec::kSubInt:
    case Codec::kSubBool:
    case Codec::kSubEnum:
      return ReadSub(opcode, which, mark);
    case Codec::kOperandPrecision:
      return ReadPrecision(mark);
    case Codec::kDropped: {
      std::string_view word;
      return in_.ReadWord(&word, "a word");
    }
    default:
      return ReadMessage(field, info.codec);
  }
}

bool AttributeReader::ReadMessage(Field field, Codec codec) {
  switch (codec) {
    case Codec::kWindow:
      return ReadWindow();
    case Codec::kDimLabels:
      return ReadDimLabels();
    case Codec::kSlice:
      return ReadSlice();
    case Codec::kPadding:
      return ReadPadding();
    case Codec::kShape: {
      const Shape* shape = nullptr;
      if (!shapes_.Read(&shape)) return false;
      AddBytes(field, EncodeShape(*shape));
      return true;
    }
    case Codec::kSharding:
      wire_.clear();
      if (!ReadSharding(in_, &wire_)) return false;
      AddBytes(field, wire_);
      return true;
    case Codec::kSourceTargetPairs:
      return ReadSourceTargetPairs();
    case Codec::kDomain:
      return ReadDomain();
    case Codec::kOperandLayoutConstraints:
      return ReadLayoutConstraints();
    case Codec::kParameterReplication:
      return ReadReplication();
    case Codec::kFrontendAttributes: {
      std::string_view wire;
      if (!ReadFrontendAttributes(&wire)) return false;
      stack_.push_back(Attribute::Bytes(field, wire));
      return true;
    }
    case Codec::kOutputToOperandAliasing:
      return ReadAliasing();
    case Codec::kStatistics:
      return ReadStatistics();
    case Codec::kReplicaGroups:
      return ReadReplicaGroups();
    case Codec::kOrigin:
      return ReadOrigin();
    case Codec::kResultAccuracy:
      return ReadResultAccuracy();
    case Codec::kSparsityConfig:
      return ReadSparsity();
    case Codec::kLiteral:
      return ReadLiteralAttribute();
    default:
      return in_.Expected("an attribute that has a value of its own");
  }
}

bool AttributeReader::ReadInts(Field field) {
  if (!in_.ReadInts(&ints_)) return false;
  AddPacked(field, ints_);
  return true;
}

bool AttributeReader::ReadScalar(Field field, Codec codec) {
  bool flag = false;
  int64_t value = 0;
  double real = 0;
  switch (codec) {
    case Codec::kBool:
      if (!in_.ReadBool(&flag)) return false;
      AddScalar(field, flag);
      return true;
    case Codec::kTriState:
      if (!in_.ReadBool(&flag)) return false;
      AddScalar(field, flag ? kTriStateTrue : kTriStateFalse);
      return true;
    case Codec::kFloat: {
      if (!in_.ReadDouble(&real)) return false;
      auto bits = std::bit_cast<uint32_t>(static_cast<float>(real));
      if (bits != 0) stack_.push_back({field, Attribute::Wire::kFixed32, bits, {}});
      return true;
    }
    case Codec::kOneInt:
      if (!in_.ReadInt(&value)) return false;
      AddPacked(field, {&value, 1});
      return true;
    default:
      if (!in_.ReadInt(&value)) return false;
      // The one scalar whose presence means something.
      if (field == Field::kCrossProgramPrefetchIndex) {
        stack_.push_back(Attribute::Varint(field, static_cast<uint64_t>(value)));
      } else {
        AddScalar(field, static_cast<uint64_t>(value));
      }
      return true;
  }
}

bool AttributeReader::ReadWordOrString(Opcode opcode, Field field, Codec codec,
                                       TextAttribute which) {
  std::string_view value;
  if (codec == Codec::kString) {
    if (!in_.ReadString(&value)) return false;
  } else {
    if (!in_.ReadWord(&value, "a word")) return false;
    std::span<const std::string_view> words = WordsOf(which);
    if (opcode == Opcode::kCompare || which == TextAttribute::kKind) {
      if (std::ranges::find(words, value) == words.end()) {
        return in_.Fail(value, fmt::format("`{}` is no value of {}", value, Info(which).text),
                        fmt::format("it is one of {}", fmt::join(words, " ")));
      }
    }
  }
  if (!value.empty()) stack_.push_back(Attribute::Bytes(field, value));
  return true;
}

bool AttributeReader::ReadEnum(Opcode opcode, TextAttribute which, size_t mark) {
  std::string_view word;
  if (!in_.ReadWord(&word, "a word")) return false;
  const EnumSpelling& spelling = EnumOf(which, opcode);
  int number = spelling.Find(word);
  if (number < 0) {
    return in_.Fail(word, fmt::format("`{}` is no value of {}", word, Info(which).text),
                    fmt::format("it is one of {}", fmt::join(spelling.names, " ")));
  }
  auto value = static_cast<uint64_t>(number);
  if (which == TextAttribute::kAlgorithm && opcode != Opcode::kRngBitGenerator) {
    std::string part;
    if (value != 0) protozero::pbf_writer(part).add_enum(2, number);
    Merge(Field::kPrecisionConfig, mark, part);
  } else {
    AddScalar(which == TextAttribute::kAlgorithm ? Field::kRngAlgorithm : Field{Info(which).field},
              value);
  }
  return true;
}

bool AttributeReader::ReadSub(Opcode opcode, TextAttribute which, size_t mark) {
  std::string part;
  protozero::pbf_writer writer(part);
  uint32_t number = SubField(which, opcode);
  switch (Info(which).codec) {
    case Codec::kSubInts:
      if (!in_.ReadInts(&ints_)) return false;
      AppendPacked(&part, number, ints_);
      break;
    case Codec::kSubInt: {
      int64_t value = 0;
      if (!in_.ReadInt(&value)) return false;
      if (value != 0) writer.add_int64(number, value);
      break;
    }
    case Codec::kSubBool: {
      bool value = false;
      if (!in_.ReadBool(&value)) return false;
      if (value) writer.add_bool(number, value);
      break;
    }
    default: {
      std::string_view word;
      if (!in_.ReadWord(&word, "a word")) return false;
      const EnumSpelling& spelling = EnumOf(which, opcode);
      int value = spelling.Find(word);
      if (value < 0) {
        return in_.Fail(word, fmt::format("`{}` is no value of {}", word, Info(which).text),
                        fmt::format("it is one of {}", fmt::join(spelling.names, " ")));
      }
      if (value != 0) writer.add_enum(number, value);
    }
  }
  Merge(SubMessage(which, opcode), mark, part);
  return true;
}

bool AttributeReader::ReadPrecision(size_t mark) {
  std::string packed;
  if (!in_.ReadList('{', '}', [&] {
        std::string_view word;
        if (!in_.ReadWord(&word, "default, high or highest")) return false;
        int number = PrecisionSpelling().Find(word);
        if (number < 0) {
          return in_.Fail(word, fmt::format("`{}` is no precision", word),
                          "it is one of default high highest");
        }
        packed.push_back(static_cast<char>(number));
        return true;
      })) {
    return false;
  }
  std::string part;
  if (!packed.empty()) protozero::pbf_writer(part).add_bytes(1, packed);
  Merge(Field::kPrecisionConfig, mark, part);
  return true;
}

void AttributeReader::WrapRaggedDot(size_t mark) {
  std::string wire;
  Attribute* dot = Find(Field::kDotDimensionNumbers, mark);
  protozero::pbf_writer(wire).add_message(1,
                                          dot == nullptr ? std::string() : std::string(dot->bytes));
  if (dot != nullptr) {
    stack_.erase(stack_.begin() + (dot - stack_.data()));
  }
  Attribute* ragged = Find(Field::kRaggedDotDimensionNumbers, mark);
  if (ragged == nullptr) return AddBytes(Field::kRaggedDotDimensionNumbers, wire);
  wire += ragged->bytes;
  ragged->bytes = in_.arena().Copy(std::string_view(wire));
}

void AttributeReader::AddDefaults(Opcode opcode, size_t mark, size_t operands,
                                  const AttributeSet& seen) {
  auto scalar = [&](Field field, uint64_t value) {
    if (!Has(field, mark)) stack_.push_back(Attribute::Varint(field, value));
  };
  auto message = [&](Field field) {
    if (!Has(field, mark)) stack_.push_back(Attribute::Bytes(field, {}));
  };
  auto precision = [&] {
    // One DEFAULT per operand, unless operand_precision was given: then it stands first.
    Attribute* config = Find(Field::kPrecisionConfig, mark);
    if (config != nullptr && config->bytes.starts_with('\x0a')) return;
    std::string part;
    if (operands != 0) {
      protozero::pbf_writer(part).add_bytes(1, std::string(operands, '\0'));
    }
    if (config == nullptr) return AddBytes(Field::kPrecisionConfig, part);
    part += config->bytes;
    config->bytes = in_.arena().Copy(std::string_view(part));
  };
  switch (opcode) {
    case Opcode::kConvolution:
      message(Field::kWindow);
      [[fallthrough]];
    case Opcode::kCustomCall:
      scalar(Field::kFeatureGroupCount, 1);
      scalar(Field::kBatchGroupCount, 1);
      if (opcode == Opcode::kCustomCall) scalar(Field::kCustomCallApiVersion, kApiVersionOriginal);
      return precision();
    case Opcode::kRaggedDot:
      WrapRaggedDot(mark);
      return precision();
    case Opcode::kDot:
    case Opcode::kScaledDot:
      message(Field::kDotDimensionNumbers);
      return precision();
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return message(Field::kWindow);
    case Opcode::kTriangularSolve:
      return message(Field::kTriangularSolveOptions);
    case Opcode::kCholesky:
      return message(Field::kCholeskyOptions);
    case Opcode::kTopK:
      if (!seen[static_cast<size_t>(TextAttribute::kLargest)]) scalar(Field::kLargest, 1);
      return;
    case Opcode::kScan:
      return scalar(Field::kIsAssociative, kTriStateFalse);
    default:
      return;
  }
}

}  // namespace eightfold::hlo::text
