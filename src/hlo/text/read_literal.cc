#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/float_types.h"
#include "hlo/shape_codec.h"
#include "hlo/text/attribute_reader.h"

namespace eightfold::hlo::text {
namespace {

// Bytes of one element in LiteralProto: types of less than a byte take one each.
size_t StoredWidth(PrimitiveType type) { return static_cast<size_t>((BitWidth(type) + 7) / 8); }

// LiteralProto keeps these as packed varints, everything else as the plain bytes.
bool IsVarint(PrimitiveType type) {
  return type == PrimitiveType::kS32 || type == PrimitiveType::kS64 ||
         type == PrimitiveType::kU32 || type == PrimitiveType::kU64;
}

// One array's elements, read in logical row-major order.
class ArrayReader {
 public:
  ArrayReader(Scanner& in, const Shape& shape)
      : in_(in),
        shape_(shape),
        bits_(BitWidth(shape.type)),
        width_(StoredWidth(shape.type)),
        float_(FindFloatFormat(IsComplex(shape.type)    ? bits_ == 64 ? "f32" : "f64"
                               : IsFloating(shape.type) ? Name(shape.type)
                                                        : "")) {}

  bool Read(std::string* wire) {
    if (shape_.IsScalar() ? !ReadElement() : !ReadBraces()) return false;
    if (data_.empty()) return true;
    if (!InOrder()) Permute();
    protozero::pbf_writer writer(*wire);
    auto field = static_cast<protozero::pbf_tag_type>(LiteralField(shape_.type));
    if (!IsVarint(shape_.type)) {
      writer.add_bytes(field, data_);
      return true;
    }
    std::string packed;
    for (size_t i = 0; i < data_.size(); i += width_) {
      uint64_t value = 0;
      std::memcpy(&value, data_.data() + i, width_);
      if (shape_.type == PrimitiveType::kS32) {
        value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
      }
      protozero::add_varint_to_buffer(&packed, value);
    }
    writer.add_bytes(field, packed);
    return true;
  }

 private:
  // Nested braces, without recursion: `seen[d]` counts the elements at depth d so far.
  bool ReadBraces() {
    std::vector<int64_t> seen;
    if (in_.Peek() != '{')
      return in_.Expected(fmt::format("`{{` of a {}", ToString(shape_, false)));
    do {
      in_.SkipSpace();
      const char* start = in_.at();
      if (in_.Accept('}')) {
        int64_t wanted = shape_.dims[seen.size() - 1];
        if (seen.back() != wanted) {
          return in_.Fail(
              start, 1,
              fmt::format("{} elements end here, but dimension {} of {} has {}", seen.back(),
                          seen.size() - 1, ToString(shape_, false), wanted));
        }
        seen.pop_back();
        in_.Accept(',');
      } else {
        if (!seen.empty() && seen.back()++ == shape_.dims[seen.size() - 1]) {
          return in_.Fail(start, 1,
                          fmt::format("dimension {} of {} has only {} elements", seen.size() - 1,
                                      ToString(shape_, false), shape_.dims[seen.size() - 1]));
        }
        if (seen.size() < shape_.rank()) {
          if (!in_.Expect('{')) return false;
          seen.push_back(0);
        } else {
          if (!ReadElement()) return false;
          in_.Accept(',');
        }
      }
    } while (!seen.empty());
    // The comma behind the last brace belongs to whatever follows the literal.
    if (in_.at()[-1] == ',') in_.MoveTo(in_.at() - 1);
    return true;
  }

  bool ReadElement() {
    if (IsComplex(shape_.type)) {
      return in_.Expect('(') && ReadFloat(width_ / 2) && in_.Expect(',') && ReadFloat(width_ / 2) &&
             in_.Expect(')');
    }
    if (float_ != nullptr) return ReadFloat(width_);
    if (shape_.type != PrimitiveType::kPred) return ReadInteger();
    bool value = false;
    int64_t number = 0;
    if (Is(in_.Peek(), kDigit) || in_.Here() == '-') {
      if (!in_.ReadInt(&number)) return false;
      value = number != 0;
    } else if (!in_.ReadBool(&value)) {
      return false;
    }
    data_.push_back(value ? 1 : 0);
    return true;
  }

  bool ReadInteger() {
    in_.SkipSpace();
    const char* start = in_.at();
    bool negative = in_.Here() == '-';
    uint64_t magnitude = 0;
    auto [stop, problem] = std::from_chars(start + negative, in_.end(), magnitude);
    if (problem == std::errc::invalid_argument) return in_.Expected("an integer");
    in_.MoveTo(stop);
    if (in_.Here() == '.' || in_.Here() == 'e' || in_.Here() == 'E') {
      return in_.Fail(start, static_cast<size_t>(stop + 1 - start),
                      fmt::format("an element of {} must be an integer", Name(shape_.type)));
    }
    uint64_t largest = bits_ == 64 ? ~uint64_t{0} : (uint64_t{1} << bits_) - 1;
    // XLA takes 64-bit numbers of either signedness for both types.
    bool wide = bits_ == 64;
    if (IsSigned(shape_.type) && !wide) largest = (largest >> 1) + negative;
    if (IsSigned(shape_.type) && wide && negative) largest = uint64_t{1} << 63;
    if (!IsSigned(shape_.type) && negative && magnitude != 0)
      problem = std::errc::result_out_of_range;
    if (problem != std::errc{} || magnitude > largest) {
      return in_.Fail(start, static_cast<size_t>(stop - start),
                      fmt::format("this does not fit {}", Name(shape_.type)));
    }
    uint64_t value = negative ? 0 - magnitude : magnitude;
    if (bits_ < 8) value &= (uint64_t{1} << bits_) - 1;
    Append(value, width_);
    return true;
  }

