// Convolutions that cuDNN has no plan for are not rewritten, and kept from XLA's own pass.
#include <fmt/format.h>

#include "modules.h"
#include "rewrite/cudnn_plans.h"

namespace eightfold::rewrite {
namespace {

// A convolution of `channels` input channels in `groups` groups.
std::string Grouped(int64_t channels, int64_t groups, std::string_view conv = "cx, cw",
                    std::string_view out = "f32") {
  return fmt::format(R"(HloModule m
ENTRY main {{
  x = f8e4m3fn[2,6,6,{0}] parameter(0)
  w = f8e4m3fn[3,3,{1},{0}] parameter(1)
  cx = f32[2,6,6,{0}] convert(x)
  cw = f32[3,3,{1},{0}] convert(w)
  ROOT c = {4}[2,6,6,{0}] convolution({3}), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f, feature_group_count={2}
}}
)",
                     channels, channels / groups, groups, conv, out);
}

TEST(HideTest, ByInputChannelsPerGroup) {
  struct Row {
    int64_t channels, groups;
    std::string_view why;
  };
  constexpr Row kRows[] = {
      {64, 64, "cuDNN 9.10 has no plan for 64 groups of 1 input channel"},
      {8, 4, "cuDNN 9.10 has no plan for 4 groups of 2 input channels"},
      {6, 2, "cuDNN 9.10 has no plan for 2 groups of 3 input channels"},
      {8, 2, "cuDNN 9.10 has only a fallback plan for 2 groups of 4 input channels"},
      {14, 2, "cuDNN 9.10 has no plan for 2 groups of 7 input channels"},
      {64, 8, "cuDNN 9.10 has only a fallback plan for 8 groups of 8 input channels"},
      {18, 2, ""},
      {32, 2, ""},
      {3, 1, ""},
      {1, 1, ""},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.channels);
    auto module = Parse(Grouped(row.channels, row.groups));
    ConvGraphResult result = Rewrite(*module);
    EXPECT_TRUE(result.changed);
    EXPECT_EQ(result.rewritten.size(), row.why.empty() ? 1u : 0u);
    ASSERT_EQ(result.near_misses.size(), row.why.empty() ? 0u : 1u);
    if (row.why.empty()) continue;
    const NearMiss& miss = result.near_misses[0];
    EXPECT_EQ(miss.condition, row.why);
    EXPECT_EQ(miss.instruction, "c");
    EXPECT_TRUE(miss.left_alone && miss.no_plan && miss.hidden);
    EXPECT_EQ(Count(*module, " opt-barrier("), 2);
    EXPECT_EQ(Count(*module, " convolution(%opt-barrier, %opt-barrier.1)"), 1);
  }
}

TEST(HideTest, AllTakesThemToo) {
  auto module = Parse(Grouped(64, 64));
  ConvGraphResult result = Rewrite(*module, Options(Extent::kAll));
  EXPECT_EQ(result.rewritten.size(), 1u);
  EXPECT_TRUE(result.near_misses.empty());
  EXPECT_EQ(Graph(GraphCall(*module)), "1:[f32]conv();");
}

TEST(HideTest, HideOnlyLeavesTheOthersAlone) {
  auto plain = Parse(Grouped(16, 1));
  std::string before = Print(*plain);
  ConvGraphResult result = Rewrite(*plain, Options(Extent::kHideOnly));
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.rewritten.empty() && result.near_misses.empty());
  EXPECT_EQ(Print(*plain), before);

  auto depthwise = Parse(Grouped(64, 64));
  result = Rewrite(*depthwise, Options(Extent::kHideOnly));
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(Count(*depthwise, " opt-barrier("), 2);
}

TEST(HideTest, BareOperandsAreConvertedAndTheResultConvertedBack) {
  auto module = Parse(Grouped(16, 16, "x, w", "f8e4m3fn"));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(Count(*module, "= f32[2,6,6,16]{3,2,1,0} convolution(%opt-barrier, %opt-barrier.1)"),
            1);
  EXPECT_EQ(Count(*module, "= f8e4m3fn[2,6,6,16]{3,2,1,0} convert(%c)"), 1);
  EXPECT_EQ(module->entry->root->opcode, hlo::Opcode::kConvert);
}

TEST(HideTest, LegacyCallsAreHiddenTheSameWay) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3fn[2,6,6,16] parameter(0)
  w = f8e4m3fn[3,3,1,16] parameter(1)
  cw = bf16[3,3,1,16] convert(w)
  call = (f8e4m3fn[2,6,6,16], u8[0]) custom-call(x, cw), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16, custom_call_target="__cudnn$convForward"
  ROOT c = f8e4m3fn[2,6,6,16] get-tuple-element(call), index=0
}
)");
  ConvGraphResult result = Rewrite(*module);
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(Count(*module, "= bf16[2,6,6,16]{3,2,1,0} convert(%x)"), 1);
  EXPECT_EQ(Count(*module, "= (bf16[2,6,6,16]{3,2,1,0}, u8[0]{0}) custom-call(%opt-barrier, "), 1);
  EXPECT_EQ(Count(*module, "= f8e4m3fn[2,6,6,16]{3,2,1,0} convert(%c)"), 1);
}

TEST(HideTest, HidingTwiceChangesNothing) {
  auto module = Parse(Grouped(64, 64));
  EXPECT_TRUE(Rewrite(*module).changed);
  std::string hidden = Print(*module);
  ConvGraphResult again = Rewrite(*module);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(Print(*module), hidden);
  ASSERT_EQ(again.near_misses.size(), 1u);
  EXPECT_EQ(again.near_misses[0].condition, "the input is behind an optimization barrier");
}

TEST(HideTest, TypesThatNoConvolutionHas) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3b11fnuz[2,6,6,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  cx = f32[2,6,6,16] convert(x)
  cw = f32[3,3,16,16] convert(w)
  ROOT c = f32[2,6,6,16] convolution(cx, cw), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
)");
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "cuDNN 9.10 has no plan for f8e4m3b11fnuz");
}

TEST(HideTest, NamesCudnnWithoutAVersionWhenItIsNotKnown) {
  auto module = Parse(Grouped(64, 64));
  EXPECT_EQ(MissingPlan(*module->entry->root, hlo::PrimitiveType::kF8E4M3FN,
                        hlo::PrimitiveType::kF8E4M3FN, {}),
            "cuDNN has no plan for 64 groups of 1 input channel");
}

}  // namespace
}  // namespace eightfold::rewrite
