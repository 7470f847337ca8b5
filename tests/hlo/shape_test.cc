#include "hlo/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace eightfold::hlo {
namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS4 = PrimitiveType::kS4;

class ShapeTest : public ::testing::Test {
 protected:
  const Shape* Array(PrimitiveType type, std::vector<int64_t> dims) {
    return shapes_.Array(type, dims);
  }
  const Shape* Laid(PrimitiveType type, std::vector<int64_t> dims, std::vector<int64_t> order,
                    std::string_view extra = {}) {
    return shapes_.Intern(Shape{.type = type,
                                .has_layout = true,
                                .dims = dims,
                                .minor_to_major = order,
                                .layout_extra = extra});
  }
  const Shape* Tuple(std::vector<const Shape*> elements) { return shapes_.Tuple(elements); }

  Arena arena_;
  ShapeTable shapes_{arena_};
};

TEST_F(ShapeTest, EqualShapesHaveOneAddress) {
  EXPECT_EQ(Array(kF32, {2, 3}), Array(kF32, {2, 3}));
  EXPECT_EQ(Tuple({Array(kF32, {2}), Array(kF32, {})}), Tuple({Array(kF32, {2}), Array(kF32, {})}));
  size_t before = shapes_.size();
  Array(kF32, {2, 3});
  EXPECT_EQ(shapes_.size(), before);
}

TEST_F(ShapeTest, ShapesThatDifferAnywhereHaveDifferentAddresses) {
  const Shape* base = Laid(kF32, {2, 3}, {1, 0});
  EXPECT_NE(base, Laid(kF32, {2, 3}, {0, 1}));
  EXPECT_NE(base, Laid(kF32, {3, 2}, {1, 0}));
  EXPECT_NE(base, Laid(PrimitiveType::kS32, {2, 3}, {1, 0}));
  EXPECT_NE(base, Laid(kF32, {2, 3}, {1, 0}, "tiles"));
  EXPECT_NE(base, Array(kF32, {2, 3}));
  const bool dynamic[] = {false, true};
  const int64_t dims[] = {2, 3};
  EXPECT_NE(Array(kF32, {2, 3}),
            shapes_.Intern(Shape{.type = kF32, .dims = dims, .dynamic = dynamic}));
}

TEST_F(ShapeTest, InternedShapesOwnTheirSpans) {
  std::vector<int64_t> dims = {4, 5};
  const Shape* shape = shapes_.Array(kF32, dims);
  dims[0] = 99;
  EXPECT_EQ(shape->dims[0], 4);
}

TEST_F(ShapeTest, BareIsTheSameForEveryLayout) {
  const Shape* plain = Array(kF32, {2, 3});
  EXPECT_EQ(plain->bare, plain);
  EXPECT_EQ(Laid(kF32, {2, 3}, {1, 0})->bare, plain);
  EXPECT_EQ(Laid(kF32, {2, 3}, {0, 1}, "tiles")->bare, plain);
  EXPECT_EQ(Tuple({Laid(kF32, {2, 3}, {0, 1})})->bare, Tuple({plain}));
  EXPECT_EQ(Tuple({Tuple({Laid(kF32, {2, 3}, {0, 1})})})->bare, Tuple({Tuple({plain})}));
  EXPECT_NE(Laid(kF32, {3, 2}, {1, 0})->bare, plain);
}

TEST_F(ShapeTest, DefaultLayoutIsRowMajor) {
  const int64_t dims[] = {7, 8, 9};
  EXPECT_EQ(shapes_.ArrayWithDefaultLayout(kF32, dims), Laid(kF32, {7, 8, 9}, {2, 1, 0}));
}

TEST_F(ShapeTest, ElementCountStopsAtSixtyFourBits) {
  EXPECT_EQ(ElementCount(*Array(kF32, {})), 1);
  EXPECT_EQ(ElementCount(*Array(kF32, {8, 0, 3})), 0);
  EXPECT_EQ(ElementCount(*Array(kF32, {1 << 20, 1 << 20})), int64_t{1} << 40);
  EXPECT_EQ(ElementCount(*Array(kF32, {INT64_MAX})), INT64_MAX);
  EXPECT_EQ(ElementCount(*Array(kF32, {INT64_MAX, 2})), -1);
  EXPECT_EQ(ElementCount(*Array(kF32, {int64_t{1} << 32, int64_t{1} << 32})), -1);
  EXPECT_EQ(ElementCount(*Array(kF32, {kUnbounded, 2})), -1);
}

TEST_F(ShapeTest, ByteSizeAddsLeavesAndPacksSmallTypes) {
  EXPECT_EQ(ByteSize(*Array(kF32, {2, 3})), 24);
  EXPECT_EQ(ByteSize(*Array(kS4, {3})), 2);
  EXPECT_EQ(ByteSize(*Tuple({Array(kF32, {2}), Tuple({Array(PrimitiveType::kF8E4M3FN, {5})})})),
            13);
  EXPECT_EQ(ByteSize(*Array(kF32, {INT64_MAX})), -1);
  EXPECT_EQ(ByteSize(*shapes_.Intern(Shape{.type = PrimitiveType::kToken})), 0);
}

TEST_F(ShapeTest, ImportMakesTheSameShapeInAnotherTable) {
  const Shape* tuple = Tuple({Laid(kF32, {2, 3}, {0, 1}), Tuple({Array(kS4, {7})})});
  Arena arena;
  ShapeTable other(arena);
  const Shape* imported = other.Import(*tuple);
  EXPECT_NE(imported, tuple);
  EXPECT_EQ(ToString(*imported), "(f32[2,3]{0,1}, (s4[7]))");
  EXPECT_EQ(other.Import(*tuple), imported);
  EXPECT_EQ(imported->tuple[0]->bare, other.Array(kF32, std::vector<int64_t>{2, 3}));
}

TEST_F(ShapeTest, ImportOfADeepTupleIsALoop) {
  const Shape* shape = Array(kF32, {});
  for (int i = 0; i < 100'000; ++i) shape = Tuple({shape});
  Arena arena;
  ShapeTable other(arena);
  int depth = 0;
  for (const Shape* at = other.Import(*shape); at->IsTuple(); at = at->tuple[0]) ++depth;
  EXPECT_EQ(depth, 100'000);
}

TEST_F(ShapeTest, TextIsXlas) {
  EXPECT_EQ(ToString(*Laid(kF32, {8, 64}, {1, 0})), "f32[8,64]{1,0}");
  EXPECT_EQ(ToString(*Laid(kF32, {8, 64}, {1, 0}), false), "f32[8,64]");
  EXPECT_EQ(ToString(*Tuple({Array(kF32, {}), Laid(PrimitiveType::kS32, {2}, {0})})),
            "(f32[], s32[2]{0})");
  const bool dynamic[] = {true, false};
  const int64_t dims[] = {5, 6};
  EXPECT_EQ(ToString(*shapes_.Intern(Shape{.type = kF32, .dims = dims, .dynamic = dynamic})),
            "f32[<=5,6]");
}

}  // namespace
}  // namespace eightfold::hlo
