// With the stock compilers, really run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hlo_ids.h"
#include "pjrt/compile.h"
#include "pjrt/fetch.h"
#include "target/catalogue.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGraph[] = "__cudnn$convForwardGraph";

std::string ReadProgram(const std::string& name) {
  std::ifstream in(EIGHTFOLD_TESTDATA "/programs/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

CompileRequest Request(const std::string& name, std::string_view program, const char* version,
                       const char* gpu = "rtx5070") {
  CompileRequest request;
  request.program_name = name;
  request.program = program;
  request.format =
      name.ends_with(".mlir") ? CompileRequest::Format::kMlir : CompileRequest::Format::kHlo;
  Result<Plugin> plugin = FetchPlugin(version, 12, nullptr);  // no more than a look when cached
  EXPECT_TRUE(plugin) << plugin.error().Format();
  if (plugin) request.plugin = *plugin;
  request.gpu = **target::Find(gpu);
  return request;
}

std::string Module(const CompileResult& result) {
  return result.after_has_config ? WithoutConfig(result.after) : result.after;
}

class EveryVersion : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryVersion, Fp8ConvolutionBecomesAGraphCallWhereverTheGpuHasFp8) {
  const std::string program = ReadProgram("plain.pb");
  for (const target::Gpu& gpu : target::All()) {
    Result<CompileResult> result =
        Compile(Request("plain.pb", program, GetParam(), gpu.name.c_str()));
    ASSERT_TRUE(result) << gpu.name << ": " << result.error().Format();
    EXPECT_EQ(CountCalls(Module(*result), kGraph), gpu.HasFp8() ? 1 : 0) << gpu.name;
  }
}

TEST_P(EveryVersion, MlirAndHloGiveTheSameCalls) {
  const std::map<std::string, int> graphs = {{"0.9.2", 1}, {"0.10.2", 1}, {"0.12.0.1", 2}};
  for (const char* name : {"repro.pb", "repro.mlir"}) {
    const std::string program = ReadProgram(name);
    Result<CompileResult> result = Compile(Request(name, program, GetParam()));
    ASSERT_TRUE(result) << result.error().Format();
    EXPECT_EQ(CountCalls(Module(*result), kGraph), graphs.at(GetParam())) << name;
    EXPECT_THAT(result->before, HasSubstr("convolution")) << name;
    EXPECT_EQ(CountCalls(result->before, kGraph), 0) << name;
  }
}

TEST_P(EveryVersion, PartitionedProgramHasPerDeviceShapes) {
  for (const char* name : {"sharded.pb", "sharded.mlir", "sharded_gspmd.pb"}) {
    const std::string program = ReadProgram(name);
    CompileRequest request = Request(name, program, GetParam(), "h100");
    request.num_partitions = 8;
    Result<CompileResult> result = Compile(request);
    ASSERT_TRUE(result) << result.error().Format();
    EXPECT_THAT(ResultDimensions(result->before), ElementsAre(64, 6, 6, 128)) << name;
    EXPECT_THAT(ResultDimensions(result->partitioned), ElementsAre(8, 6, 6, 128)) << name;
    EXPECT_THAT(ResultDimensions(Module(*result)), ElementsAre(8, 6, 6, 128)) << name;
  }
}

TEST_P(EveryVersion, GarbageIsACleanError) {
  for (const char* name : {"garbage.pb", "garbage.mlir"}) {
    Result<CompileResult> result = Compile(Request(name, "\x01 no program at all", GetParam()));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
    EXPECT_THAT(result.error().what, HasSubstr("cannot compile")) << result.error().Format();
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, EveryVersion, ::testing::Values("0.9.2", "0.10.2", "0.12.0.1"));

TEST(OldPlugins, CompiledModuleComesFromTheDump) {
  const std::string program = ReadProgram("plain.pb");
  Result<CompileResult> result = Compile(Request("plain.pb", program, "0.8.0"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_FALSE(result->after_has_config);
  EXPECT_EQ(CountCalls(result->after, kGraph), 1);
}

TEST(OldPlugins, LargeInstructionIdsAbort062) {
  const std::string program = ReadProgram("plain.pb");
  Result<CompileResult> result = Compile(Request("plain.pb", program, "0.6.2"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
  EXPECT_EQ(result.error().what, "plugin jax-cuda12-pjrt 0.6.2 aborted while compiling plain.pb");
  EXPECT_THAT(result.error().next, HasSubstr("its last words: hlo_instruction.h:"));
  EXPECT_THAT(result.error().next, HasSubstr("Check failed: unique_id_ <"));
  EXPECT_THAT(result.error().next, HasSubstr("try --plugin 0.9.2 or newer"));
}

TEST(OldPlugins, Take32BitIdsAndNeedNoAutotuning) {
  uint64_t next = 1;
  std::map<uint64_t, uint64_t> names;
  const std::string program = RenameInstructions(ReadProgram("move.pb"), [&](uint64_t id) {
    return names.try_emplace(id, next).second ? next++ : names.at(id);
  });
  Result<CompileResult> result = Compile(Request("move.pb", program, "0.6.2", "h100"));
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(CountCalls(result->after, kGraph), 20);
}

// With a worker whose pass fails on every module.
class FailingPass : public ::testing::Test {
 protected:
  void SetUp() override { setenv("EIGHTFOLD_WORKER", TEST_WORKER, 1); }
  void TearDown() override { unsetenv("EIGHTFOLD_WORKER"); }
  static Result<CompileResult> CompileWith(const char* version) {
    const std::string program = ReadProgram("plain.pb");
    CompileRequest request = Request("plain.pb", program, version);
    request.pass = "fail";
    return Compile(request);
  }
};

TEST_F(FailingPass, LeavesTheCompileAsItWasAndIsReported) {
  Result<CompileResult> result = CompileWith("0.10.2");
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(CountCalls(Module(*result), kGraph), 1);
  EXPECT_EQ(result->pass_calls, 1u);
  EXPECT_EQ(result->pass_error, "cannot read this module");
}

TEST_F(FailingPass, CannotRunInPluginsWithoutTheTransformExtension) {
  Result<CompileResult> result = CompileWith("0.9.2");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
  EXPECT_THAT(result.error().what, HasSubstr("plugin jax-cuda12-pjrt 0.9.2: no pass can run"));
  EXPECT_THAT(result.error().next, HasSubstr("from 0.10.2 on"));
}

// XLA sizes a table by the largest local id: 2^31-1 is more than a vector can hold, 5·10^8 more
// than the limit allows.
TEST(HugeInstructionIds, AbortThePluginWithinTheMemoryLimit) {
  for (uint64_t local : {uint64_t{2147483647}, uint64_t{500000000}}) {
    uint64_t first = 0;
    const std::string program =
        RenameInstructions(ReadProgram("plain.pb"), [&first, local](uint64_t id) {
          if (first == 0) first = id;
          return id == first ? (id >> 32 << 32) | local : id;
        });
    CompileRequest request = Request("plain.pb", program, "0.10.2");
    request.memory_limit_bytes = uint64_t{1} << 30;
    Result<CompileResult> result = Compile(request);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().exit_code, ExitCode::kCompiler);
    EXPECT_THAT(result.error().what, HasSubstr("plugin jax-cuda12-pjrt 0.10.2")) << local;
    EXPECT_THAT(result.error().next, HasSubstr("instruction id far above the others")) << local;
  }
}

TEST(Dump, EveryPassGoesToTheChosenFolder) {
  const fs::path folder = fs::path(::testing::TempDir()) / "eightfold-dump-test";
  fs::remove_all(folder);
  const std::string program = ReadProgram("repro.pb");
  CompileRequest request = Request("repro.pb", program, "0.10.2");
  request.dump_dir = folder.string();
  Result<CompileResult> result = Compile(request);
  ASSERT_TRUE(result) << result.error().Format();
  int modules = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    modules += entry.path().string().ends_with(".hlo.pb") ? 1 : 0;
  }
  EXPECT_GT(modules, 20);
  fs::remove_all(folder);
}

TEST(Limits, RealCompileIsStoppedByMemory) {
  const std::string program = ReadProgram("move.pb");
  CompileRequest request = Request("move.pb", program, "0.10.2");
  request.memory_limit_bytes = uint64_t{150} << 20;
  Result<CompileResult> result = Compile(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(
      result.error().what,
      "plugin jax-cuda12-pjrt 0.10.2 used more than 0.1 GiB of memory while compiling move.pb");
}

}  // namespace
}  // namespace eightfold::pjrt
