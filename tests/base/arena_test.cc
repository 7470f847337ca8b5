#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace eightfold {
namespace {

TEST(ArenaTest, AllocationsAreAlignedAndDoNotOverlap) {
  Arena arena;
  std::vector<std::pair<unsigned char*, size_t>> made;
  for (size_t i = 0; i < 20'000; ++i) {
    size_t bytes = 1 + i % 97;
    size_t align = size_t{1} << (i % 5);
    auto* at = static_cast<unsigned char*>(arena.Allocate(bytes, align));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % align, 0);
    std::memset(at, static_cast<int>(i % 251), bytes);
    made.emplace_back(at, bytes);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    for (size_t j = 0; j < made[i].second; ++j) ASSERT_EQ(made[i].first[j], i % 251);
  }
}

TEST(ArenaTest, AnAllocationLargerThanABlockGetsItsOwn) {
  Arena arena;
  int* before = arena.New<int>(7);
  auto big = arena.NewArray<char>(10 << 20);
  int* after = arena.New<int>(8);
  big.front() = big.back() = 'x';
  EXPECT_EQ(*before, 7);
  EXPECT_EQ(*after, 8);
  EXPECT_GE(arena.footprint(), size_t{10} << 20);
}

TEST(ArenaTest, SmallThingsDoNotCostABlockEach) {
  Arena arena;
  for (int i = 0; i < 1000; ++i) arena.New<int64_t>(i);
  EXPECT_LT(arena.footprint(), 64 << 10);
}

TEST(ArenaTest, ArraysAreZeroed) {
  Arena arena;
  for (int i = 0; i < 100; ++i) {
    for (int value : arena.NewArray<int>(1000)) ASSERT_EQ(value, 0);
  }
  EXPECT_TRUE(arena.NewArray<int>(0).empty());
}

TEST(ArenaTest, CopiesAreIndependent) {
  Arena arena;
  std::string text = "hello";
  std::string_view copy = arena.Copy(text);
  text[0] = 'j';
  EXPECT_EQ(copy, "hello");
  std::vector<int> numbers = {1, 2, 3};
  auto span = arena.Copy(numbers);
  numbers[0] = 9;
  EXPECT_EQ(span[0], 1);
  EXPECT_TRUE(arena.Copy(std::string_view()).empty());
}

}  // namespace
}  // namespace eightfold
