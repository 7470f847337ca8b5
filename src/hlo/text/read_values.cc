#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "hlo/shape_codec.h"
#include "hlo/text/attribute_reader.h"

// Attribute values with a syntax of their own.
namespace eightfold::hlo::text {

using protozero::pbf_writer;

bool AttributeReader::ReadPermuteSizes() {
  ints_.clear();
  if (!in_.ReadList('{', '}', [&] {
        return in_.ReadList('{', '}', [&] { return in_.ReadInt(&ints_.emplace_back()); });
      })) {
    return false;
  }
  AddPacked(Field::kDynamicSliceSizes, ints_);
  return true;
}

bool AttributeReader::ReadWindowKey(std::string_view key,
                                    std::vector<std::vector<int64_t>>* values) {
  constexpr std::string_view kKeys[] = {"size",       "stride",     "pad",
                                        "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  size_t which = 0;
  while (which < std::size(kKeys) && kKeys[which] != key) ++which;
  if (which == std::size(kKeys)) {
    return in_.Fail(key, fmt::format("a window has no {}", key),
                    fmt::format("it has {}", fmt::join(kKeys, " ")));
  }
  std::vector<int64_t>& list = (*values)[which];
  if (!list.empty()) return in_.Fail(key, fmt::format("{} is given twice", key));
  do {
    if (!in_.ReadInt(&list.emplace_back())) return false;
    if (key == "pad") {
      if (in_.Here() != '_') return in_.Expected("padding as low_high");
      in_.MoveTo(in_.at() + 1);
      if (!in_.ReadInt(&list.emplace_back())) return false;
    }
    if (in_.Here() != 'x') return true;
    in_.MoveTo(in_.at() + 1);
  } while (true);
}

bool AttributeReader::ReadWindow() {
  enum { kSize, kStride, kPad, kBase, kDilation, kReversal, kKeys };
  std::vector<std::vector<int64_t>> values(kKeys);
  in_.SkipSpace();
  const char* start = in_.at();
  if (!in_.Expect('{')) return false;
  while (!in_.Accept('}')) {
    std::string_view key;
    if (!in_.ReadWord(&key, "size, stride, pad …") || !in_.Expect('=') ||
        !ReadWindowKey(key, &values)) {
      return false;
    }
    in_.Accept(',');
  }
  size_t rank = values[kSize].size();
  for (int key = 0; key < kKeys; ++key) {
    size_t wanted = key == kPad ? 2 * rank : rank;
    if (!values[key].empty() && values[key].size() != wanted) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      "all parts of a window must have as many dimensions as its size");
    }
  }
  auto value = [&](int key, size_t i, int64_t otherwise) {
    return values[key].empty() ? otherwise : values[key][i];
  };
  wire_.clear();
  for (size_t i = 0; i < rank; ++i) {
    std::string dimension;
    pbf_writer writer(dimension);
    auto add = [&](uint32_t field, int64_t number) {
      if (number != 0) writer.add_int64(field, number);
    };
    add(1, values[kSize][i]);
    add(2, value(kStride, i, 1));
    add(3, value(kPad, 2 * i, 0));
    add(4, value(kPad, 2 * i + 1, 0));
    add(5, value(kDilation, i, 1));
    add(6, value(kBase, i, 1));
    add(7, value(kReversal, i, 0) != 0);
    pbf_writer(wire_).add_message(1, dimension);
  }
  AddBytes(Field::kWindow, wire_);
  return true;
}

