// The expectations are what plugins 0.9.2 to 0.12.0.1 made of the same convolutions.
#include "rewrite/conv_kind.h"

#include <fmt/format.h>

#include "modules.h"

namespace eightfold::rewrite {
namespace {

// The kind of the convolution `input` * `filter` -> `output`, f32 types without the f32, where
// `filter_op` makes the filter from a parameter of type `source` (empty: its own).
ConvDecision Decide(std::string_view input, std::string_view filter, std::string_view output,
                    std::string_view attributes, std::string_view filter_op = "copy(p)",
                    std::string_view source = "") {
  auto module = Parse(fmt::format(R"(HloModule m
ENTRY main {{
  x = f32{0} parameter(0)
  p = f32{5} parameter(1)
  w = f32{1} {4}
  ROOT c = f32{2} convolution(x, w), {3}
}}
)",
                                  input, filter, output, attributes, filter_op,
                                  source.empty() ? filter : source));
  return DecideKind(*module->entry->root);
}

constexpr std::string_view kReversed = "reverse(p), dimensions={0,1}";

TEST(ConvKindTest, OrdinaryConvolutionsAreForward) {
  EXPECT_EQ(Decide("[4,8,8,16]", "[3,3,16,32]", "[4,8,8,32]",
                   "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,8,8,16]", "[3,3,16,32]", "[4,4,4,32]",
                   "window={size=3x3 pad=1_1x1_1 stride=2x2}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(
      Decide("[4,9,8]", "[3,8,8]", "[4,7,8]", "window={size=3}, dim_labels=b0f_0io->b0f").kind,
      ConvKind::kForward);
}

TEST(ConvKindTest, KernelsLargerThanTheirOutputAreFilterGradients) {
  ConvDecision decision = Decide("[4,8,8,16]", "[6,6,16,32]", "[4,3,3,32]",
                                 "window={size=6x6}, dim_labels=b01f_01io->b01f");
  EXPECT_EQ(decision.kind, ConvKind::kBackwardFilter);
  EXPECT_FALSE(decision.why.empty());
  // One small dimension is enough for forward …
  EXPECT_EQ(Decide("[4,8,8,16]", "[6,2,16,32]", "[4,3,7,32]",
                   "window={size=6x2}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  // … and so are strides, groups and cropping.
  EXPECT_EQ(Decide("[4,9,9,16]", "[6,6,16,32]", "[4,2,2,32]",
                   "window={size=6x6 stride=2x2}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,8,8,16]", "[6,6,8,32]", "[4,3,3,32]",
                   "window={size=6x6}, dim_labels=b01f_01io->b01f, feature_group_count=2")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,9,9,16]", "[6,6,16,32]", "[4,3,3,32]",
                   "window={size=6x6 pad=-1_0x-1_0}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
}

TEST(ConvKindTest, DilatedConvolutionsThatLookForwardAreForward) {
  EXPECT_EQ(Decide("[4,16,16,16]", "[3,3,16,32]", "[4,12,12,32]",
                   "window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,14,14,16]", "[6,6,16,32]", "[4,4,4,32]",
                   "window={size=6x6 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kBackwardFilter);
}

TEST(ConvKindTest, ReversedFiltersAreInputGradients) {
  constexpr std::string_view kSame = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01oi->b01f";
  EXPECT_EQ(Decide("[4,8,8,32]", "[3,3,16,32]", "[4,8,8,16]", kSame, kReversed).kind,
            ConvKind::kBackwardInput);
  // Not all spatial dimensions, or more than those.
  EXPECT_EQ(
      Decide("[4,8,8,32]", "[3,3,16,32]", "[4,8,8,16]", kSame, "reverse(p), dimensions={0}").kind,
      ConvKind::kForward);
  // Before backward filter: this is both.
  EXPECT_EQ(Decide("[4,8,8,16]", "[6,6,16,32]", "[4,3,3,32]",
                   "window={size=6x6}, dim_labels=b01f_01io->b01f", kReversed)
                .kind,
            ConvKind::kBackwardInput);
  EXPECT_EQ(Decide("[4,9,9,32]", "[3,3,16,32]", "[4,4,4,16]",
                   "window={size=3x3 stride=2x2}, dim_labels=b01f_01oi->b01f", kReversed)
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,9,9,32]", "[3,3,16,32]", "[4,5,5,16]",
                   "window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01oi->b01f", kReversed)
                .kind,
            ConvKind::kForward);
}

TEST(ConvKindTest, PaddingThatTheGradientCannotHaveIsForward) {
  // Low padding beyond the filter would be negative for the gradient.
  EXPECT_EQ(Decide("[4,8,8,32]", "[3,3,16,32]", "[4,12,12,16]",
                   "window={size=3x3 pad=3_3x3_3}, dim_labels=b01f_01oi->b01f", kReversed)
                .kind,
            ConvKind::kForward);
}

TEST(ConvKindTest, BaseDilationWithSmallOrConstantFiltersIsAnInputGradient) {
  constexpr std::string_view kOne = "window={size=1x1 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f";
  EXPECT_EQ(Decide("[4,8,8,16]", "[1,1,16,32]", "[4,15,15,32]", kOne).kind,
            ConvKind::kBackwardInput);
  constexpr std::string_view kTwo = "window={size=1x2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f";
  EXPECT_EQ(Decide("[1,8,8,1]", "[1,2,1,1]", "[1,15,14,1]", kTwo).kind, ConvKind::kForward);
  EXPECT_EQ(Decide("[1,8,8,1]", "[1,2,1,1]", "[1,15,14,1]", kTwo, "constant({{{{1}},{{2}}}})").kind,
            ConvKind::kBackwardInput);
}

TEST(ConvKindTest, OneDimensionalFiltersMadeTwoDimensionalStillCount) {
  constexpr std::string_view kSame = "window={size=1x3 pad=0_0x1_1}, dim_labels=b01f_01io->b01f";
  EXPECT_EQ(
      Decide("[4,1,8,16]", "[1,3,16,32]", "[4,1,8,32]", kSame, "reshape(p)", "[3,16,32]").kind,
      ConvKind::kForward);
  // One small dimension of two: the one that the reshape put in.
  EXPECT_EQ(Decide("[4,1,8,16]", "[1,6,16,32]", "[4,1,3,32]",
                   "window={size=1x6}, dim_labels=b01f_01io->b01f", "reshape(p)", "[6,16,32]")
                .kind,
            ConvKind::kBackwardFilter);
  EXPECT_EQ(Decide("[4,1,8,16]", "[1,6,16,32]", "[4,1,3,32]",
                   "window={size=1x6}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
}

TEST(ConvKindTest, WhatCudnnDoesNotTake) {
  EXPECT_EQ(Decide("[4,8,8,16]", "[3,3,16,32]", "[4,6,6,32]",
                   "window={size=3x3 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kNone);
  EXPECT_EQ(Decide("[4,8,8,16]", "[3,3,16,32]", "[4,6,6,32]",
                   "window={size=3x3 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kForward);
  EXPECT_EQ(Decide("[4,8,16]", "[3,16,32]", "[4,6,32]",
                   "window={size=3 rhs_reversal=1}, dim_labels=b0f_0io->b0f")
                .kind,
            ConvKind::kNone);
  EXPECT_EQ(Decide("[0,8,8,16]", "[3,3,16,32]", "[0,6,6,32]",
                   "window={size=3x3}, dim_labels=b01f_01io->b01f")
                .kind,
            ConvKind::kNone);
  EXPECT_EQ(Decide("[1,4,4,4,4,2]", "[2,2,2,2,2,2]", "[1,3,3,3,3,2]",
                   "window={size=2x2x2x2}, dim_labels=b0123f_0123io->b0123f")
                .kind,
            ConvKind::kNone);
}

}  // namespace
}  // namespace eightfold::rewrite
