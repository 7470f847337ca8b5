#ifndef EIGHTFOLD_HLO_SHAPE_H_
#define EIGHTFOLD_HLO_SHAPE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "hlo/primitive_type.h"

namespace eightfold::hlo {

// A dimension of unknown size (`?` in text) and a combined tile dimension (`*` in text).
constexpr int64_t kUnbounded = INT64_MIN;
constexpr int64_t kCombineDimension = INT64_MIN;

// An immutable shape. Made by ShapeTable only, which gives equal shapes of one module the same
// address, so shapes are compared with ==. Tuples have `tuple`; a buffer `b(…)` has one entry
// there.
struct Shape {
  PrimitiveType type = PrimitiveType::kInvalid;
  bool has_layout = false;
  std::span<const int64_t> dims;            // kUnbounded for `?`
  std::span<const bool> dynamic;            // empty when no dimension is dynamic, else one per dim
  std::span<const int64_t> minor_to_major;  // with has_layout: one per dim
  // The other fields of LayoutProto (tiles, memory space, element bits …) in wire form, in field
  // order, defaults left out. Empty for the ordinary layout.
  std::string_view layout_extra;
  std::span<const Shape* const> tuple;
  std::string_view unknown;  // fields of ShapeProto that we do not know, in wire form
  const Shape* bare =
      nullptr;  // this shape without layouts: a->bare == b->bare compares types and dims

  bool IsTuple() const { return type == PrimitiveType::kTuple; }
  bool IsArray() const { return hlo::IsArray(type); }
  size_t rank() const { return dims.size(); }
  bool IsScalar() const { return IsArray() && dims.empty(); }
};

// Elements of an array; -1 when a dimension is unbounded or the product does not fit an int64.
int64_t ElementCount(const Shape& shape);
// Bytes of all array leaves, each rounded up to whole bytes; -1 as above.
int64_t ByteSize(const Shape& shape);
// "f32[8,64]{1,0}", "(f32[], s32[2]{0})". `with_layout` false leaves the braces out.
std::string ToString(const Shape& shape, bool with_layout = true);

// Interns shapes in an arena.
class ShapeTable {
 public:
  explicit ShapeTable(Arena& arena) : arena_(arena) {}
  ShapeTable(const ShapeTable&) = delete;
  ShapeTable& operator=(const ShapeTable&) = delete;

  // The one shape equal to `shape`; spans of a new one are copied, its `bare` is set. Tuple
  // elements must come from this table.
  const Shape* Intern(const Shape& shape);

  const Shape* Array(PrimitiveType type, std::span<const int64_t> dims);  // no layout
  // Layout {n-1,…,0}.
  const Shape* ArrayWithDefaultLayout(PrimitiveType type, std::span<const int64_t> dims);
  const Shape* Tuple(std::span<const Shape* const> elements);
  // The same shape from another module's table.
  const Shape* Import(const Shape& foreign);

  size_t size() const { return shapes_.size(); }

 private:
  const Shape* Bare(const Shape& shape);

  Arena& arena_;
  std::unordered_multimap<uint64_t, const Shape*> shapes_;
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_SHAPE_H_