namespace {

// One of the three parts of dim_labels: two letters with the fields of ConvolutionDimensionNumbers
// for their positions, and the field for those of the digits, which are the spatial dimensions.
struct LabelPart {
  char first, second;
  uint32_t first_field, second_field, spatial_field;
};

// Appends what `labels` say; returns what is wrong with them.
std::string EncodeLabels(const LabelPart& part, std::string_view labels, std::string* wire) {
  auto digits =
      static_cast<size_t>(std::ranges::count_if(labels, [](char c) { return Is(c, kDigit); }));
  std::vector<int64_t> spatial(digits, -1);
  int64_t first = -1, second = -1;
  for (size_t i = 0; i < labels.size(); ++i) {
    char c = labels[i];
    if (c == '?') continue;
    int64_t* slot = nullptr;
    if (c == part.first) slot = &first;
    if (c == part.second) slot = &second;
    if (Is(c, kDigit) && static_cast<size_t>(c - '0') < digits) slot = &spatial[c - '0'];
    if (slot == nullptr) return fmt::format("`{}` has no place in {}", c, labels);
    if (*slot >= 0) return fmt::format("{} has `{}` twice", labels, c);
    *slot = static_cast<int64_t>(i);
  }
  if (first < 0 || second < 0) {
    return fmt::format("{} must have `{}` and `{}`", labels, part.first, part.second);
  }
  pbf_writer writer(*wire);
  if (first != 0) writer.add_int64(part.first_field, first);
  if (second != 0) writer.add_int64(part.second_field, second);
  AppendPacked(wire, part.spatial_field, spatial);
  return {};
}

bool IsLabel(char c) { return Is(c, kDigit) || (c >= 'a' && c <= 'z') || c == '?'; }

}  // namespace

bool AttributeReader::ReadDimLabels() {
  constexpr LabelPart kParts[] = {{'b', 'f', 7, 8, 11}, {'i', 'o', 3, 4, 6}, {'b', 'f', 9, 10, 12}};
  constexpr std::string_view kBehind[] = {"_", "->", ""};
  in_.SkipSpace();
  const char* start = in_.at();
  auto bad = [&](std::string what) {
    return in_.Fail(start, static_cast<size_t>(std::max(in_.at(), start + 1) - start),
                    std::move(what), "for example dim_labels=b01f_01io->b01f");
  };
  wire_.clear();
  size_t rank = 0;
  for (int p = 0; p < 3; ++p) {
    const char* from = in_.at();
    while (IsLabel(in_.Here())) in_.MoveTo(in_.at() + 1);
    std::string_view labels(from, static_cast<size_t>(in_.at() - from));
    if (!in_.AcceptText(kBehind[p])) {
      return bad("dim_labels must have the form input_kernel->output");
    }
    size_t digits =
        static_cast<size_t>(std::ranges::count_if(labels, [](char c) { return Is(c, kDigit); }));
    if (p > 0 && digits != rank) {
      return bad("input, kernel and output must have the same spatial dimensions");
    }
    rank = digits;
    std::string problem = EncodeLabels(kParts[p], labels, &wire_);
    if (!problem.empty()) return bad(std::move(problem));
  }
  AddBytes(Field::kConvolutionDimensionNumbers, wire_);
  return true;
}

bool AttributeReader::ReadSlice() {
  return in_.ReadList('{', '}', [&] {
    int64_t start = 0, limit = 0, stride = 1;
    if (!in_.Expect('[') || !in_.ReadInt(&start) || !in_.Expect(':') || !in_.ReadInt(&limit)) {
      return false;
    }
    if (in_.Accept(':') && !in_.ReadInt(&stride)) return false;
    wire_.clear();
    pbf_writer writer(wire_);
    if (start != 0) writer.add_int64(1, start);
    if (limit != 0) writer.add_int64(2, limit);
    if (stride != 0) writer.add_int64(3, stride);
    AddBytes(Field::kSliceDimensions, wire_);
    return in_.Expect(']');
  });
}

bool AttributeReader::ReadPadding() {
  wire_.clear();
  // A scalar's padding is nothing at all.
  bool any = Is(in_.Here(), kDigit) || in_.Here() == '-';
  while (any) {
    int64_t values[3] = {0, 0, 0};
    int count = 0;
    do {
      if (count == 3) return in_.Expected("at most low_high_interior");
      if (!in_.ReadInt(&values[count++])) return false;
      any = in_.Here() == '_';
      if (any) in_.MoveTo(in_.at() + 1);
    } while (any);
    if (count < 2) return in_.Expected("padding as low_high");
    std::string dimension;
    pbf_writer writer(dimension);
    for (uint32_t i = 0; i < 3; ++i) {
      if (values[i] != 0) writer.add_int64(i + 1, values[i]);
    }
    pbf_writer(wire_).add_message(1, dimension);
    any = in_.Here() == 'x';
    if (any) in_.MoveTo(in_.at() + 1);
  }
  AddBytes(Field::kPaddingConfig, wire_);
  return true;
}

