#include "rewrite/conv_graph.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/source.h"
#include "hlo/proto/proto.h"
#include "modules.h"

namespace eightfold::rewrite {
namespace {

// --- Operands. ---

using Expected = std::pair<std::string, std::string>;
// The graph and operands of the convolution of `input` and `filter`, added to t.
Expected GraphOf(std::string_view body, std::string_view conv) {
  auto module = Parse(WithPrelude(
      fmt::format("{}  c = $T convolution({}), CONV\n  ROOT y = $T add(c, t)\n", body, conv)));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_EQ(result.rewritten.size(), 1u);
  return {Graph(GraphCall(*module)), Operands(GraphCall(*module))};
}

constexpr std::string_view kScales =
    "  ba = $T broadcast(a), dimensions={}\n  bb = f32[3,3,16,16] broadcast(b), dimensions={}\n";

TEST(ConvGraphOperandsTest, ConvertedAndBare) {
  Expected expected = {"1:[f32]conv();2:[f32]add(1);", "x w t"};
  EXPECT_EQ(GraphOf("", "cx, cw"), expected);
  EXPECT_EQ(GraphOf("", "x, w"), expected);
  EXPECT_EQ(GraphOf("  bw = bf16[3,3,16,16] convert(w)\n", "cx, bw"), expected);
}

TEST(ConvGraphOperandsTest, ScalesMoveBehindTheConvolutionTheInputsFirst) {
  std::string scales(kScales);
  EXPECT_EQ(GraphOf(scales + "  sx = $T multiply(cx, ba)\n  sw = f32[3,3,16,16] divide(cw, bb)\n",
                    "sx, sw"),
            Expected("1:[f32]conv();2:[f32]scale(1);3:[f32]invscale(2);"
                     "4:[f32]add(3);",
                     "x w a b t"));
  EXPECT_EQ(GraphOf(scales + "  sw = f32[3,3,16,16] multiply(bb, cw)\n", "cx, sw"),
            Expected("1:[f32]conv();2:[f32]scale(1);3:[f32]add(2);", "x w b t"));
  EXPECT_EQ(GraphOf(scales + "  sx = $T divide(cx, ba)\n", "sx, w"),
            Expected("1:[f32]conv();2:[f32]invscale(1);3:[f32]add(2);", "x w a t"));
}

TEST(ConvGraphOperandsTest, ScaledWithoutAnythingBehind) {
  auto module =
      Parse(WithPrelude(std::string(kScales) + "  sx = $T multiply(cx, ba)\n"
                                               "  ROOT c = $T convolution(sx, cw), CONV\n"));
  Rewrite(*module);
  EXPECT_EQ(Graph(GraphCall(*module)), "1:[f32]conv();2:[f32]scale(1);");
  EXPECT_EQ(Count(*module, " multiply("), 0);
  EXPECT_EQ(module->entry->root->opcode, hlo::Opcode::kGetTupleElement);
}

struct Missed {
  std::string_view body, conv, at, condition;
};
class ConvGraphMissTest : public testing::TestWithParam<Missed> {};

TEST_P(ConvGraphMissTest, IsLeftAsItIsWithTheReason) {
  const Missed& param = GetParam();
  auto module = Parse(
      WithPrelude(fmt::format("{}  ROOT c = $T convolution({}), CONV\n", param.body, param.conv)));
  std::string before = Print(*module);
  std::vector<const hlo::Instruction*> instructions(module->entry->instructions.begin(),
                                                    module->entry->instructions.end());
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(std::ranges::equal(instructions, module->entry->instructions));
  EXPECT_EQ(Print(*module), before);
  ASSERT_EQ(result.near_misses.size(), 1u);
  const NearMiss& miss = result.near_misses[0];
  EXPECT_EQ(miss.computation, "main");
  EXPECT_EQ(miss.convolution, "c");
  EXPECT_EQ(miss.instruction, param.at);
  EXPECT_EQ(miss.condition, param.condition);
  EXPECT_TRUE(miss.left_alone);
  EXPECT_FALSE(miss.no_plan || miss.hidden);
}

INSTANTIATE_TEST_SUITE_P(
    Operands, ConvGraphMissTest,
    testing::Values(
        Missed{"", "t, cw", "t", "the input is not made from FP8 values: f32[2,6,6,16]"},
        Missed{"  v = f32[3,3,16,16] parameter(6)\n", "x, v", "v",
               "the filter is not made from FP8 values: f32[3,3,16,16]"},
        Missed{"  v = f32[3,3,16,16] constant({...})\n", "x, v", "v",
               "the filter is a constant in f32: of FP8 constants XLA computes the conversion when "
               "it compiles, but not of arguments"},
        Missed{"  rev = $T reverse(cx), dimensions={1}\n", "rev, cw", "rev",
               "a reverse stands between the f8e4m3fn values of the input and the convolution"},
        Missed{"  v = f32[16] parameter(6)\n  bv = $T broadcast(v), dimensions={3}\n"
               "  mul = $T multiply(cx, bv)\n",
               "mul, cw", "mul",
               "the input is scaled by something else than one scalar: only those can move behind "
               "the convolution"},
        Missed{"  bx = bf16[2,6,6,16] convert(x)\n  fx = $T convert(bx)\n", "fx, cw", "fx",
               "the input is converted from f8e4m3fn in steps: only one conversion is seen "
               "through"},
        Missed{"  o = f32[3,3,16,16] opt-barrier(cw)\n", "cx, o", "o",
               "the filter is behind an optimization barrier"},
        Missed{"  rev = f32[3,3,16,16] reverse(cw), dimensions={0,1}\n", "cx, rev", "rev",
               "a reverse stands between the f8e4m3fn values of the filter and the convolution"}));

TEST(ConvGraphTest, ConvolutionsOnOtherTypesAreNoNearMisses) {
  auto module = Parse(
      WithPrelude("  v = f32[3,3,16,16] parameter(6)\n  ROOT c = $T convolution(t, v), CONV\n"));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.near_misses.empty());
}

TEST(ConvGraphTest, GradientsAreLeftAsTheyAre) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3fn[4,8,8,16] parameter(0)
  w = f8e4m3fn[6,6,16,32] parameter(1)
  ROOT c = f32[4,3,3,32] convolution(x, w), window={size=6x6}, dim_labels=b01f_01io->b01f
}
)");
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition,
            "XLA takes it for the gradient of a convolution's filter");
}

