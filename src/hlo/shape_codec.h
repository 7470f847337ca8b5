#ifndef EIGHTFOLD_HLO_SHAPE_CODEC_H_
#define EIGHTFOLD_HLO_SHAPE_CODEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlo/shape.h"

namespace eightfold::hlo {

// Tuples nested deeper than this are refused.
constexpr int kDeepestShape = 200;

// Decodes ShapeProto into one table. Programs repeat few shapes many times, so every wire form is
// decoded once and found again by its bytes, which must stay where they are.
class ShapeDecoder {
 public:
  explicit ShapeDecoder(ShapeTable& table) : table_(table), slots_(256) {}

  // Throws wire::Damage.
  const Shape* Decode(std::string_view wire) { return Find(wire, 0).shape; }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::string_view wire;
    const Shape* shape = nullptr;
    int height = 0;  // levels of tuples in the shape
  };

  Slot Find(std::string_view wire, int depth);
  Slot DecodeNew(std::string_view wire, int depth);
  struct Fields;
  Fields ReadFields(std::string_view wire, int depth);
  Slot& FindSlot(uint64_t hash, std::string_view wire);
  void Grow();

  ShapeTable& table_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t used_ = 0;
};

// The ShapeProto of a shape, in wire form.
std::string EncodeShape(const Shape& shape);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_SHAPE_CODEC_H_
