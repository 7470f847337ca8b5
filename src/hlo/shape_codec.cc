#include "hlo/shape_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;
using wire::Damage;

// Numbers of ShapeProto and LayoutProto.
enum ShapeField : uint32_t {
  kElementType = 2,
  kDimensions = 3,
  kTupleShapes = 4,
  kLayout = 5,
  kIsDynamicDimension = 6
};
enum LayoutField : uint32_t {
  kMinorToMajor = 1,
  kElementSizeInBits = 7,
  kMemorySpace = 8,
  kIndexPrimitiveType = 11,
  kPointerPrimitiveType = 12,
  kDynamicShapeMetadataPrefixBytes = 15,
  kTailPaddingAlignment = 16
};

// A scalar that says what is so anyway. XLA writes an alignment of 1 into every layout.
bool IsLayoutDefault(const Cursor& cursor) {
  switch (cursor.field()) {
    case kElementSizeInBits:
    case kMemorySpace:
    case kIndexPrimitiveType:
    case kPointerPrimitiveType:
    case kDynamicShapeMetadataPrefixBytes:
      return cursor.Int() == 0;
    case kTailPaddingAlignment:
      return cursor.Int() == 0 || cursor.Int() == 1;
    default:
      return false;
  }
}

struct Layout {
  std::vector<int64_t> minor_to_major;
  std::string extra;
};

Layout DecodeLayout(std::string_view message) {
  Layout layout;
  std::vector<std::pair<uint32_t, std::string_view>> extra;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == kMinorToMajor) {
      wire::Under([] { return "minor_to_major"; },
                  [&] { cursor.Ints([&](int64_t d) { layout.minor_to_major.push_back(d); }); });
    } else if (!IsLayoutDefault(cursor)) {
      extra.emplace_back(cursor.field(), cursor.raw());
    }
  }
  std::ranges::stable_sort(extra, {}, [](const auto& field) { return field.first; });
  for (const auto& [field, raw] : extra) layout.extra += raw;
  return layout;
}

void CheckLayout(const Layout& layout, size_t rank) {
  if (layout.minor_to_major.size() != rank) {
    throw Damage(fmt::format("orders {} dimensions of an array that has {}",
                             layout.minor_to_major.size(), rank));
  }
  std::vector<bool> seen(rank);
  for (int64_t dim : layout.minor_to_major) {
    if (dim < 0 || static_cast<uint64_t>(dim) >= rank || seen[static_cast<size_t>(dim)]) {
      throw Damage(fmt::format("[{}] is not a permutation of the dimensions",
                               fmt::join(layout.minor_to_major, ",")));
    }
    seen[static_cast<size_t>(dim)] = true;
  }
}

void CheckDimensions(const std::vector<int64_t>& dims) {
  for (int64_t dim : dims) {
    if (dim < 0 && dim != kUnbounded) throw Damage(fmt::format("has a dimension of {}", dim));
  }
}

PrimitiveType CheckType(int64_t number) {
  if (number > 0 && number < kPrimitiveTypeCount) return static_cast<PrimitiveType>(number);
  throw Damage(fmt::format("element type {} is unknown", number));
}

[[noreturn]] void ThrowTooDeep() {
  throw Damage(fmt::format("tuples are nested more than {} deep", kDeepestShape));
}

void CheckTuple(PrimitiveType type, size_t elements, size_t rank) {
  if (type == PrimitiveType::kBuffer && elements != 1) {
    throw Damage(fmt::format("a buffer shape has {} element shapes, must be 1", elements));
  }
  if (type != PrimitiveType::kTuple && type != PrimitiveType::kBuffer && elements != 0) {
    throw Damage(fmt::format("{} has tuple elements", Name(type)));
  }
  if (!IsArray(type) && rank != 0) throw Damage(fmt::format("{} has dimensions", Name(type)));
}

}  // namespace

ShapeDecoder::Slot& ShapeDecoder::FindSlot(uint64_t hash, std::string_view wire) {
  size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].shape != nullptr && (slots_[at].hash != hash || slots_[at].wire != wire)) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

void ShapeDecoder::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.shape != nullptr) FindSlot(slot.hash, slot.wire) = slot;
  }
}

