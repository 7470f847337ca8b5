#ifndef EIGHTFOLD_PJRT_ARRAY_H_
#define EIGHTFOLD_PJRT_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hlo/primitive_type.h"
#include "hlo/shape.h"

namespace eightfold::pjrt {

// Element type and dimensions of an array that goes into or comes out of a program. On the host its
// elements are dense, in row-major order; pred takes a byte.
struct ArrayShape {
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
  std::vector<int64_t> dims;

  // The ArrayShape of `shape`. Errors: a tuple, token or other non-array, dimensions of unknown
  // size, a type that does not fill whole bytes, more than 2^62 bytes.
  static Result<ArrayShape> From(const hlo::Shape& shape);

  int64_t elements() const;
  size_t bytes() const { return static_cast<size_t>(elements()) * element_bytes(); }
  size_t element_bytes() const { return static_cast<size_t>(hlo::BitWidth(type)) / 8; }
  bool operator==(const ArrayShape&) const = default;
};

// "f32[2,3]"
std::string ToString(const ArrayShape& shape);

// The number of `type` in the PJRT ABI; 0 for those that cannot be an argument here: non-arrays
// and types that do not fill whole bytes.
int AbiType(hlo::PrimitiveType type);
// The type with that number; kInvalid for one that we do not know.
hlo::PrimitiveType TypeFromAbi(int number);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_ARRAY_H_