bool AttributeReader::ReadSourceTargetPairs() {
  return in_.ReadList('{', '}', [&] {
    if (!in_.ReadInts(&ints_)) return false;
    if (ints_.size() != 2) return in_.Expected("pairs of source and target");
    wire_.clear();
    pbf_writer writer(wire_);
    if (ints_[0] != 0) writer.add_int64(1, ints_[0]);
    if (ints_[1] != 0) writer.add_int64(2, ints_[1]);
    AddBytes(Field::kSourceTargetPairs, wire_);
    return true;
  });
}

bool AttributeReader::ReadDomain() {
  std::string_view kind;
  std::string entry, exit;
  if (!in_.Expect('{') || !in_.AcceptText("kind=")) return in_.Expected("`kind=`");
  if (!in_.ReadString(&kind)) return false;
  if (kind != "sharding") return in_.Fail(kind, "the only kind of domain is \"sharding\"");
  if (!in_.Expect(',') || !in_.AcceptText("entry=")) return in_.Expected("`entry=`");
  if (!ReadSharding(in_, &entry)) return false;
  if (!in_.Expect(',') || !in_.AcceptText("exit=")) return in_.Expected("`exit=`");
  if (!ReadSharding(in_, &exit) || !in_.Expect('}')) return false;
  // Text and proto disagree which side is which.
  AddBytes(Field::kDomainEntrySharding, exit);
  AddBytes(Field::kDomainExitSharding, entry);
  return true;
}

bool AttributeReader::ReadLayoutConstraints() {
  AddScalar(Field::kConstrainLayout, 1);
  return in_.ReadList('{', '}', [&] {
    const Shape* shape = nullptr;
    if (!shapes_.Read(&shape)) return false;
    AddBytes(Field::kOperandShapesWithLayout, EncodeShape(*shape));
    return true;
  });
}

bool AttributeReader::ReadReplication() {
  std::string flags;
  if (!in_.ReadList('{', '}', [&] {
        bool value = false;
        if (!in_.ReadBool(&value)) return false;
        flags.push_back(value ? 1 : 0);
        return true;
      })) {
    return false;
  }
  wire_.clear();
  pbf_writer(wire_).add_bytes(1, flags);
  AddBytes(Field::kParameterReplication, wire_);
  return true;
}

bool AttributeReader::ReadAliasing() {
  return in_.ReadList('{', '}', [&] {
    std::vector<int64_t> output, operand;
    int64_t number = 0;
    if (!in_.ReadInts(&output) || !in_.Expect(':') || !in_.Expect('(') || !in_.ReadInt(&number) ||
        !in_.Expect(',') || !in_.ReadInts(&operand) || !in_.Expect(')')) {
      return false;
    }
    wire_.clear();
    AppendPacked(&wire_, 1, output);
    if (number != 0) pbf_writer(wire_).add_int64(2, number);
    AppendPacked(&wire_, 3, operand);
    AddBytes(Field::kOutputOperandAliasing, wire_);
    return true;
  });
}

bool AttributeReader::ReadStatistics() {
  wire_.clear();
  bool indexed = false;
  bool first = true;
  if (!in_.ReadList('{', '}', [&] {
        std::string_view name;
        if (!in_.ReadWord(&name, "a statistic's name") || !in_.Expect('=')) return false;
        pbf_writer writer(wire_);
        if (name == "visualizing_index") {
          int64_t index = 0;
          if (!in_.ReadInt(&index)) return false;
          indexed = first;
          if (index != 0) writer.add_int64(1, index);
        } else {
          double value = 0;
          if (!in_.ReadDouble(&value)) return false;
          pbf_writer statistic(writer, 2);
          statistic.add_string(1, name.data(), name.size());
          if (value != 0) statistic.add_double(2, value);
        }
        first = false;
        return true;
      })) {
    return false;
  }
  // XLA drops statistics that do not start with the index.
  if (indexed) AddBytes(Field::kStatisticsViz, wire_);
  return true;
}