ShapeDecoder::Slot ShapeDecoder::Find(std::string_view wire, int depth) {
  uint64_t hash = HashBytes(wire);
  Slot slot = FindSlot(hash, wire);
  if (slot.shape == nullptr) {
    slot = DecodeNew(wire, depth);
    slot.hash = hash;
    slot.wire = wire;
    if (++used_ * 2 > slots_.size()) Grow();
    // Decoding the elements may have moved the slots.
    FindSlot(hash, wire) = slot;
  }
  if (depth + slot.height > kDeepestShape) ThrowTooDeep();
  return slot;
}

// A ShapeProto taken apart.
struct ShapeDecoder::Fields {
  int64_t type = 0;
  std::vector<int64_t> dims;
  std::vector<int64_t> dynamic;
  std::vector<const Shape*> tuple;
  int height = 0;
  bool has_layout = false;
  std::string_view layout;
  std::string unknown;
};

ShapeDecoder::Fields ShapeDecoder::ReadFields(std::string_view message, int depth) {
  Fields fields;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case kElementType:
        fields.type = wire::Under([] { return "element_type"; }, [&] { return cursor.Int(); });
        break;
      case kDimensions:
        wire::Under([] { return "dimensions"; },
                    [&] { cursor.Ints([&](int64_t dim) { fields.dims.push_back(dim); }); });
        break;
      case kTupleShapes:
        wire::Under([&] { return fmt::format("tuple_shapes[{}]", fields.tuple.size()); },
                    [&] {
                      Slot element = Find(cursor.Message(), depth + 1);
                      fields.tuple.push_back(element.shape);
                      fields.height = std::max(fields.height, element.height + 1);
                    });
        break;
      case kLayout:
        fields.layout = wire::Under([] { return "layout"; }, [&] { return cursor.Message(); });
        fields.has_layout = true;
        break;
      case kIsDynamicDimension:
        wire::Under([] { return "is_dynamic_dimension"; },
                    [&] { cursor.Ints([&](int64_t flag) { fields.dynamic.push_back(flag); }); });
        break;
      default:
        fields.unknown += cursor.raw();
    }
  }
  return fields;
}

ShapeDecoder::Slot ShapeDecoder::DecodeNew(std::string_view message, int depth) {
  if (depth > kDeepestShape) ThrowTooDeep();
  Fields fields = ReadFields(message, depth);
  Shape shape{.type = CheckType(fields.type), .dims = fields.dims, .tuple = fields.tuple};
  CheckTuple(shape.type, fields.tuple.size(), fields.dims.size());
  CheckDimensions(fields.dims);
  Layout layout;
  if (fields.has_layout && shape.IsArray()) {
    wire::Under([] { return "layout"; },
                [&] {
                  layout = DecodeLayout(fields.layout);
                  CheckLayout(layout, fields.dims.size());
                });
    shape.has_layout = true;
    shape.minor_to_major = layout.minor_to_major;
    shape.layout_extra = layout.extra;
  }
  if (fields.dynamic.size() > fields.dims.size()) {
    throw Damage(fmt::format("is_dynamic_dimension has {} flags for {} dimensions",
                             fields.dynamic.size(), fields.dims.size()));
  }
  auto flags = std::make_unique<bool[]>(fields.dims.size());
  bool is_dynamic = false;
  for (size_t i = 0; i < fields.dynamic.size(); ++i) {
    flags[i] = fields.dynamic[i] != 0;
    is_dynamic |= flags[i];
  }
  if (is_dynamic) shape.dynamic = {flags.get(), fields.dims.size()};
  shape.unknown = fields.unknown;
  return {.shape = table_.Intern(shape), .height = fields.height};
}

std::string EncodeShape(const Shape& shape) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_enum(kElementType, static_cast<int32_t>(shape.type));
  if (!shape.dims.empty()) {
    writer.add_packed_int64(kDimensions, shape.dims.begin(), shape.dims.end());
  }
  for (const Shape* element : shape.tuple) {
    writer.add_message(kTupleShapes, EncodeShape(*element));
  }
  if (shape.has_layout) {
    std::string layout;
    protozero::pbf_writer fields(layout);
    if (!shape.minor_to_major.empty()) {
      fields.add_packed_int64(kMinorToMajor, shape.minor_to_major.begin(),
                              shape.minor_to_major.end());
    }
    layout += shape.layout_extra;
    writer.add_message(kLayout, layout);
  }
  if (!shape.dynamic.empty()) {
    writer.add_packed_bool(kIsDynamicDimension, shape.dynamic.begin(), shape.dynamic.end());
  }
  out += shape.unknown;
  return out;
}

}  // namespace eightfold::hlo