TEST(ConvGraphTest, ConvolutionsWithoutElementsAreLeftAsTheyAre) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3fn[0,8,8,16] parameter(0)
  w = f8e4m3fn[3,3,16,32] parameter(1)
  ROOT c = f32[0,6,6,32] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
}
)");
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "an operand has no elements");
}

TEST(ConvGraphTest, ConvolutionsThatControlDependenciesHoldStay) {
  auto module = Parse(WithPrelude(
      "  c = $T convolution(x, w), CONV, control-predecessors={t}\n  ROOT y = $T add(c, t)\n"));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "it has control dependencies");
}

// What they hold would stay behind, and be computed once more.
TEST(ConvGraphTest, RootsThatControlDependenciesHoldStay) {
  auto module =
      Parse(WithPrelude("  ROOT c = $T convolution(x, w), CONV, control-predecessors={t}\n"));
  EXPECT_FALSE(Rewrite(*module).changed);
  module = Parse(WithPrelude(
      "  c = $T convolution(x, w), CONV\n  ROOT y = $T add(c, t), control-predecessors={cx}\n"));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 1u);
  EXPECT_TRUE(result.rewritten[0].ops.empty());
  EXPECT_EQ(Count(*module, " convolution("), 0);
}

TEST(ConvGraphTest, DynamicConvolutionsAreLeftAsTheyAre) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3fn[<=2,8,8,16] parameter(0)
  w = f8e4m3fn[3,3,16,32] parameter(1)
  ROOT c = f32[<=2,6,6,32] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
}
)");
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition,
            "one of its dimensions is dynamic, which no call's can be");
}