bool AttributeReader::ReadTolerance(std::string* wire) {
  return in_.ReadList('{', '}', [&] {
    std::string_view key;
    if (!in_.ReadWord(&key, "atol, rtol or ulps") || !in_.Expect('=')) return false;
    pbf_writer writer(*wire);
    if (key == "ulps") {
      int64_t ulps = 0;
      if (!in_.ReadInt(&ulps)) return false;
      if (ulps != 0) writer.add_int64(3, ulps);
      return true;
    }
    double value = 0;
    if (key != "atol" && key != "rtol") {
      return in_.Fail(key, fmt::format("a tolerance has no {}", key), "it has atol rtol ulps");
    }
    if (!in_.ReadDouble(&value)) return false;
    if (value != 0) writer.add_double(key == "atol" ? 1 : 2, value);
    return true;
  });
}

bool AttributeReader::ReadResultAccuracy() {
  std::string_view key, word;
  if (!in_.Expect('{') || !in_.ReadWord(&key, "mode or tolerance") || !in_.Expect('=')) {
    return false;
  }
  wire_.clear();
  pbf_writer writer(wire_);
  if (key == "mode") {
    if (!in_.ReadWord(&word, "default or highest")) return false;
    if (word != "default" && word != "highest") {
      return in_.Fail(word, fmt::format("`{}` is no accuracy", word), "it is default or highest");
    }
    writer.add_enum(1, word == "highest");
  } else if (key == "tolerance") {
    std::string tolerance;
    if (!ReadTolerance(&tolerance)) return false;
    writer.add_message(2, tolerance);
  } else {
    return in_.Fail(key, fmt::format("result_accuracy has no {}", key), "it has mode or tolerance");
  }
  AddBytes(Field::kResultAccuracy, wire_);
  return in_.Expect('}');
}

bool AttributeReader::ReadTensorSparsity(std::string* wire) {
  if (!in_.Expect('{')) return false;
  pbf_writer writer(*wire);
  while (!in_.Accept('}')) {
    std::string_view key;
    int64_t value = 0;
    if (!in_.ReadWord(&key, "sparsity, dimension or stride") || !in_.Expect('=') ||
        !in_.ReadInt(&value)) {
      return false;
    }
    uint32_t field = key == "sparsity" ? 1 : key == "dimension" ? 3 : key == "stride" ? 4 : 5;
    if (field == 5 && key != "idx") {
      return in_.Fail(key, fmt::format("a sparsity has no {}", key),
                      "it has sparsity dimension stride idx");
    }
    if (value != 0) writer.add_int64(field, value);
    if (field == 1) {
      if (in_.Here() != 'x') return in_.Expected("sparsity as 2x4");
      in_.MoveTo(in_.at() + 1);
      if (!in_.ReadInt(&value)) return false;
      if (value != 0) writer.add_int64(2, value);
    }
    in_.Accept(',');
  }
  return true;
}

bool AttributeReader::ReadSparsity() {
  if (!in_.Expect('{')) return false;
  wire_.clear();
  while (!in_.Accept('}')) {
    std::string_view key;
    std::string side;
    if (!in_.ReadWord(&key, "lhs or rhs") || !in_.Expect('=')) return false;
    if (key != "lhs" && key != "rhs") {
      return in_.Fail(key, fmt::format("sparsity_config has no {}", key), "it has lhs and rhs");
    }
    if (!ReadTensorSparsity(&side)) return false;
    pbf_writer(wire_).add_message(key == "lhs" ? 1 : 2, side);
    in_.Accept(',');
  }
  AddBytes(Field::kSparsityConfig, wire_);
  return true;
}

