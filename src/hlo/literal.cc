#include "hlo/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;

constexpr uint32_t kShapeField = 1;
constexpr uint32_t kTupleField = 10;

// Types stored as varints, which have to be decoded; the others are bytes as they are in memory.
bool IsVarint(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kPred:
    case PrimitiveType::kS32:
    case PrimitiveType::kS64:
    case PrimitiveType::kU32:
    case PrimitiveType::kU64:
      return true;
    default:
      return false;
  }
}

// Bytes of one stored element, or part of one for complex types. Types below a byte take one.
int StoredWidth(PrimitiveType type) {
  return IsComplex(type) ? BitWidth(type) / 16 : std::max(1, BitWidth(type) / 8);
}

void AppendBytes(std::string& out, uint64_t value, int width) {
  char bytes[8];
  std::memcpy(bytes, &value, sizeof bytes);
  out.append(bytes, static_cast<size_t>(width));
}

bool IsRowMajor(std::span<const int64_t> minor_to_major) {
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != static_cast<int64_t>(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

}  // namespace

const FloatFormat* FloatFormatOf(PrimitiveType type) {
  static const auto* const formats = [] {
    auto* all = new const FloatFormat* [kPrimitiveTypeCount] {};
    for (int i = 0; i < kPrimitiveTypeCount; ++i) {
      all[i] = FindFloatFormat(Name(static_cast<PrimitiveType>(i)));
    }
    return all;
  }();
  auto index = static_cast<size_t>(type);
  return index < kPrimitiveTypeCount ? formats[index] : nullptr;
}

Literal Literal::Decode(std::string_view wire) {
  Literal literal;
  try {
    for (Cursor cursor(wire); cursor.Next();) {
      if (cursor.field() == kShapeField) literal.shape_ = cursor.Message();
    }
    literal.DecodeShape();
    if (literal.ok()) literal.DecodeElements(wire);
  } catch (const wire::Damage& damage) {
    literal.error_ = damage.what();
  }
  if (!literal.ok()) literal.size_ = 0;
  return literal;
}

void Literal::DecodeShape() {
  int64_t number = 0;
  std::string_view layout;
  for (Cursor cursor(shape_); cursor.Next();) {
    if (cursor.field() == 2) number = cursor.Int();
    if (cursor.field() == 3) cursor.Ints([&](int64_t dim) { dims_.push_back(dim); });
    if (cursor.field() == 5) layout = cursor.Message();
  }
  if (number <= 0 || number >= kPrimitiveTypeCount) {
    error_ = shape_.empty() ? "has no shape" : fmt::format("element type {} is unknown", number);
    return;
  }
  type_ = static_cast<PrimitiveType>(number);
  if (type_ == PrimitiveType::kTuple) return;
  if (LiteralField(type_) == 0) {
    error_ = fmt::format("{} has no values", Name(type_));
    return;
  }
  size_ = 1;
  for (int64_t dim : dims_) {
    if (dim < 0 || __builtin_mul_overflow(size_, dim, &size_)) {
      error_ = fmt::format("shape {}[{}] has no size", Name(type_), fmt::join(dims_, ","));
      return;
    }
  }
  std::vector<int64_t> minor_to_major;
  for (Cursor cursor(layout); cursor.Next();) {
    if (cursor.field() == 1) cursor.Ints([&](int64_t dim) { minor_to_major.push_back(dim); });
  }
  if (!minor_to_major.empty() && !IsRowMajor(minor_to_major)) SetStrides(minor_to_major);
}

void Literal::SetStrides(std::span<const int64_t> minor_to_major) {
  strides_.assign(dims_.size(), -1);
  int64_t stride = 1;
  for (int64_t dim : minor_to_major) {
    auto index = static_cast<size_t>(dim);
    if (dim < 0 || index >= dims_.size() || strides_[index] >= 0) break;
    strides_[index] = stride;
    stride *= dims_[index];
  }
  if (minor_to_major.size() != dims_.size() || std::ranges::count(strides_, -1) != 0) {
    error_ = fmt::format("layout [{}] does not order {} dimensions", fmt::join(minor_to_major, ","),
                         dims_.size());
  }
}

void Literal::DecodeElements(std::string_view wire) {
  width_ = StoredWidth(type_);
  parts_ = IsComplex(type_) ? 2 : 1;
  is_integer_ = IsIntegral(type_) || type_ == PrimitiveType::kPred;
  if (IsSigned(type_)) unused_bits_ = 64 - BitWidth(type_);
  if (BitWidth(type_) < 8) mask_ = static_cast<uint8_t>((1 << BitWidth(type_)) - 1);
  auto field = static_cast<uint32_t>(LiteralField(type_));
  bool varint = IsVarint(type_);
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() == kTupleField) {
      tuple_.push_back(cursor.Message());
    } else if (cursor.field() != field) {
      continue;
    } else if (varint) {
      if (cursor.type() == wire::Type::kBytes) {
        owned_.reserve(owned_.size() +
                       static_cast<size_t>(
                           std::min(size_, static_cast<int64_t>(cursor.bytes().size())) * width_));
      }
      cursor.Ints([&](int64_t value) {
        if (type_ == PrimitiveType::kPred) value = value != 0;
        AppendBytes(owned_, static_cast<uint64_t>(value), width_);
      });
    } else if (cursor.type() == wire::Type::kBytes) {
      if (view_.empty() && owned_.empty()) {
        view_ = cursor.bytes();
        continue;
      }
      // A field in several pieces.
      if (owned_.empty()) owned_ = view_;
      owned_ += cursor.bytes();
    } else {
      AppendBytes(owned_, cursor.scalar(), width_);
    }
  }
  if (type_ == PrimitiveType::kTuple) return;
  size_t stored = Data().size() / static_cast<size_t>(width_ * parts_);
  if (stored != static_cast<uint64_t>(size_) ||
      Data().size() % static_cast<size_t>(width_ * parts_) != 0) {
    error_ = fmt::format("has {} elements where its shape {}[{}] has {}", stored, Name(type_),
                         fmt::join(dims_, ","), size_);
  }
}

