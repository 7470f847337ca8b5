#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "target/catalogue.h"
#include "target/text_config.h"

namespace eightfold::target {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Result<Gpu> Parse(std::string text) {
  return ParseTargetConfig(Source::FromBytes("mine.txtpb", std::move(text)));
}

// The start of a config that is whole but for what `more` adds to gpu_device_info.
std::string Config(const std::string& more, const std::string& beside = "") {
  return "gpu_device_info {\n core_count: 8\n cuda_compute_capability { major: 8 minor: 9 }\n" +
         more + "\n}\n" + beside;
}

TEST(Catalogue, HoldsTheGpusOfTheIssueWithPlausibleNumbers) {
  std::set<std::string> names;
  for (const Gpu& gpu : All()) {
    names.insert(gpu.name);
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    ASSERT_TRUE(gpu.peak.bf16 && gpu.peak.tf32 && gpu.peak.f32) << gpu.name;
    EXPECT_EQ(gpu.peak.fp8.has_value(), gpu.HasFp8()) << gpu.name;
    // Every one of these does bf16 at twice the rate of TF32 and FP8 at twice that of bf16.
    EXPECT_NEAR(*gpu.peak.bf16 / *gpu.peak.tf32, 2, 0.05) << gpu.name;
    if (gpu.peak.fp8) {
      EXPECT_NEAR(*gpu.peak.fp8 / *gpu.peak.bf16, 2, 0.03) << gpu.name;
    }
    // f32 outside tensor cores: lanes · 2 · clock, of the boost clock that data sheets quote.
    const double lanes = static_cast<double>(gpu.core_count * gpu.fpus_per_core);
    EXPECT_NEAR(*gpu.peak.f32 / (lanes * 2 * gpu.clock_rate_ghz * 1e9), 1, 0.02) << gpu.name;
    EXPECT_GE(gpu.shared_memory_per_core, gpu.shared_memory_per_block_optin) << gpu.name;
    EXPECT_EQ(gpu.accelerated_features, gpu.compute_capability_major >= 9) << gpu.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"a100", "l40s", "rtx4090", "h100", "h200", "gh200",
                                          "b200", "rtx5070", "rtx5090", "rtxpro6000"}));
}

TEST(Catalogue, Fp8CameWithAda) {
  EXPECT_FALSE((*Find("a100"))->HasFp8());
  EXPECT_TRUE((*Find("l40s"))->HasFp8());
  EXPECT_TRUE((*Find("rtx5070"))->HasFp8());
  EXPECT_EQ((*Find("rtx5070"))->Architecture(), "sm_120");
}

TEST(Find, TakesNamesAsPeopleWriteThem) {
  EXPECT_EQ((*Find("RTX 5070"))->name, "rtx5070");
  EXPECT_EQ((*Find("rtx-pro-6000"))->name, "rtxpro6000");
}

TEST(Find, UnknownNameSuggestsTheNearestAndListsAll) {
  Result<const Gpu*> gpu = Find("rtx507O");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().exit_code, ExitCode::kInput);
  EXPECT_THAT(gpu.error().next, HasSubstr("did you mean rtx5070?"));
  EXPECT_THAT(gpu.error().next, HasSubstr("a100, b200, gh200"));
  EXPECT_THAT(Find("mi300x").error().next, Not(HasSubstr("did you mean")));
}

TEST(PluginVersion, ComparesNumberByNumber) {
  const auto v = [](const char* text) { return PluginVersion::Parse(text); };
  EXPECT_LT(v("0.9.2"), v("0.10.0"));
  EXPECT_LT(v("0.12.0"), v("0.12.0.1"));
  EXPECT_EQ(v("0.11.0rc1"), v("0.11.0"));
  EXPECT_EQ(v("nonsense"), v("0"));
  EXPECT_EQ(v("0.12.0.1").ToString(), "0.12.0.1");
  EXPECT_EQ(v("1").ToString(), "1.0.0");
}

TEST(WriteTargetConfig, FieldsFollowThePluginVersion) {
  const Gpu& gpu = **Find("h100");
  const auto written = [&gpu](const char* version) {
    return WriteTargetConfig(gpu, PluginVersion::Parse(version));
  };
  EXPECT_THAT(written("0.6.2"), Not(HasSubstr("feature_extension")));
  EXPECT_THAT(written("0.9.2"), HasSubstr("feature_extension: ACCELERATED_FEATURES"));
  EXPECT_THAT(written("0.9.2"), HasSubstr("dnn_version_info { major: 9 minor: 10 patch: 0 }"));
  EXPECT_THAT(written("0.9.2"), Not(HasSubstr("dnn_version:")));
  EXPECT_THAT(written("0.10.2"), HasSubstr("dnn_version_info"));
  EXPECT_THAT(written("0.10.2"), HasSubstr("dnn_version: \"9.10.0\""));
  EXPECT_THAT(written("0.12.0.1"), HasSubstr("dnn_version: \"9.10.0\""));
  EXPECT_THAT(written("0.12.0.1"), Not(HasSubstr("dnn_version_info")));
}

