// CompileRequest::pass, all the way through a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "pjrt/compile.h"
#include "target/catalogue.h"

namespace eightfold::pjrt {
namespace {

using ::testing::HasSubstr;

class PassTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("EIGHTFOLD_WORKER", TEST_WORKER, 1); }
  void TearDown() override { unsetenv("EIGHTFOLD_WORKER"); }
  static CompileRequest Request(const char* plugin, const char* pass) {
    CompileRequest request;
    request.program_name = "step.pb";
    request.program = "p";
    request.plugin = {.package = "fake", .version_text = "0.10.2", .path = plugin};
    request.plugin.version = target::PluginVersion::Parse("0.10.2");
    request.gpu = **target::Find("rtx5070");
    request.pass = pass;
    return request;
  }
};

TEST_F(PassTest, RunsInsideThePluginAndReports) {
  Result<CompileResult> result = Compile(Request(FAKE_PLUGIN, "append"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->before, "p");
  EXPECT_EQ(result->after, "compiled p+a");
  EXPECT_EQ(result->pass_report, "a report");
  EXPECT_EQ(result->pass_error, "");
  EXPECT_EQ(result->pass_calls, 1u);
  EXPECT_EQ(result->pass_changed, 1u);
  EXPECT_EQ(result->pass_failed, 0u);
  EXPECT_GE(result->pass_seconds, 0.005);
  EXPECT_GE(result->compile_seconds, result->pass_seconds);
  EXPECT_GE(result->seconds, result->compile_seconds);
}

TEST_F(PassTest, NoneIsAskedForNoneRuns) {
  Result<CompileResult> result = Compile(Request(FAKE_PLUGIN, ""));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->after, "compiled p");
  EXPECT_EQ(result->pass_report, "");
  EXPECT_EQ(result->pass_calls, 0u);
  EXPECT_EQ(result->pass_seconds, 0);
}

TEST_F(PassTest, FailureIsToldAndTheCompileGoesOnUnchanged) {
  Result<CompileResult> result = Compile(Request(FAKE_PLUGIN, "fail"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->after, "compiled p");
  EXPECT_EQ(result->pass_error, "cannot read this module");
  EXPECT_EQ(result->pass_failed, 1u);
  EXPECT_THAT(result->log, HasSubstr("cannot read this module"));
}

// On machines without CUDA's tools the plugin crashes when it has dumped the module.
TEST_F(PassTest, ReportSurvivesAPluginThatCrashesAfterOptimizing) {
  CompileRequest request = Request(FAKE_PLUGIN, "append");
  request.program = "crash late";
  Result<CompileResult> result = Compile(request);
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->after, "compiled crash late+a");
  EXPECT_EQ(result->pass_report, "a report");
  EXPECT_EQ(result->pass_calls, 1u);
  EXPECT_EQ(result->pass_changed, 1u);
  request.pass = "fail";
  result = Compile(request);
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->after, "compiled crash late");
  EXPECT_EQ(result->pass_error, "cannot read this module");
}

TEST_F(PassTest, ExceptionIsToldLikeAnyFailure) {
  Result<CompileResult> result = Compile(Request(FAKE_PLUGIN, "throw"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->after, "compiled p");
  EXPECT_THAT(result->pass_error, HasSubstr("oh no"));
}

TEST_F(PassTest, PluginWithoutTheExtensionIsNamedWithThoseThatHaveIt) {
  Result<CompileResult> result = Compile(Request(FAKE_OLD_PLUGIN, "append"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
  EXPECT_EQ(result.error().what,
            "plugin fake 0.10.2: no pass can run in it: it lacks the transform extension");
  EXPECT_EQ(result.error().next, "jax-cuda12-pjrt and jax-cuda13-pjrt have it from 0.10.2 on");
}

TEST_F(PassTest, UnknownPassIsAnError) {
  Result<CompileResult> result = Compile(Request(FAKE_PLUGIN, "nonsense"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "no pass is called nonsense");
  EXPECT_EQ(result.error().next, "there are append, fail and throw");
}

}  // namespace
}  // namespace eightfold::pjrt