// XLA crashes over a call without a window, and text leaves out the one of a convolution.
TEST(ConvGraphTest, CallsOverNoDimensionsHaveAWindow) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  x = f8e4m3fn[4,16] parameter(0)
  w = f8e4m3fn[16,32] parameter(1)
  ROOT c = f32[4,32] convolution(x, w), dim_labels=bf_io->bf
}
)");
  ASSERT_EQ(Rewrite(*module).rewritten.size(), 1u);
  EXPECT_NE(GraphCall(*module)->Find(hlo::Field::kWindow), nullptr);
  std::string text = Print(*module);
  EXPECT_NE(text.find(" custom-call(%x, %w), window={}, dim_labels=bf_io->bf, "),
            std::string::npos);
  EXPECT_EQ(Print(*Parse(text)), text);
}

// --- What the GPU and its libraries must be. ---

struct Support {
  std::array<int, 2> gpu;
  std::array<int, 3> cudnn;
  std::array<int, 2> cuda;
  std::string_view condition;  // "" where it is rewritten
};

TEST(ConvGraphTest, NeedsHopperOrAdaWithCudnn98) {
  constexpr Support kRows[] = {
      {{9, 0}, {9, 1, 0}, {12, 0}, ""},
      {{12, 0}, {}, {}, ""},
      {{8, 9}, {9, 8, 0}, {12, 8}, ""},
      {{8, 9},
       {9, 7, 9},
       {12, 8},
       "FP8 convolutions need cuDNN 9.8 on compute capability 8.9, and this is 9.7"},
      {{8, 9},
       {},
       {12, 8},
       "FP8 convolutions need cuDNN 9.8 on compute capability 8.9, and which one there is was not "
       "said"},
      {{8, 0},
       {9, 10, 0},
       {12, 8},
       "FP8 convolutions need compute capability 8.9, and this is 8.0"},
      {{9, 0}, {9, 10, 0}, {11, 8}, "FP8 convolutions need CUDA 12, and this is 11.8"},
  };
  for (const Support& row : kRows) {
    SCOPED_TRACE(row.condition);
    auto module = Parse(WithPrelude("  ROOT c = $T convolution(cx, cw), CONV\n"));
    ConvGraphOptions options = Options();
    options.compute_capability = row.gpu;
    options.cudnn_version = row.cudnn;
    options.cuda_version = row.cuda;
    ConvGraphResult result = Rewrite(*module, options);
    EXPECT_EQ(result.changed, row.condition.empty());
    if (row.condition.empty()) continue;
    ASSERT_EQ(result.near_misses.size(), 1u);
    EXPECT_EQ(result.near_misses[0].condition, row.condition);
  }
}

// --- The call. ---

TEST(ConvGraphTest, TheCallKeepsWhatTheConvolutionHas) {
  auto module = Parse(WithPrelude(
      "  ROOT c = $T convolution(cx, cw), window={size=3x3 pad=1_1x1_1}, "
      "dim_labels=b01f_01io->b01f, operand_precision={high,high}, metadata={op_name=\"net/c\"}\n"));
  Rewrite(*module);
  EXPECT_EQ(Count(*module,
                  "%cudnn-conv = (f32[2,6,6,16]{3,2,1,0}, u8[0]{0}) custom-call(%x, %w), "
                  "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
                  "operand_precision={high,high}, custom_call_target=\"__cudnn$convForwardGraph\", "
                  "metadata={op_name=\"net/c\"}, backend_config="),
            1)
      << Print(*module);
  auto config = nlohmann::json::parse(GraphCall(*module)->backend_config);
  // What 0.10.2 and 0.12.0.1 write.
  EXPECT_EQ(config, nlohmann::json::parse(R"({"operation_queue_id":"0",
      "cudnn_conv_backend_config":{"activation_mode":"kNone","conv_result_scale":1,
      "side_input_scale":0,"leakyrelu_alpha":0,"serialized_graph":"1:[f32]conv();"},
      "force_earliest_schedule":false,"reification_cost":[],
      "device_type":"DEVICE_TYPE_INVALID"})"));
  EXPECT_EQ(hlo::ToString(*module->entry->root->shape, false), "f32[2,6,6,16]");
}

