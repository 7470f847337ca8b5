#ifndef EIGHTFOLD_HLO_TEXT_SHAPE_READER_H_
#define EIGHTFOLD_HLO_TEXT_SHAPE_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/shape.h"
#include "hlo/text/scanner.h"

namespace eightfold::hlo::text {

// Reads shapes. A module has few distinct ones, each printed many times, so the text of a shape is
// looked up first and parsed only when it is new.
class ShapeReader {
  struct LayoutAttributes;

 public:
  ShapeReader(Scanner& scanner, ShapeTable& shapes, int depth = 0)
      : in_(scanner), shapes_(shapes), depth_(depth), cache_(depth == 0 ? 4096 : 1) {}

  // Arrays without layout get the default one.
  bool Read(const Shape** shape);
  // Leaves `shape` alone where no shape starts: neither `(` nor a type followed by `[`.
  bool ReadIfAny(const Shape** shape);

 private:
  struct Cached {
    uint64_t hash = 0;
    std::string_view text;
    const Shape* shape = nullptr;
  };

  bool StartsHere();
  bool ReadKnown(std::string_view span, uint64_t hash, const Shape** shape);
  bool ReadNew(std::string_view span, uint64_t hash, const Shape** shape);
  // The bytes of the shape here, as far as brackets tell; empty when that needs parsing.
  std::string_view Span() const;
  bool Parse(int depth, const Shape** shape);
  bool ParseTuple(int depth, const Shape** shape);
  bool ParseArray(const Shape** shape);
  bool ParseDims(Shape* shape);
  bool ParseLayout(Shape* shape);
  bool ParseLayoutAttribute(LayoutAttributes* layout);
  bool ParseTiles(std::string* tiles);
  bool ParseSplits(std::string* splits);

  Scanner& in_;
  ShapeTable& shapes_;
  int depth_;                  // of physical shapes in layouts
  std::vector<Cached> cache_;  // direct-mapped
  std::vector<int64_t> dims_;
  std::vector<int64_t> order_;
  std::vector<uint8_t> dynamic_;
  std::string extra_;
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_SHAPE_READER_H_
