#include "hlo/literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ShapeWire(PrimitiveType type, const std::vector<int64_t>& dims,
                      const std::vector<int64_t>& minor_to_major) {
  std::string layout;
  protozero::pbf_writer(layout).add_packed_int64(1, minor_to_major.begin(), minor_to_major.end());
  std::string shape;
  protozero::pbf_writer writer(shape);
  writer.add_enum(2, static_cast<int32_t>(type));
  if (!dims.empty()) writer.add_packed_int64(3, dims.begin(), dims.end());
  writer.add_message(5, layout);
  return shape;
}

// A literal whose elements are the payload of its type's field.
std::string LiteralWire(PrimitiveType type, const std::vector<int64_t>& dims,
                        const std::vector<int64_t>& minor_to_major, std::string_view payload) {
  std::string literal;
  protozero::pbf_writer writer(literal);
  writer.add_message(1, ShapeWire(type, dims, minor_to_major));
  writer.add_bytes(static_cast<uint32_t>(LiteralField(type)), payload.data(), payload.size());
  return literal;
}

template <class T>
std::string Bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Literal, ElementsComeInRowMajorOrderWhateverTheLayout) {
  // {{1,2,3},{4,5,6}} stored column by column.
  std::string wire =
      LiteralWire(PrimitiveType::kF32, {2, 3}, {0, 1}, Bytes<float>({1, 4, 2, 5, 3, 6}));
  Literal literal = Literal::Decode(wire);
  ASSERT_TRUE(literal.ok()) << literal.error();
  std::vector<double> values;
  for (int64_t i = 0; i < literal.size(); ++i) values.push_back(literal.AsDouble(i));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Literal, SmallIntegersAreSignExtendedFromOneByteEach) {
  std::string wire = LiteralWire(PrimitiveType::kS4, {3}, {0}, "\x08\x07\xff");
  Literal literal = Literal::Decode(wire);
  ASSERT_TRUE(literal.ok()) << literal.error();
  EXPECT_EQ(literal.AsInt(0), -8);
  EXPECT_EQ(literal.AsInt(1), 7);
  EXPECT_EQ(literal.Bits(2), 0xfu);
  EXPECT_EQ(literal.AsInt(2), -1);
}

TEST(Literal, VarintsMayBePackedInPiecesOrNot) {
  std::string wire;
  protozero::pbf_writer writer(wire);
  writer.add_message(1, ShapeWire(PrimitiveType::kS32, {4}, {0}));
  const int32_t packed[] = {-1, 300};
  writer.add_packed_int32(4, std::begin(packed), std::end(packed));
  writer.add_int32(4, 7);
  writer.add_packed_int32(4, std::begin(packed), std::begin(packed) + 1);
  Literal literal = Literal::Decode(wire);
  ASSERT_TRUE(literal.ok()) << literal.error();
  EXPECT_EQ(literal.AsInt(0), -1);
  EXPECT_EQ(literal.AsInt(1), 300);
  EXPECT_EQ(literal.AsInt(2), 7);
  EXPECT_EQ(literal.AsInt(3), -1);
}

TEST(Literal, ComplexNumbersHaveTwoParts) {
  std::string wire = LiteralWire(PrimitiveType::kC64, {2}, {0}, Bytes<float>({1, -2, 3.5F, 0}));
  Literal literal = Literal::Decode(wire);
  ASSERT_EQ(literal.size(), 2);
  EXPECT_EQ(literal.AsDouble(0, 1), -2);
  EXPECT_EQ(literal.AsDouble(1), 3.5);
}

TEST(Literal, FloatsBecomeIntegersWithoutOverflow) {
  std::string wire =
      LiteralWire(PrimitiveType::kF64, {4}, {0},
                  Bytes<double>({-1.9, 1e300, -1e300, std::numeric_limits<double>::quiet_NaN()}));
  Literal literal = Literal::Decode(wire);
  EXPECT_EQ(literal.AsInt(0), -1);
  EXPECT_EQ(literal.AsInt(1), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(literal.AsInt(2), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(literal.AsInt(3), 0);
}

TEST(Literal, WrongElementCountsAreErrors) {
  Literal few = Literal::Decode(LiteralWire(PrimitiveType::kF32, {4}, {0}, Bytes<float>({1, 2})));
  EXPECT_THAT(few.error(), HasSubstr("has 2 elements where its shape f32[4] has 4"));
  EXPECT_EQ(few.size(), 0);
  Literal odd = Literal::Decode(LiteralWire(PrimitiveType::kF32, {1}, {0}, "\1\2\3\4\5"));
  EXPECT_FALSE(odd.ok());
  Literal huge = Literal::Decode(
      LiteralWire(PrimitiveType::kS8, {int64_t{1} << 40, int64_t{1} << 40}, {1, 0}, "a"));
  EXPECT_THAT(huge.error(), HasSubstr("has no size"));
}

TEST(Literal, DamageIsAnErrorAndNeverACrash) {
  std::string wire = LiteralWire(PrimitiveType::kF32, {2, 3}, {0, 1}, std::string(24, '\1'));
  for (size_t cut = 0; cut < wire.size(); ++cut) {
    EXPECT_FALSE(Literal::Decode(std::string_view(wire).substr(0, cut)).ok()) << cut;
  }
  std::string bad_layout = LiteralWire(PrimitiveType::kF32, {2, 2}, {0, 0}, std::string(16, '\1'));
  EXPECT_THAT(Literal::Decode(bad_layout).error(), HasSubstr("does not order 2 dimensions"));
}

TEST(Literal, TuplesHandOutTheirElements) {
  std::string element = LiteralWire(PrimitiveType::kU8, {2}, {0}, "ab");
  std::string shape;
  protozero::pbf_writer(shape).add_enum(2, static_cast<int32_t>(PrimitiveType::kTuple));
  std::string wire;
  protozero::pbf_writer writer(wire);
  writer.add_message(1, shape);
  writer.add_message(10, element);
  Literal literal = Literal::Decode(wire);
  ASSERT_TRUE(literal.ok()) << literal.error();
  EXPECT_EQ(literal.size(), 0);
  ASSERT_EQ(literal.tuple().size(), 1u);
  EXPECT_EQ(Literal::Decode(literal.tuple()[0]).AsInt(1), 'b');
}

}  // namespace
}  // namespace eightfold::hlo