TEST(ConvGraphTest, EveryDimensionAndForm) {
  struct Form {
    std::string_view input, filter, output, attributes;
  };
  constexpr Form kForms[] = {
      {"[4,9,16]", "[3,16,16]", "[4,7,16]", "window={size=3}, dim_labels=b0f_0io->b0f"},
      {"[2,6,6,6,16]", "[3,3,3,16,32]", "[2,4,4,4,32]",
       "window={size=3x3x3}, dim_labels=b012f_012io->b012f"},
      {"[2,16,6,6]", "[32,16,3,3]", "[2,32,4,4]", "window={size=3x3}, dim_labels=bf01_oi01->bf01"},
      {"[2,7,7,16]", "[3,3,16,32]", "[2,3,3,32]",
       "window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f"},
      {"[2,9,9,16]", "[3,3,16,32]", "[2,5,5,32]",
       "window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
      {"[2,6,6,32]", "[3,3,16,64]", "[2,4,4,64]",
       "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2"},
      {"[2,6,6,16]", "[3,3,16,32]", "[2,4,4,32]",
       "window={size=3x3 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f"},
  };
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.attributes);
    auto module = Parse(fmt::format(R"(HloModule m
ENTRY main {{
  x = f8e5m2{0} parameter(0)
  w = f8e4m3fn{1} parameter(1)
  cx = bf16{0} convert(x)
  cw = bf16{1} convert(w)
  ROOT c = bf16{2} convolution(cx, cw), {3}
}}
)",
                                    form.input, form.filter, form.output, form.attributes));
    EXPECT_EQ(Rewrite(*module).rewritten.size(), 1u);
    EXPECT_EQ(Graph(GraphCall(*module)), "1:[bf16]conv();");
    EXPECT_EQ(Count(*module, form.attributes), 1) << Print(*module);
  }
}

TEST(ConvGraphTest, ValuesThatServeSomethingElseStay) {
  auto module = Parse(WithPrelude(
      "  c = $T convolution(cx, cw), CONV\n  d = $T tanh(cx)\n  ROOT y = ($T, $T) tuple(c, d)\n"));
  Rewrite(*module);
  EXPECT_EQ(Count(*module, " convert(%x)"), 1);
  EXPECT_EQ(Count(*module, " convert(%w)"), 0);
}

// --- More than one. ---

TEST(ConvGraphTest, ConvolutionsBehindOneAnotherAndSideBySide) {
  auto module =
      Parse(WithPrelude("  c = $T convolution(cx, cw), CONV\n  d = $T clamp(lo, c, hi)\n"
                        "  q = f8e4m3fn[2,6,6,16] convert(d)\n  cq = $T convert(q)\n"
                        "  e = $T convolution(cq, cw), CONV\n  f = $T convolution(x, w), CONV\n"
                        "  ROOT y = $T add(e, f)\n"));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 3u);
  EXPECT_EQ(result.rewritten[0].ops, std::vector<std::string>{"f8e4m3fn"});
  EXPECT_EQ(result.rewritten[1].ops, std::vector<std::string>{"add"});
  EXPECT_EQ(result.rewritten[2].ops, std::vector<std::string>{});
  EXPECT_EQ(Count(*module, " convolution("), 0);
}

constexpr std::string_view kConditional = R"(HloModule m

yes {
  p = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) parameter(0)
  x = f8e4m3fn[2,6,6,16] get-tuple-element(p), index=0
  w = f8e4m3fn[3,3,16,16] get-tuple-element(p), index=1
  cx = f32[2,6,6,16] convert(x)
  cw = f32[3,3,16,16] convert(w)
  ROOT c = f32[2,6,6,16] convolution(cx, cw), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}