bool AttributeReader::ReadLiteralAttribute() {
  const Shape* shape = nullptr;
  if (!shapes_.Read(&shape)) return false;
  wire_.clear();
  if (!ReadLiteral(in_, *shape, &wire_)) return false;
  if (!wire_.empty()) AddBytes(Field::kLiteral, wire_);
  return true;
}

bool AttributeReader::ReadOriginLeaf(std::string* elements, const std::vector<int64_t>& path) {
  std::string element;
  AppendPacked(&element, 1, path);
  if (in_.Accept('}')) {
    pbf_writer(*elements).add_message(1, element);
    return true;
  }
  std::string_view name;
  std::string array;
  if (!in_.ReadString(&name)) return false;
  pbf_writer writer(array);
  if (!name.empty()) writer.add_string(1, name.data(), name.size());
  if (in_.Peek() == '{') {
    if (!in_.ReadInts(&ints_)) return false;
    AppendPacked(&array, 2, ints_);
  }
  pbf_writer(element).add_message(2, array);
  pbf_writer(*elements).add_message(1, element);
  return in_.Expect('}');
}

bool AttributeReader::ReadOriginTree(std::string* elements, std::vector<int64_t>* path, int depth) {
  if (in_.Accept('{')) return ReadOriginLeaf(elements, *path);
  if (depth == kDeepestShape) return in_.Fail(in_.at(), 1, "origins nest too deep");
  path->push_back(-1);
  bool ok = in_.ReadList('(', ')', [&] {
    ++path->back();
    return ReadOriginTree(elements, path, depth + 1);
  });
  path->pop_back();
  return ok;
}

bool AttributeReader::ReadOrigin() {
  std::string elements;
  if (!in_.Expect('{')) return false;
  if (in_.Accept('[')) {
    if (!in_.AcceptWord("synthetic_call")) return in_.Expected("`synthetic_call`");
    pbf_writer(elements).add_bool(2, true);
    if (!in_.Expect(']')) return false;
  } else {
    std::vector<int64_t> path;
    if (!ReadOriginTree(&elements, &path, 0)) return false;
  }
  AddBytes(Field::kOriginalValue, elements);
  return in_.Expect('}');
}

bool AttributeReader::ReadFrontendAttributes(std::string_view* wire) {
  std::string out;
  if (!in_.ReadList('{', '}', [&] {
        std::string_view key, value;
        if (!in_.ReadWord(&key, "an attribute's name") || !in_.Expect('=')) return false;
        if (in_.Peek() == '{' ? !in_.ReadBraced(&value) : !in_.ReadString(&value)) return false;
        pbf_writer writer(out);
        pbf_writer entry(writer, 1);
        entry.add_string(1, key.data(), key.size());
        entry.add_string(2, value.data(), value.size());
        return true;
      })) {
    return false;
  }
  *wire = in_.arena().Copy(std::string_view(out));
  return true;
}

bool AttributeReader::ReadBackendConfig(std::string_view* value) {
  return in_.Peek() == '{' ? in_.ReadBraced(value) : in_.ReadString(value);
}

// Many instructions have the metadata of one source line: what is equal in text is read once.
bool AttributeReader::ReadMetadata(std::string_view* wire) {
  std::string_view span = in_.QuotedSpan('}');
  uint64_t hash = HashBytes(span);
  CachedMetadata& cached = metadata_cache_[hash % metadata_cache_.size()];
  if (!span.empty() && cached.hash == hash && cached.text == span) {
    in_.MoveTo(span.data() + span.size());
    *wire = cached.wire;
    return true;
  }
  wire_.clear();
  if (!text::ReadMetadata(in_, &wire_)) return false;
  *wire = in_.arena().Copy(std::string_view(wire_));
  if (in_.at() == span.data() + span.size()) cached = {hash, span, *wire};
  return true;
}

}  // namespace eightfold::hlo::text
