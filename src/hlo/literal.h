#ifndef EIGHTFOLD_HLO_LITERAL_H_
#define EIGHTFOLD_HLO_LITERAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float_types.h"
#include "hlo/primitive_type.h"

namespace eightfold::hlo {

// The format of a real float type; null for other types.
const FloatFormat* FloatFormatOf(PrimitiveType type);

// A decoded view of a LiteralProto: its elements in logical row-major order, whatever layout they
// are stored in. A view into the wire bytes where those are the elements, so they must stay where
// they are.
class Literal {
 public:
  // Never fails loudly: bytes that are not a literal give an `error()`, and every accessor stays
  // within what is there.
  static Literal Decode(std::string_view wire);

  // "" for a good literal, else what is wrong: "has 3 elements where its shape has 4".
  const std::string& error() const { return error_; }
  bool ok() const { return error_.empty(); }

  PrimitiveType type() const { return type_; }
  std::span<const int64_t> dims() const { return dims_; }
  std::string_view shape() const { return shape_; }  // ShapeProto in wire form
  // Elements of an array; 0 for tuples and broken literals.
  int64_t size() const { return size_; }
  // LiteralProto of each element of a tuple, to be decoded in turn.
  const std::vector<std::string_view>& tuple() const { return tuple_; }

  // Element `i` in row-major order, 0 <= i < size(). Bits are as stored, low bits of the result;
  // for complex types `part` 0 is the real, 1 the imaginary part.
  uint64_t Bits(int64_t i, int part = 0) const;
  // Value of a real float, integer or pred; a complex type's part.
  double AsDouble(int64_t i, int part = 0) const;
  // Value of an integer or pred, sign-extended (u64 beyond int64 wraps); floats are truncated
  // towards zero, those outside int64 saturate and NaN is 0.
  int64_t AsInt(int64_t i) const;

 private:
  void DecodeShape();
  void DecodeElements(std::string_view wire);
  void SetStrides(std::span<const int64_t> minor_to_major);
  int64_t Position(int64_t row_major) const;
  std::string_view Data() const { return owned_.empty() ? view_ : std::string_view(owned_); }

  std::string error_;
  PrimitiveType type_ = PrimitiveType::kInvalid;
  std::string_view shape_;
  std::vector<int64_t> dims_;
  // Elements between neighbours along each dimension, as stored; empty for row-major storage.
  std::vector<int64_t> strides_;
  int64_t size_ = 0;
  int width_ = 0;  // bytes of one stored element (of one part for complex types)
  int parts_ = 1;  // 2 for complex types
  bool is_integer_ = false;
  int unused_bits_ = 0;    // of 64, above a signed integer
  uint8_t mask_ = 0xff;    // the bits of an element that is smaller than a byte
  std::string_view view_;  // stored elements, little-endian
  std::string owned_;      // the same, when they had to be decoded
  std::vector<std::string_view> tuple_;
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_LITERAL_H_