no {
  p2 = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) parameter(0)
  x2 = f8e4m3fn[2,6,6,16] get-tuple-element(p2), index=0
  w2 = f8e4m3fn[3,3,16,16] get-tuple-element(p2), index=1
  c2 = f32[2,6,6,16] convolution(x2, w2), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r2 = f32[2,6,6,16] negate(c2)
}

fused {
  x3 = f8e4m3fn[2,6,6,16] parameter(0)
  w3 = f8e4m3fn[3,3,16,16] parameter(1)
  ROOT c3 = f32[2,6,6,16] convolution(x3, w3), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}

ENTRY main {
  which = pred[] parameter(0)
  x4 = f8e4m3fn[2,6,6,16] parameter(1)
  w4 = f8e4m3fn[3,3,16,16] parameter(2)
  t = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) tuple(x4, w4)
  y = f32[2,6,6,16] conditional(which, t, t), true_computation=yes, false_computation=no
  f = f32[2,6,6,16] fusion(x4, w4), kind=kCustom, calls=fused
  c4 = f32[2,6,6,16] convolution(x4, w4), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  s = f32[2,6,6,16] add(c4, f)
  ROOT z = f32[2,6,6,16] add(s, y)
}
)";

TEST(ConvGraphTest, EveryComputationButFusionsCalleesFirst) {
  auto module = Parse(std::string(kConditional));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 3u);
  EXPECT_EQ(result.rewritten[0].computation, "yes");
  EXPECT_EQ(result.rewritten[1].computation, "no");
  EXPECT_EQ(result.rewritten[2].computation, "main");
  EXPECT_EQ(result.rewritten[2].ops, (std::vector<std::string>{"add", "add"}));
  EXPECT_EQ(Count(*module, " convolution("), 1);  // the fused one
  EXPECT_EQ(Count(*module, "__cudnn$convForwardGraph"), 3);
}

TEST(ConvGraphTest, NotInWhatRunsInsideOfAnInstruction) {
  auto module = Parse(R"(HloModule m

deep {
  x = f8e4m3fn[2,8,8,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  ROOT c = f32[2,6,6,16] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
}

fused {
  x = f8e4m3fn[2,8,8,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  ROOT k = f32[2,6,6,16] call(x, w), to_apply=deep
}

ENTRY main {
  x = f8e4m3fn[2,8,8,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  ROOT f = f32[2,6,6,16] fusion(x, w), kind=kOutput, calls=fused
}
)");
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "its computation runs inside of an instruction");
}

TEST(ConvGraphTest, TwiceIsOnce) {
  auto module = Parse(std::string(kConditional));
  Rewrite(*module);
  std::string once = Print(*module);
  ConvGraphResult again = Rewrite(*module);
  EXPECT_FALSE(again.changed);
  EXPECT_TRUE(again.rewritten.empty());
  EXPECT_EQ(Print(*module), once);
}

TEST(ConvGraphTest, ScheduledModulesAreLeftAsTheyAre) {
  std::string text = WithPrelude("  ROOT c = $T convolution(cx, cw), CONV\n");
  text.replace(0, 12, "HloModule m, is_scheduled=true\n");
  auto module = Parse(text);
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "its computation is scheduled already");
}

// --- After canonicalization. ---

constexpr std::string_view kLegacyCall =
    "  call = ($T, u8[0]) custom-call(sx, cw), CONV, custom_call_target=\"__cudnn$convForward\", "
    "backend_config={\"cudnn_conv_backend_config\":{\"activation_mode\":\"kNone\","
    "\"conv_result_scale\":1},\"later\":[7]}\n  c = $T get-tuple-element(call), index=0\n";

TEST(ConvGraphLegacyTest, TakesLegacyCallsAndKeepsTheirConfig) {
  auto module =
      Parse(WithPrelude("  ba = $T broadcast(a), dimensions={}\n"
                        "  sx = $T divide(cx, ba)\n" +
                        std::string(kLegacyCall) + "  ROOT y = $T add(t, c)\n"));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 1u);
  EXPECT_EQ(result.rewritten[0].convolution, "call");
  const hlo::Instruction* call = GraphCall(*module);
  EXPECT_EQ(Operands(call), "x w a t");
  auto config = nlohmann::json::parse(call->backend_config);
  EXPECT_EQ(config["later"], nlohmann::json::parse("[7]"));
  EXPECT_EQ(config["cudnn_conv_backend_config"]["conv_result_scale"], 1);
  EXPECT_EQ(Graph(call), "1:[f32]conv();2:[f32]invscale(1);3:[f32]add(2);");
  EXPECT_EQ(Count(*module, "__cudnn$convForward\""), 0);
}

