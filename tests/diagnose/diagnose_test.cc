#include "diagnose/diagnose.h"

#include <gmock/gmock.h>

#include "diagnose/rules.h"
#include "modules.h"

namespace eightfold::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The findings of a kernel that asked for `asked` × `asked`, compiled to `compiled` (an instruction
// called k with the operands x and y of type `runs`).
std::vector<std::string> Ids(const std::string& asked, const std::string& runs,
                             const std::string& compiled, const Setting& setting = {},
                             const std::string& fused = "") {
  bool convolution = compiled.find("conv") != std::string::npos;
  std::string shape = convolution ? "[2,8,8,16]" : "[8,8]";
  std::string kernel = convolution ? "[3,3,16,16]" : "[8,8]";
  std::string op =
      convolution ? " = f32[2,8,8,16] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
                    "dim_labels=b01f_01io->b01f"
                  : " = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  auto before =
      census::Parse("HloModule m\nENTRY e { x = " + asked + shape + " parameter(0) y = " + asked +
                    kernel + " parameter(1)\n a = f32" + shape + " convert(x) b = f32" + kernel +
                    " convert(y)\n ROOT d" + op + ", metadata={op_name=\"jit(f)/op\"} }");
  auto after = census::Parse("HloModule m, is_scheduled=true\n" + fused + "ENTRY e { x = " + runs +
                             shape + " parameter(0) y = " + runs + kernel +
                             " parameter(1)\n  ROOT k = " + compiled + " }");
  std::vector<std::string> ids;
  for (const Finding& finding : Diagnose(census::TakeCensus(before, after), setting))
    ids.push_back(finding.id);
  return ids;
}

std::string Convolution(const std::string& target) {
  return "(f32[2,8,8,16], u8[0]) custom-call(x, y), window={size=3x3 pad=1_1x1_1}, "
         "dim_labels=b01f_01io->b01f, "
         "custom_call_target=\"" +
         target + "\", metadata={op_name=\"jit(f)/op\"}";
}
std::string Fused(const std::string& type) {
  return "fused { p = " + type + "[8,8] parameter(0) q = " + type +
         "[8,8] parameter(1) ROOT d = f32[8,8] dot(p, q), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}, "
         "metadata={op_name=\"jit(f)/op\"} }\n";
}
constexpr char kTriton[] =
    "f32[8,8] fusion(x, y), kind=kCustom, calls=fused, "
    "backend_config={\"fusion_backend_config\":{\"kind\":\"__triton_gemm\"}}";
constexpr char kLoop[] = "f32[8,8] fusion(x, y), kind=kLoop, calls=fused";

// A grouped convolution that runs as `target` on `runs`, with `channels` input channels per group.
std::vector<std::string> GroupedIds(const std::string& target, const std::string& runs,
                                    int channels) {
  const std::string groups = ", feature_group_count=" + std::to_string(16 / channels);
  const std::string kernel = "[3,3," + std::to_string(channels) + ",16]";
  const std::string how = ", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f" + groups +
                          ", metadata={op_name=\"jit(f)/op\"}";
  auto before = census::Parse(
      "HloModule m\nENTRY e { x = f8e4m3fn[2,8,8,16] parameter(0) y = f8e4m3fn" + kernel +
      " parameter(1)\n ROOT d = f32[2,8,8,16] convolution(x, y)" + how + " }");
  auto after = census::Parse("HloModule m, is_scheduled=true\nENTRY e { x = " + runs +
                             "[2,8,8,16] parameter(0) y = " + runs + kernel +
                             " parameter(1)\n ROOT k = (f32[2,8,8,16], u8[0]) custom-call(x, y)" +
                             how + ", custom_call_target=\"" + target + "\" }");
  std::vector<std::string> ids;
  for (const Finding& finding : Diagnose(census::TakeCensus(before, after), {}))
    ids.push_back(finding.id);
  return ids;
}

// What cuDNN's heuristics answered: nothing for 1 and 2 channels, only a fallback for 4 and 8.
TEST(DiagnoseTest, ConvolutionsThatCudnnHasNoPlanFor) {
  for (int channels : {1, 2, 4, 8}) {
    EXPECT_THAT(GroupedIds("__cudnn$convForward", "f32", channels), ElementsAre("EF106"));
    EXPECT_THAT(GroupedIds("__cudnn$convForwardGraph", "f8e4m3fn", channels), ElementsAre("EF107"));
  }
  EXPECT_THAT(GroupedIds("__cudnn$convForward", "f32", 16), ElementsAre("EF104"));
  EXPECT_THAT(GroupedIds("__cudnn$convForwardGraph", "f8e4m3fn", 16), IsEmpty());
}

TEST(DiagnoseTest, DemotedConvolutionsByTargetAndGpu) {
  EXPECT_THAT(Ids("f8e4m3fn", "f32", Convolution("__cudnn$convForward")), ElementsAre("EF104"));
  EXPECT_THAT(
      Ids("f8e4m3fn", "f32", Convolution("__cudnn$convForward"), {.compute_capability = {{8, 0}}}),
      ElementsAre("EF100"));
  EXPECT_THAT(Ids("f8e4m3fn", "f32", Convolution("__cudnn$convForward"),
                  {.compute_capability = {{8, 9}}, .cudnn_version = {{9, 7, 1}}}),
              ElementsAre("EF105"));
  EXPECT_THAT(Ids("f8e4m3fn", "f32", Convolution("__cudnn$convForward"),
                  {.compute_capability = {{8, 9}}, .cudnn_version = {{9, 8, 0}}}),
              ElementsAre("EF104"));
  EXPECT_THAT(Ids("f8e4m3fn", "f8e4m3fn", Convolution("__cudnn$convForwardGraph")), IsEmpty());
  EXPECT_THAT(Ids("bf16", "f32", Convolution("__cudnn$convForward")), ElementsAre("EF301"));
  EXPECT_THAT(Ids("f32", "f32", Convolution("__cudnn$convForward")), IsEmpty());
}

TEST(DiagnoseTest, MatmulsByWhereTheyRun) {
  EXPECT_THAT(Ids("f8e4m3fn", "bf16", kTriton, {}, Fused("bf16")), ElementsAre("EF113"));
  EXPECT_THAT(Ids("f8e4m3fn", "bf16", kLoop, {}, Fused("bf16")), ElementsAre("EF110"));
  EXPECT_THAT(Ids("s8", "s8", kLoop, {}, Fused("s8")), ElementsAre("EF501"));
  EXPECT_THAT(Ids("s8", "bf16", kTriton, {}, Fused("bf16")), ElementsAre("EF402"));
  EXPECT_THAT(Ids("bf16", "f32", kTriton, {}, Fused("f32")), ElementsAre("EF302"));
  EXPECT_THAT(Ids("f8e4m3fn", "f8e4m3fn", kTriton, {}, Fused("f8e4m3fn")), IsEmpty());
}

// The defect of XLA up to 0.11.2: one computation was rewritten, the other was not.
TEST(DiagnoseTest, AnotherComputationFirstNeedsOneThatWasRewrittenAndAnOldCompiler) {
  auto conv = [](const std::string& name, const std::string& type, const std::string& target) {
    return "  " + name + " = (f32[2,8,8,16], u8[0]) custom-call(x" + type + ", w" + type +
           "), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, custom_call_target=\"" +
           target + "\"\n";
  };
  auto after = census::Parse(
      "HloModule m, is_scheduled=true\nbranch {\n  x8 = f8e4m3fn[2,8,8,16] parameter(0)\n  w8 = "
      "f8e4m3fn[3,3,16,16] constant({...})\n" +
      conv("c", "8", "__cudnn$convForwardGraph") +
      "  ROOT r = f32[2,8,8,16] get-tuple-element(c), index=0\n}\nENTRY e {\n  x = "
      "f8e4m3fn[2,8,8,16] parameter(0)\n"
      "  w = f8e4m3fn[3,3,16,16] parameter(1)\n  x32 = f32[2,8,8,16] convert(x)\n  w32 = "
      "f32[3,3,16,16] convert(w)\n" +
      conv("c", "32", "__cudnn$convForward") +
      "  ROOT r = f32[2,8,8,16] call(x), to_apply=branch\n}");
  auto ids = [&](const Setting& setting) {
    std::vector<std::string> found;
    for (const Finding& finding : Diagnose(census::TakeCensus(nullptr, after), setting))
      found.push_back(finding.id);
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre("EF101"));
  EXPECT_THAT(ids({.plugin_version = {{0, 11, 2}}}), ElementsAre("EF101"));
  EXPECT_THAT(ids({.plugin_version = {{0, 12, 0}}}), ElementsAre("EF104"));
}

TEST(DiagnoseTest, EveryRuleSaysWhatAndWhyAndWhatToDo) {
  std::set<std::string> ids;
  for (const Rule& rule : Rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(std::string_view(rule.title).empty());
    EXPECT_TRUE(std::string_view(rule.cause).ends_with(".")) << rule.id;
    EXPECT_FALSE(std::string_view(rule.fix).empty());
    EXPECT_NE(rule.severity, Severity::kNote);
  }
}

TEST(DiagnoseTest, LostRoundingIsANoteOfTheWholeModule) {
  auto before = census::Parse(R"(HloModule m
ENTRY e { x = f32[8] parameter(0) n = f8e4m3fn[8] convert(x), metadata={op_name="jit(f)/a"} ROOT w = f32[8] convert(n) })");
  auto kept = census::Parse(R"(HloModule m, is_scheduled=true
ENTRY e { x = f32[8] parameter(0) n = f8e4m3fn[8] convert(x), metadata={op_name="jit(f)/a"} ROOT w = f32[8] convert(n) })");
  auto gone = census::Parse(
      "HloModule m, is_scheduled=true\nENTRY e { x = f32[8] parameter(0) ROOT w = f32[8] copy(x) "
      "}");
  EXPECT_THAT(Diagnose(census::TakeCensus(before, kept), {}), IsEmpty());
  auto findings = Diagnose(census::TakeCensus(before, gone), {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "EF601");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_THAT(findings[0].kernels, IsEmpty());
}

TEST(DiagnoseTest, ShortNames) {
  EXPECT_EQ(ShortName("region_10.89.clone.clone.sunk.clone"), "region_10.89");
  EXPECT_EQ(ShortName("body.sunk"), "body");
  EXPECT_EQ(ShortName("main.3"), "main.3");
}

}  // namespace
}  // namespace eightfold::diagnose