TEST(ParseTargetConfig, ReadsWhatWeWrite) {
  for (const Gpu& gpu : All()) {
    Result<Gpu> read = Parse(WriteTargetConfig(gpu, PluginVersion::Parse("0.10.2")));
    ASSERT_TRUE(read) << read.error().Format();
    for (const char* version : {"0.6.2", "0.9.2", "0.10.2", "0.12.0.1"}) {
      const PluginVersion v = PluginVersion::Parse(version);
      EXPECT_EQ(WriteTargetConfig(*read, v), WriteTargetConfig(gpu, v)) << gpu.name;
    }
    EXPECT_EQ(read->title, gpu.description);
  }
}

TEST(ParseTargetConfig, TakesAllThatTextFormatAllowsAndKeepsWhatItDoesNotKnow) {
  Result<std::shared_ptr<const Source>> source =
      Source::Open(EIGHTFOLD_TESTDATA "/targets/unusual.txtpb");
  ASSERT_TRUE(source);
  Result<Gpu> gpu = ParseTargetConfig(*source);
  ASSERT_TRUE(gpu) << gpu.error().Format();
  EXPECT_EQ(gpu->core_count, 0x54);
  EXPECT_EQ(gpu->threads_per_warp, 32);
  EXPECT_EQ(gpu->clock_rate_ghz, 1.5);
  EXPECT_EQ(gpu->cudnn_version, (std::array<int64_t, 3>{9, 10, 0}));
  EXPECT_TRUE(gpu->accelerated_features);
  EXPECT_EQ(gpu->description, "H20 ™");
  const std::string written = WriteTargetConfig(*gpu, PluginVersion::Parse("0.12.0"));
  EXPECT_THAT(written, HasSubstr("rate_infos { key: 4 value { units_per_core: 64 } }"));
  EXPECT_THAT(written, HasSubstr("name: \"a \\\"quoted\\\" \\x41\\101 name\""));
  EXPECT_THAT(written, HasSubstr("autotune_results { version: 3 [some.extension] { x: -1 } }"));
  EXPECT_THAT(written, HasSubstr("results: [{ device: \"sm_9.0, with RAM\" }, { device: \"]\" }]"));
  Result<Gpu> again = Parse(written);
  ASSERT_TRUE(again) << again.error().Format();
  EXPECT_EQ(WriteTargetConfig(*again, PluginVersion::Parse("0.12.0")), written);
}

struct Bad {
  std::string text;
  uint32_t line;
  uint32_t column;
  std::string what;
};

TEST(ParseTargetConfig, ErrorsHaveAPosition) {
  const Bad cases[] = {
      {"", 1, 1, "not a target config"},
      {"platform_name: \"ROCM\"", 1, 1, "only CUDA is known"},
      {"gpu_device_info {\n", 2, 1, "the file ends inside a message"},
      {"gpu_device_info {\n  core_count 8 }", 2, 14, "expected ':' or '{'"},
      {"gpu_device_info {\n  core_count: many }", 2, 3, "core_count must be a whole number"},
      {"gpu_device_info {\n  core_count: -1 }", 2, 15, "from 0 to 2147483647"},
      {"gpu_device_info {\n  core_count: 9999999999 }", 2, 15, "from 0 to 2147483647"},
      {"gpu_device_info {\n core_count: 1\n core_count: 2 }", 3, 2, "core_count is given twice"},
      {"gpu_device_info { core_count: 1 }", 1, 1, "no cuda_compute_capability"},
      {"gpu_device_info { cuda_compute_capability { major: 9 } }", 1, 1, "no core_count"},
      {"gpu_device_info { cuda_compute_capability { mayor: 9 } }", 1, 45, "no field mayor"},
      {Config("dnn_version: \"newest\""), 4, 1, "must look like"},
      {Config("name: \"never ends"), 4, 7, "does not end"},
      {Config("name: \"\\q\""), 4, 9, "unknown escape"},
      {Config("list: [1, 2"), 4, 7, "does not end"},
      {Config("clock_rate_ghz: fast"), 4, 1, "must be a number"},
      {Config("", "}"), 6, 1, "expected a field name"},
      {Config("", "x { >"), 6, 5, "expected '}'"},
      {"[broken { x: 1 }", 1, 1, "unclosed '['"},
  };
  for (const Bad& bad : cases) {
    Result<Gpu> gpu = Parse(bad.text);
    ASSERT_FALSE(gpu) << bad.text;
    const Error& error = gpu.error();
    EXPECT_THAT(error.what, HasSubstr(bad.what)) << bad.text;
    EXPECT_EQ(error.where.file, "mine.txtpb");
    EXPECT_EQ(error.where.line, bad.line) << bad.text;
    EXPECT_EQ(error.where.column, bad.column) << bad.text;
    EXPECT_EQ(error.exit_code, ExitCode::kInput);
  }
}

TEST(ParseTargetConfig, DeepNestingIsAnErrorNotACrash) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a{";
  Result<Gpu> gpu = Parse(deep);
  ASSERT_FALSE(gpu);
  EXPECT_THAT(gpu.error().what, HasSubstr("too deeply"));
  EXPECT_FALSE(Parse(Config("list: " + std::string(100000, '['))));
}

TEST(ParseTargetConfig, EveryTruncationIsHandled) {
  const std::string whole = WriteTargetConfig(**Find("h100"), PluginVersion::Parse("0.10.2"));
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    Result<Gpu> gpu = Parse(whole.substr(0, size));
    const bool device_is_whole = size > whole.find("}\nplatform_name");
    if (!device_is_whole) {
      EXPECT_FALSE(gpu) << size;
    }
  }
}

}  // namespace
}  // namespace eightfold::target
