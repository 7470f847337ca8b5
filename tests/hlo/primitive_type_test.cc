#include "hlo/primitive_type.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace eightfold::hlo {
namespace {

constexpr std::string_view kArrayTypes[] = {
    "pred",     "s1",         "s2",       "s4",         "s8",        "s16",    "s32",
    "s64",      "u1",         "u2",       "u4",         "u8",        "u16",    "u32",
    "u64",      "f4e2m1fn",   "f6e2m3fn", "f6e3m2fn",   "f8e3m4",    "f8e4m3", "f8e4m3b11fnuz",
    "f8e4m3fn", "f8e4m3fnuz", "f8e5m2",   "f8e5m2fnuz", "f8e8m0fnu", "bf16",   "f16",
    "f32",      "f64",        "c64",      "c128"};

TEST(PrimitiveTypeTest, EveryArrayTypeOfXlaIsThereWithTheBitsItsNameSays) {
  std::set<int> numbers;
  for (std::string_view name : kArrayTypes) {
    auto type = FindPrimitiveType(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(Name(*type), name);
    EXPECT_TRUE(IsArray(*type)) << name;
    EXPECT_GT(LiteralField(*type), 0) << name;
    numbers.insert(static_cast<int>(*type));
    size_t digits = name.find_first_of("0123456789");
    int bits = name == "pred" ? 8 : std::stoi(std::string(name.substr(digits)));
    EXPECT_EQ(BitWidth(*type), bits) << name;
  }
  EXPECT_EQ(numbers.size(), std::size(kArrayTypes));
}

TEST(PrimitiveTypeTest, EachLiteralFieldBelongsToOneType) {
  std::set<int> fields;
  for (std::string_view name : kArrayTypes) {
    EXPECT_TRUE(fields.insert(LiteralField(*FindPrimitiveType(name))).second) << name;
  }
}

TEST(PrimitiveTypeTest, KindsAreDisjoint) {
  for (std::string_view name : kArrayTypes) {
    PrimitiveType type = *FindPrimitiveType(name);
    int kinds = IsFloating(type) + IsSigned(type) + IsUnsigned(type) + IsComplex(type) +
                (type == PrimitiveType::kPred);
    EXPECT_EQ(kinds, 1) << name;
    EXPECT_EQ(IsF8(type), name.starts_with("f8")) << name;
  }
  for (PrimitiveType type : {PrimitiveType::kTuple, PrimitiveType::kToken, PrimitiveType::kOpaque,
                             PrimitiveType::kBuffer, PrimitiveType::kInvalid}) {
    EXPECT_FALSE(IsArray(type)) << Name(type);
  }
}

TEST(PrimitiveTypeTest, SpellingsAreCaseSensitive) {
  EXPECT_EQ(FindPrimitiveType("F32"), std::nullopt);
  EXPECT_EQ(FindPrimitiveType("f33"), std::nullopt);
  EXPECT_EQ(FindPrimitiveType(""), std::nullopt);
}

}  // namespace
}  // namespace eightfold::hlo
