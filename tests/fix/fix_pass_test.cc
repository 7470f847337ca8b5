#include "fix/fix_pass.h"

#include <gmock/gmock.h>

#include "fix/stack_frames.h"
#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/views.h"
#include "target/catalogue.h"

namespace eightfold::fix {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kConvolution[] =
    "HloModule m\nENTRY e { x = f8e4m3fn[2,8,8,16] parameter(0) w = f8e4m3fn[3,3,16,16] "
    "parameter(1)\n ROOT c = f32[2,8,8,16] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f }";

std::unique_ptr<hlo::Module> Parse(std::string text) {
  auto module = hlo::ReadText(Source::FromBytes("test.hlo", std::move(text)));
  EXPECT_TRUE(module) << module.error().Format();
  return *std::move(module);
}

target::PluginVersion Version(const char* text) { return target::PluginVersion::Parse(text); }

std::string Bytes(const char* text) {
  auto module = Parse(text);
  return *hlo::WriteProto(*module);
}

std::unique_ptr<pjrt::Pass> PassFor(const char* gpu, const char* version = "0.10.2") {
  auto options = OptionsFor(Version(version), **target::Find(gpu), rewrite::Extent::kPlanned);
  return *MakeFixPass(Describe(*options));
}

TEST(FixPassTest, WayGoesByTheRelease) {
  EXPECT_EQ(WayFor(Version("0.9.2")), Way::kProgram);
  EXPECT_EQ(WayFor(Version("0.10.1")), Way::kProgram);
  EXPECT_EQ(WayFor(Version("0.10.2")), Way::kHook);
  EXPECT_EQ(WayFor(Version("0.11.2")), Way::kHook);
  EXPECT_EQ(WayFor(Version("0.12.0")), Way::kUpstream);
  EXPECT_EQ(WayFor(Version("0.12.0.1")), Way::kUpstream);
}

TEST(FixPassTest, RepairedPluginsOnlyHide) {
  const target::Gpu& gpu = **target::Find("rtx5070");
  EXPECT_EQ(OptionsFor(Version("0.12.0"), gpu, rewrite::Extent::kPlanned)->extent,
            rewrite::Extent::kHideOnly);
  EXPECT_FALSE(OptionsFor(Version("0.12.0"), gpu, rewrite::Extent::kAll));
  EXPECT_EQ(OptionsFor(Version("0.11.2"), gpu, rewrite::Extent::kAll)->extent,
            rewrite::Extent::kAll);
}

TEST(FixPassTest, RewritesAndReports) {
  std::unique_ptr<pjrt::Pass> pass = PassFor("rtx5070");
  Result<std::optional<std::string>> changed = pass->Run(Bytes(kConvolution));
  ASSERT_TRUE(changed) << changed.error().Format();
  ASSERT_TRUE(*changed);
  EXPECT_THAT(**changed, HasSubstr("__cudnn$convForwardGraph"));
  Result<FixReport> report = ParseReport(pass->Report());
  ASSERT_TRUE(report) << report.error().Format();
  ASSERT_THAT(report->rewritten, SizeIs(1));
  EXPECT_EQ(report->rewritten[0].computation, "e");
  EXPECT_EQ(report->rewritten[0].convolution, "c");
}

TEST(FixPassTest, WhatIsNotRewrittenGoesOnAsItIs) {
  std::unique_ptr<pjrt::Pass> pass = PassFor("a100");
  Result<std::optional<std::string>> changed = pass->Run(Bytes(kConvolution));
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*changed);
  EXPECT_THAT(ParseReport(pass->Report())->rewritten, IsEmpty());
}

TEST(FixPassTest, ModulesThatCannotBeReadAreErrors) {
  std::unique_ptr<pjrt::Pass> pass = PassFor("rtx5070");
  EXPECT_FALSE(pass->Run("no module"));
  std::string bytes = Bytes(kConvolution);
  bytes.resize(bytes.size() / 2);
  EXPECT_FALSE(pass->Run(bytes));
}

TEST(FixPassTest, DescriptionsAndReportsOfOthersAreErrors) {
  for (const char* text : {"", "{}", "[1]", "{\"extent\":\"planned\"}", "{\"rewritten\":3}"}) {
    EXPECT_FALSE(MakeFixPass(text)) << text;
    EXPECT_FALSE(ParseReport(text)) << text;
  }
}

// Three frames, of which the third was called by the first, as a module of JAX has them.
TEST(StackFramesTest, EachFrameBecomesTheParentOfTheNext) {
  auto module = Parse(
      "HloModule m\n\nFileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=1 end_column=2}\n"
      "2 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=1 end_column=2}\n"
      "3 {file_name_id=1 function_name_id=1 line=30 end_line=30 column=1 end_column=2}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
      "2 {file_location_id=2 parent_frame_id=2}\n3 {file_location_id=3 parent_frame_id=2}\n\n"
      "ENTRY e { ROOT p = f32[] parameter(0) }");
  ChainStackFrames(*module);
  hlo::StackFrames frames(*module);
  for (int id = 1; id <= 3; ++id) {
    auto walk = frames.Walk(id);
    ASSERT_THAT(walk, SizeIs(id));
    EXPECT_EQ(walk[0].line, 10 * id);
    EXPECT_EQ(walk[0].parent, id - 1);
  }
}

TEST(StackFramesTest, ModulesWithoutFramesStayAsTheyAre) {
  auto module = Parse(kConvolution);
  ChainStackFrames(*module);
  EXPECT_EQ(module->Find(17), nullptr);
}

}  // namespace
}  // namespace eightfold::fix
