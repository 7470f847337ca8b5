// The worker's life and death, with a plugin that misbehaves on request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "pjrt/compile.h"
#include "target/catalogue.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

CompileRequest Request(std::string_view program) {
  CompileRequest request;
  request.program_name = "step.pb";
  request.program = program;
  request.plugin = {.package = "fake", .version_text = "0.10.2", .path = FAKE_PLUGIN};
  request.plugin.version = target::PluginVersion::Parse("0.10.2");
  request.gpu = **target::Find("rtx5070");
  request.timeout = 30s;
  return request;
}

// Every test has a temporary folder of its own, so that it sees what the worker leaves behind.
class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("TMPDIR");
    std::string name = ::testing::TempDir() + "/worker-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    temp_ = name;
    setenv("TMPDIR", name.c_str(), 1);
    unsetenv("XLA_FLAGS");
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(temp_)) << "the job folder was left behind";
    fs::remove_all(temp_);
  }
  Error Failure(const CompileRequest& request) {
    Result<CompileResult> result = Compile(request);
    EXPECT_FALSE(result);
    if (result) return {};
    EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
    return result.error();
  }
  fs::path temp_;
};

TEST_F(WorkerTest, HandsBackWhatThePluginMade) {
  Result<CompileResult> result = Compile(Request("program"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(result->before, "program");
  EXPECT_EQ(result->after, "compiled program");
  EXPECT_TRUE(result->after_has_config);
  EXPECT_THAT(result->log, HasSubstr("pid="));
}

TEST_F(WorkerTest, AbortQuotesTheLastWords) {
  Error error = Failure(Request("abort"));
  EXPECT_EQ(error.what, "plugin fake 0.10.2 aborted while compiling step.pb");
  EXPECT_THAT(error.next, HasSubstr("its last words: fake.cc:12] Check failed: 1 == 2 at once\n"));
}

TEST_F(WorkerTest, CrashIsNamed) {
  EXPECT_THAT(Failure(Request("crash")).what, HasSubstr("crashed (Segmentation fault)"));
}

TEST_F(WorkerTest, ExitInsideThePluginGivesAdvice) {
  Error error = Failure(Request("exit"));
  EXPECT_EQ(error.what, "plugin fake 0.10.2 ended the process (status 1) while compiling step.pb");
  EXPECT_THAT(error.next, HasSubstr("Unknown flag in XLA_FLAGS: --xla_no_such_flag"));
  EXPECT_THAT(error.next, HasSubstr("check XLA_FLAGS"));
}

TEST_F(WorkerTest, PluginsOwnErrorIsPassedOn) {
  Error error = Failure(Request("refuse"));
  EXPECT_EQ(error.what, "plugin fake 0.10.2 cannot compile step.pb");
  EXPECT_THAT(error.next, HasSubstr("it says: this program is not for me"));
}

TEST_F(WorkerTest, RejectedTargetConfigIsNotBlamedOnTheProgram) {
  CompileRequest request = Request("program");
  request.gpu.extra_fields = "reject_me: 1\n";
  Error error = Failure(request);
  EXPECT_EQ(error.what, "plugin fake 0.10.2 does not take the target config");
}

TEST_F(WorkerTest, TimeoutEndsTheWorker) {
  CompileRequest request = Request("hang");
  request.timeout = 1s;
  const auto start = std::chrono::steady_clock::now();
  Error error = Failure(request);
  EXPECT_EQ(error.what, "plugin fake 0.10.2 took longer than 1 s while compiling step.pb");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(WorkerTest, MemoryLimitEndsTheWorker) {
  CompileRequest request = Request("eat");
  request.memory_limit_bytes = uint64_t{256} << 20;
  Error error = Failure(request);
  EXPECT_EQ(error.what,
            "plugin fake 0.10.2 used more than 0.2 GiB of memory while compiling step.pb");
}

TEST_F(WorkerTest, XlaFlagsOfTheEnvironmentComeFirst) {
  setenv("XLA_FLAGS", "--from_user=1", 1);
  CompileRequest request = Request("flags");
  request.xla_flags = {"--from_caller=2"};
  Result<CompileResult> result = Compile(request);
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_THAT(result->log, HasSubstr("XLA_FLAGS=[--from_user=1 --from_caller=2 "));
}

TEST_F(WorkerTest, ManyThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> after(6);
  for (size_t i = 0; i < after.size(); ++i) {
    threads.emplace_back([&after, i] {
      const std::string program = "p" + std::to_string(i);
      Result<CompileResult> result = Compile(Request(program));
      if (result) after[i] = result->after;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], "compiled p" + std::to_string(i));
}

TEST_F(WorkerTest, LibraryWithoutMetadataIsAskedForItsVersion) {
  Result<Plugin> plugin = FindPlugin(FAKE_PLUGIN);
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(plugin->version.ToString(), "0.10.2");  // its ABI version is 0.112
  EXPECT_EQ(plugin->Name(), "fake_plugin.so");
}

TEST_F(WorkerTest, SharedLibraryThatIsNoPluginIsRefused) {
  Result<Plugin> plugin = FindPlugin(NOT_A_PLUGIN);
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().what, HasSubstr("is not a PJRT plugin"));
}

TEST_F(WorkerTest, FileThatIsNoLibraryIsRefused) {
  const std::string file = (temp_ / "text.so").string();
  std::ofstream(file) << "hello";
  Result<Plugin> plugin = FindPlugin(file);
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().what, HasSubstr("cannot load plugin"));
  fs::remove(file);
}

TEST_F(WorkerTest, MissingWorkerIsExplained) {
  setenv("EIGHTFOLD_WORKER", "/nonexistent/worker", 1);
  Result<CompileResult> result = Compile(Request("program"));
  unsetenv("EIGHTFOLD_WORKER");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("/nonexistent/worker"));
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

// The process that the fake plugin runs in, from its log; 0 when it does not run yet.
pid_t PluginProcess(const fs::path& temp) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(temp, error)) {
    std::stringstream log;
    log << std::ifstream(entry.path() / "log").rdbuf();
    const size_t at = log.str().find("pid=");
    if (at != std::string::npos) return std::atoi(log.str().c_str() + at + 4);
  }
  return 0;
}

class ParentDies : public WorkerTest, public ::testing::WithParamInterface<int> {};

TEST_P(ParentDies, WorkerGoesAndItsFolderToo) {
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    (void)Compile(Request("hang"));
    _exit(0);
  }
  pid_t plugin = 0;
  ASSERT_TRUE(Eventually([&] { return (plugin = PluginProcess(temp_)) != 0; }));
  ASSERT_EQ(kill(plugin, 0), 0);
  kill(parent, GetParam());
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return kill(plugin, 0) != 0; })) << "the worker lives on";
  EXPECT_TRUE(Eventually([&] { return fs::is_empty(temp_); }));
}

INSTANTIATE_TEST_SUITE_P(Signals, ParentDies, ::testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace eightfold::pjrt