TEST(ConvGraphLegacyTest, LeavesCallsThatServeForMoreThanTheirTensor) {
  auto module = Parse(WithPrelude("  sx = $T convert(x)\n" + std::string(kLegacyCall) +
                                  "  d = u8[0] get-tuple-element(call), index=1\n"
                                  "  ROOT y = ($T, u8[0]) tuple(c, d)\n"));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_EQ(result.near_misses[0].condition, "the call is used for more than its tensor");
}

// Unlike a convolution's, a call's dimension numbers are not verified.
TEST(ConvGraphLegacyTest, LeavesCallsThatMakeNoSense) {
  constexpr std::string_view kModule = R"(HloModule m
ENTRY main {{
  x = f8e4m3fn[{0}] parameter(0)
  w = f8e4m3fn[{0}] parameter(1)
  call = (f32[{0}], u8[0]) custom-call(x, w), feature_group_count=2,
      custom_call_target="__cudnn$convForward"{1}
  ROOT c = f32[{0}] get-tuple-element(call), index=0
}}
)";
  constexpr std::string_view kNumbers = ", window={size=3x3}, dim_labels=b01f_01io->b01f";
  const std::pair<std::string_view, std::string_view> kCalls[] = {
      {"", ""}, {"", kNumbers}, {"2,2", kNumbers}, {"2,2,2,2", ""}};
  for (auto [dims, numbers] : kCalls) {
    auto module = Parse(fmt::format(kModule, dims, numbers));
    ConvGraphResult result = Rewrite(*module);
    EXPECT_FALSE(result.changed);
    ASSERT_EQ(result.near_misses.size(), 1u);
    EXPECT_EQ(result.near_misses[0].condition, "its dimension numbers do not fit its operands");
  }
}

TEST(ConvGraphLegacyTest, LeavesOtherCalls) {
  std::string body(kLegacyCall);
  body.replace(body.find("convForward"), 11, "convBackwardInput");
  auto module = Parse(WithPrelude("  sx = $T convert(x)\n" + body + "  ROOT y = $T add(t, c)\n"));
  ConvGraphResult result = Rewrite(*module);
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(result.near_misses.empty());
}

// --- Whole programs, as protos. ---

TEST(ConvGraphProgramTest, ProgramsKeepDistinctIdsAndLoadAgain) {
  for (const char* program : {"repro", "cond", "move", "fp8_gradients", "bias_relu_quantize"}) {
    SCOPED_TRACE(program);
    auto source = Source::Open(fmt::format("{}/programs/{}.pb", EIGHTFOLD_TESTDATA, program));
    ASSERT_TRUE(source);
    auto module = hlo::ReadProto(*source);
    ASSERT_TRUE(module);
    EXPECT_TRUE(Rewrite(**module).changed);
    // The verifier refuses ids that repeat, and so does a writer that keeps them.
    auto bytes = hlo::WriteProto(**module, hlo::ProtoKind::kModule, hlo::IdScheme::kKeep);
    ASSERT_TRUE(bytes) << bytes.error().Format();
    auto again = hlo::ReadProto(Source::FromBytes("again.pb", *bytes));
    ASSERT_TRUE(again);
    EXPECT_TRUE(hlo::Verify(**again));
    EXPECT_EQ(Print(**again), Print(**module));
  }
}

}  // namespace
}  // namespace eightfold::rewrite
