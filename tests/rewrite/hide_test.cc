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

// A convolution of FP8 values in another type: `input` and `filter` are "" for bare ones.
std::string Typed(std::string_view input, std::string_view filter, std::string_view out) {
  auto operand = [](std::string_view name, std::string_view type, std::string_view dims) {
    return type.empty() ? std::string()
                        : fmt::format("  c{0} = {1}{2} convert({0})\n", name, type, dims);
  };
  return fmt::format(R"(HloModule m
ENTRY main {{
  x = f8e4m3fn[2,6,6,16] parameter(0)
  w = f8e5m2[3,3,16,16] parameter(1)
{}{}  ROOT c = {}[2,6,6,16] convolution({}, {}), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
}}
)",
                     operand("x", input, "[2,6,6,16]"), operand("w", filter, "[3,3,16,16]"), out,
                     input.empty() ? "x" : "cx", filter.empty() ? "w" : "cw");
}

// What XLA's own pass makes of such types, seen with 0.10.2 and 0.12.0.1.
enum class Xla { kTakes, kTakesAndCannotDoWithout, kLeaves };
struct OtherType {
  std::string_view input, filter, out;
  Xla xla;
  std::string_view at, why;
};
constexpr OtherType kOtherTypes[] = {
    {"f64", "f64", "f64", Xla::kTakes, "cx",
     "the input is converted to f64, and graph calls add in f32"},
    {"f64", "f64", "f32", Xla::kTakes, "cx",
     "the input is converted to f64, and graph calls add in f32"},
    {"", "f64", "f64", Xla::kTakes, "cw",
     "the filter is converted to f64, and graph calls add in f32"},
    {"", "", "f64", Xla::kTakes, "c", "the result is f64, and graph calls add in f32"},
    {"s32", "s32", "s32", Xla::kTakesAndCannotDoWithout, "cx",
     "the input is converted to s32, which is not a float; hidden from XLA's own rewriter it would "
     "not compile"},
    {"u8", "u8", "u8", Xla::kTakesAndCannotDoWithout, "cx",
     "the input is converted to u8, which is not a float; hidden from XLA's own rewriter it would "
     "not compile"},
    {"f32", "f64", "f64", Xla::kTakes, "cw",
     "the filter is converted to f64, and graph calls add in f32"},
    {"c64", "c64", "c64", Xla::kLeaves, "cx",
     "the input is converted to c64, which is not a float"},
    {"pred", "pred", "pred", Xla::kLeaves, "cx",
     "the input is converted to pred, which is not a float"},
    {"f4e2m1fn", "f32", "f32", Xla::kLeaves, "cx",
     "the input is converted to f4e2m1fn, which graph calls do not have"},
    {"f32", "f32", "f8e4m3fnuz", Xla::kLeaves, "c",
     "the result is f8e4m3fnuz, which graph calls do not have"},
};

// A graph call would not compute what they ask for. XLA can run some without one: they are hidden.
TEST(HideTest, ConvolutionsInOtherTypesThanFloatsOfAtMost32BitsAreNotRewritten) {
  for (const OtherType& row : kOtherTypes) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.input, row.filter, row.out));
    auto module = Parse(Typed(row.input, row.filter, row.out));
    const std::string before = Print(*module);
    ConvGraphResult result = Rewrite(*module);
    const bool is_hidden = row.xla == Xla::kTakes;
    EXPECT_EQ(result.changed, is_hidden);
    EXPECT_TRUE(result.rewritten.empty());
    ASSERT_EQ(result.near_misses.size(), 1u);
    const NearMiss& miss = result.near_misses[0];
    EXPECT_EQ(miss.condition, row.why);
    EXPECT_EQ(miss.instruction, row.at);
    EXPECT_EQ(miss.convolution, "c");
    EXPECT_TRUE(miss.left_alone);
    EXPECT_EQ(miss.hidden, is_hidden);
    EXPECT_FALSE(miss.no_plan);
    EXPECT_EQ(Count(*module, " convolution(%opt-barrier, %opt-barrier.1)"), is_hidden ? 1 : 0);
    if (is_hidden) continue;
    EXPECT_EQ(Print(*module), before);
  }
}

