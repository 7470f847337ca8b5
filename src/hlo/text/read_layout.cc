#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>

#include "hlo/shape_codec.h"
#include "hlo/text/shape_reader.h"

namespace eightfold::hlo::text {
namespace {

// LayoutProto's fields, but the order of dimensions.
enum LayoutField : protozero::pbf_tag_type {
  kTiles = 6,
  kElementBits = 7,
  kMemorySpace = 8,
  kPhysicalShape = 10,
  kIndexType = 11,
  kPointerType = 12,
  kMetadataBytes = 15,
  kTailPadding = 16,
  kSplitConfigs = 17,
};

std::string Packed(protozero::pbf_tag_type field, const std::vector<int64_t>& values) {
  std::string out;
  protozero::pbf_writer(out).add_packed_int64(field, values.begin(), values.end());
  return out;
}

}  // namespace

// What follows the colon, field by field; put in field order at the end.
struct ShapeReader::LayoutAttributes {
  std::string tiles, splits, physical_shape;
  int64_t element_bits = 0, memory_space = 0, metadata_bytes = 0, tail_padding = 1;
  int64_t index_type = 0, pointer_type = 0;

  std::string Encode() const {
    std::string out = tiles;
    protozero::pbf_writer writer(out);
    if (element_bits != 0) writer.add_int64(kElementBits, element_bits);
    if (memory_space != 0) writer.add_int64(kMemorySpace, memory_space);
    if (!physical_shape.empty()) writer.add_message(kPhysicalShape, physical_shape);
    if (index_type != 0) writer.add_int64(kIndexType, index_type);
    if (pointer_type != 0) writer.add_int64(kPointerType, pointer_type);
    if (metadata_bytes != 0) writer.add_int64(kMetadataBytes, metadata_bytes);
    if (tail_padding > 1) writer.add_int64(kTailPadding, tail_padding);
    return out + splits;
  }
};

bool ShapeReader::ParseLayout(Shape* shape) {
  const char* start = in_.at();
  order_.clear();
  while (Is(in_.Peek(), kDigit)) {
    if (!in_.ReadInt(&order_.emplace_back())) return false;
    if (!in_.Accept(',')) break;
  }
  std::vector<bool> seen(order_.size());
  for (int64_t dim : order_) {
    if (static_cast<uint64_t>(dim) >= seen.size() || seen[static_cast<size_t>(dim)]) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      "a layout lists every dimension once");
    }
    seen[static_cast<size_t>(dim)] = true;
  }
  if (order_.size() != shape->rank()) {
    return in_.Fail(
        start, static_cast<size_t>(in_.at() - start),
        fmt::format("a layout of {} dimensions for an array of {}", order_.size(), shape->rank()));
  }
  shape->minor_to_major = order_;
  extra_.clear();
  if (in_.Accept(':')) {
    LayoutAttributes layout;
    while (in_.Peek() != '}') {
      if (!ParseLayoutAttribute(&layout)) return false;
    }
    extra_ = layout.Encode();
  }
  shape->layout_extra = extra_;
  return in_.Expect('}');
}

bool ShapeReader::ParseLayoutAttribute(LayoutAttributes* layout) {
  auto in_parentheses = [&](int64_t* value) {
    return in_.Expect('(') && in_.ReadInt(value) && in_.Expect(')');
  };
  auto type_in_parentheses = [&](int64_t* value) {
    std::string_view word;
    if (!in_.Expect('(') || !in_.ReadWord(&word, "a type")) return false;
    auto type = FindPrimitiveType(word);
    if (!type) return in_.Fail(word, fmt::format("`{}` is not an element type", word));
    *value = static_cast<int64_t>(*type);
    return in_.Expect(')');
  };
  if (in_.Accept('#')) return type_in_parentheses(&layout->index_type);
  if (in_.Accept('*')) return type_in_parentheses(&layout->pointer_type);
  std::string_view word = in_.Word();
  if (word == "E") return in_parentheses(&layout->element_bits);
  if (word == "S") return in_parentheses(&layout->memory_space);
  if (word == "M") return in_parentheses(&layout->metadata_bytes);
  if (word == "L") return in_parentheses(&layout->tail_padding);
  if (word == "T") return ParseTiles(&layout->tiles);
  if (word == "SC") return ParseSplits(&layout->splits);
  if (word == "D") {
    // Dimension level types, which XLA reads and drops.
    return in_.ReadList('(', ')', [&] {
      in_.Word();
      in_.Accept('+');
      in_.Accept('~');
      return true;
    });
  }
  if (word == "P") {
    const Shape* physical = nullptr;
    if (!in_.Expect('(')) return false;
    ShapeReader inner(in_, shapes_, depth_ + 1);
    if (depth_ > 4) return in_.Fail(word, "physical shapes nest too deep");
    if (!inner.Read(&physical)) return false;
    layout->physical_shape = EncodeShape(*physical);
    return in_.Expect(')');
  }
  if (!word.empty()) in_.MoveTo(word.data());
  return in_.Expected("a layout attribute: T L # * E S SC P M");
}

bool ShapeReader::ParseTiles(std::string* tiles) {
  do {
    std::vector<int64_t> dims;
    if (!in_.ReadList('(', ')', [&] {
          in_.SkipSpace();
          const char* start = in_.at();
          if (in_.Accept('*')) {
            dims.push_back(kCombineDimension);
            return true;
          }
          if (!in_.ReadInt(&dims.emplace_back())) return false;
          return dims.back() >= 0 || in_.Fail(start, static_cast<size_t>(in_.at() - start),
                                              "a tile dimension is negative");
        })) {
      return false;
    }
    protozero::pbf_writer(*tiles).add_message(kTiles, Packed(1, dims));
  } while (in_.Peek() == '(');
  return true;
}

bool ShapeReader::ParseSplits(std::string* splits) {
  do {
    int64_t dim = 0;
    std::vector<int64_t> indices;
    if (!in_.Expect('(') || !in_.ReadInt(&dim) || !in_.Expect(':')) return false;
    do {
      if (!in_.ReadInt(&indices.emplace_back())) return false;
    } while (in_.Accept(','));
    if (!in_.Expect(')')) return false;
    std::string split;
    protozero::pbf_writer writer(split);
    if (dim != 0) writer.add_int64(1, dim);
    protozero::pbf_writer(*splits).add_message(kSplitConfigs, split + Packed(2, indices));
  } while (in_.Peek() == '(');
  return true;
}

}  // namespace eightfold::hlo::text