  bool ReadFloat(size_t width) {
    in_.SkipSpace();
    const char* start = in_.at();
    bool negative = in_.Here() == '-';
    in_.MoveTo(start + negative);
    if (in_.AcceptWord("nan")) {
      uint64_t bits = NanBits(*float_, negative);
      if (in_.Here() == '(' && !ReadPayload(negative, &bits)) return false;
      Append(bits, width);
      return true;
    }
    in_.MoveTo(start);
    double value = 0;
    if (!in_.ReadDouble(&value)) return false;
    if (shape_.type == PrimitiveType::kF64 || shape_.type == PrimitiveType::kC128) {
      Append(std::bit_cast<uint64_t>(value), width);
      return true;
    }
    uint64_t bits = EncodeFloat(*float_, value);
    if (std::isfinite(value) && !std::isfinite(DecodeFloat(*float_, bits))) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      fmt::format("this does not fit {}", float_->name));
    }
    Append(bits, width);
    return true;
  }

  // `(0x400001)`, the mantissa bits of a NaN.
  bool ReadPayload(bool negative, uint64_t* bits) {
    const char* start = in_.at();
    uint64_t payload = 0;
    if (!in_.AcceptText("(0x")) return in_.Expected("a payload as (0x400001)");
    auto [stop, problem] = std::from_chars(in_.at(), in_.end(), payload, 16);
    if (problem == std::errc::invalid_argument) return in_.Expected("hexadecimal digits");
    in_.MoveTo(stop);
    uint64_t mantissa = (uint64_t{1} << float_->mantissa_bits) - 1;
    if (problem != std::errc{} || payload == 0 || payload > mantissa ||
        float_->special != FloatFormat::Special::kIeee) {
      return in_.Fail(start, static_cast<size_t>(stop - start),
                      fmt::format("a NaN of {} cannot have this payload", float_->name));
    }
    *bits = payload | ((uint64_t{1} << float_->exponent_bits) - 1) << float_->mantissa_bits |
            (negative ? float_->sign_bit() : 0);
    return in_.Expect(')');
  }

  void Append(uint64_t value, size_t width) {
    static_assert(std::endian::native == std::endian::little);
    data_.append(reinterpret_cast<const char*>(&value), width);
  }

  bool InOrder() const {
    for (size_t i = 0; i < shape_.minor_to_major.size(); ++i) {
      if (shape_.minor_to_major[i] != static_cast<int64_t>(shape_.rank() - 1 - i)) return false;
    }
    return true;
  }

  // From row-major to the order of the layout.
  void Permute() {
    std::vector<size_t> stride(shape_.rank()), index(shape_.rank(), 0);
    size_t size = width_;
    for (int64_t dim : shape_.minor_to_major) {
      stride[static_cast<size_t>(dim)] = size;
      size *= static_cast<size_t>(shape_.dims[static_cast<size_t>(dim)]);
    }
    std::string ordered(data_.size(), '\0');
    size_t to = 0;
    for (size_t from = 0; from < data_.size(); from += width_) {
      std::memcpy(ordered.data() + to, data_.data() + from, width_);
      for (size_t d = shape_.rank(); d-- > 0;) {
        to += stride[d];
        if (++index[d] < static_cast<size_t>(shape_.dims[d])) break;
        to -= stride[d] * index[d];
        index[d] = 0;
      }
    }
    data_ = std::move(ordered);
  }

  Scanner& in_;
  const Shape& shape_;
  int bits_;
  size_t width_;
  const FloatFormat* float_;  // of reals and of the parts of complex numbers
  std::string data_;
};

bool ReadValue(Scanner& in, const Shape& shape, std::string* wire, bool* elided) {
  const char* start = in.at();
  if (in.Accept('{') && in.AcceptText("...")) {
    *elided = true;
    return in.Expect('}');
  }
  in.MoveTo(start);
  protozero::pbf_writer(*wire).add_message(1, EncodeShape(shape));
  if (shape.IsTuple()) {
    if (!in.Expect('(')) return false;
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      std::string part;
      if (i != 0 && !in.Expect(',')) return false;
      in.SkipSpace();
      if (!ReadValue(in, *shape.tuple[i], &part, elided)) return false;
      protozero::pbf_writer(*wire).add_message(10, part);
    }
    return in.Expect(')');
  }
  if (!shape.IsArray() || LiteralField(shape.type) == 0) {
    return in.Fail(start, 1, fmt::format("there are no constants of type {}", Name(shape.type)));
  }
  return ArrayReader(in, shape).Read(wire);
}

}  // namespace

bool ReadLiteral(Scanner& in, const Shape& shape, std::string* wire) {
  bool elided = false;
  in.SkipSpace();
  if (!ReadValue(in, shape, wire, &elided)) return false;
  if (elided) wire->clear();
  return true;
}

}  // namespace eightfold::hlo::text