TEST(HideTest, HideOnlyHidesTheSame) {
  for (const OtherType& row : kOtherTypes) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.input, row.filter, row.out));
    auto module = Parse(Typed(row.input, row.filter, row.out));
    ConvGraphResult result = Rewrite(*module, Options(Extent::kHideOnly));
    const bool is_hidden = row.xla == Xla::kTakes;
    EXPECT_EQ(result.changed, is_hidden);
    EXPECT_EQ(result.near_misses.size(), is_hidden ? 1u : 0u);
    EXPECT_EQ(Count(*module, " opt-barrier("), is_hidden ? 2 : 0);
  }
}

TEST(HideTest, AllTakesThoseOtherTypesThatXlaTakes) {
  for (const OtherType& row : kOtherTypes) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.input, row.filter, row.out));
    auto module = Parse(Typed(row.input, row.filter, row.out));
    ConvGraphResult result = Rewrite(*module, Options(Extent::kAll));
    const bool is_taken = row.xla != Xla::kLeaves;
    EXPECT_EQ(result.changed, is_taken);
    EXPECT_EQ(Graph(GraphCall(*module)), is_taken ? fmt::format("1:[{}]conv();", row.out) : "");
    ASSERT_EQ(result.near_misses.size(), is_taken ? 0u : 1u);
    if (is_taken) continue;
    EXPECT_EQ(result.near_misses[0].condition, row.why);
    EXPECT_FALSE(result.near_misses[0].hidden);
  }
}

TEST(HideTest, ConvolutionsInFloatsOfAtMost32BitsAreRewritten) {
  constexpr std::string_view kTypes[][3] = {
      {"f32", "f32", "f32"}, {"bf16", "bf16", "bf16"},     {"f16", "f16", "f16"},
      {"f32", "f32", "f16"}, {"f32", "bf16", "f32"},       {"", "", "bf16"},
      {"", "bf16", "f32"},   {"bf16", "bf16", "f8e4m3fn"}, {"", "", "f8e5m2"},
  };
  for (const auto& [input, filter, out] : kTypes) {
    auto module = Parse(Typed(input, filter, out));
    ConvGraphResult result = Rewrite(*module);
    EXPECT_EQ(result.rewritten.size(), 1u);
    EXPECT_TRUE(result.near_misses.empty()) << result.near_misses[0].condition;
  }
}

// XLA's pass goes on where ours has left it nothing else to take.
TEST(HideTest, OtherTypesBesideWhatIsRewritten) {
  auto module = Parse(WithPrelude(
      "  dx = f64[2,6,6,16] convert(x)\n  dw = f64[3,3,16,16] convert(w)\n"
      "  d = f64[2,6,6,16] convolution(dx, dw), CONV\n  c = $T convolution(cx, cw), CONV\n"
      "  fd = $T convert(d)\n  ROOT y = $T add(c, fd)\n"));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 1u);
  EXPECT_EQ(result.rewritten[0].convolution, "c");
  EXPECT_EQ(Graph(GraphCall(*module)), "1:[f32]conv();2:[f32]add(1);");
  EXPECT_EQ(Operands(GraphCall(*module)), "x w fd");
  EXPECT_EQ(Count(*module, "= f64[2,6,6,16]{3,2,1,0} convolution(%opt-barrier, %opt-barrier.1)"),
            1);
}

TEST(HideTest, NamesCudnnWithoutAVersionWhenItIsNotKnown) {
  auto module = Parse(Grouped(64, 64));
  EXPECT_EQ(MissingPlan(*module->entry->root, hlo::PrimitiveType::kF8E4M3FN,
                        hlo::PrimitiveType::kF8E4M3FN, {}),
            "cuDNN has no plan for 64 groups of 1 input channel");
}

}  // namespace
}  // namespace eightfold::rewrite