int64_t Literal::Position(int64_t row_major) const {
  if (strides_.empty()) return row_major;
  int64_t position = 0;
  for (size_t i = dims_.size(); i-- > 0;) {
    position += row_major % dims_[i] * strides_[i];
    row_major /= dims_[i];
  }
  return position;
}

uint64_t Literal::Bits(int64_t i, int part) const {
  const char* at = Data().data() + (Position(i) * parts_ + part) * width_;
  auto load = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<uint64_t>(value);
  };
  switch (width_) {
    case 1:
      return load(uint8_t{}) & mask_;
    case 2:
      return load(uint16_t{});
    case 4:
      return load(uint32_t{});
    default:
      return load(uint64_t{});
  }
}

double Literal::AsDouble(int64_t i, int part) const {
  if (const FloatFormat* format = FloatFormatOf(type_)) return DecodeFloat(*format, Bits(i));
  if (type_ == PrimitiveType::kC64) return DecodeFloat(kFloatF32, Bits(i, part));
  if (type_ == PrimitiveType::kC128) return DecodeFloat(kFloatF64, Bits(i, part));
  if (type_ == PrimitiveType::kU64) return static_cast<double>(Bits(i));
  return static_cast<double>(AsInt(i));
}

int64_t Literal::AsInt(int64_t i) const {
  if (!is_integer_) {
    double value = AsDouble(i);
    if (std::isnan(value)) return 0;
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (value >= kLimit) return std::numeric_limits<int64_t>::max();
    if (value < -kLimit) return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(value);
  }
  return static_cast<int64_t>(Bits(i) << unused_bits_) >> unused_bits_;
}

}  // namespace eightfold::hlo
