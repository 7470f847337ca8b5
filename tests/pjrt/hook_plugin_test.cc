// The pass hook inside a stock plugin, loaded into this process; $HOOK_TEST_PLUGIN names its
// version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hlo_ids.h"
#include "pjrt/fetch.h"
#include "pjrt/pass_hook.h"
#include "target/catalogue.h"
#include "target/text_config.h"
#include "test_passes.h"

namespace eightfold::pjrt {
namespace {

using namespace std::chrono_literals;

// One replica, one partition.
constexpr std::string_view kOptions("\x1a\x04\x20\x01\x28\x01", 6);
constexpr int kThreads = 8;

class HookPluginTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* version = std::getenv("HOOK_TEST_PLUGIN");
    Result<Plugin> plugin = FetchPlugin(version != nullptr ? version : "0.10.2", 12, nullptr);
    ASSERT_TRUE(plugin) << plugin.error().Format();
    Result<Api> api = Api::Load(plugin->path);
    ASSERT_TRUE(api) << api.error().Format();
    api_ = new Api(*api);
    config_ =
        new std::string(target::WriteTargetConfig(**target::Find("rtx5070"), plugin->version));
  }
  void SetUp() override {
    ASSERT_NE(api_, nullptr);
    std::ifstream in(EIGHTFOLD_TESTDATA "/programs/repro.pb", std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    program_ = bytes.str();
    ASSERT_FALSE(program_.empty());
  }
  Result<PassHook> Hook(std::shared_ptr<Pass> pass) {
    return PassHook::Register(*api_, "test pass", Stage::kPreScheduler, std::move(pass));
  }
  // The compiled module's convolutions, "graph / legacy"; the error when there is none.
  std::string Compile() {
    Result<Topology> topology = Topology::Create(*api_, *config_, "1x1x1");
    if (!topology) return topology.error().what;
    Result<Executable> executable =
        Executable::Compile(*api_, *topology, program_, "hlo", kOptions);
    if (!executable) return executable.error().what;
    Result<OptimizedProgram> optimized = executable->Optimized();
    if (!optimized) return optimized.error().what;
    const std::string module = WithoutConfig(optimized->bytes);
    return std::to_string(CountCalls(module, "__cudnn$convForwardGraph")) + " / " +
           std::to_string(CountCalls(module, "__cudnn$convForward"));
  }
  static Api* api_;  // as the plugin, never unloaded
  static std::string* config_;
  std::string program_;
};
Api* HookPluginTest::api_ = nullptr;
std::string* HookPluginTest::config_ = nullptr;

TEST_F(HookPluginTest, PassSeesTheModuleBeforeItsConvolutionsBecomeCalls) {
  std::string seen;
  Result<PassHook> hook = Hook(MakeFunctionPass([&](std::string_view module) {
    seen = module;
    return std::nullopt;
  }));
  ASSERT_TRUE(hook) << hook.error().Format();
  Compile();
  EXPECT_EQ(hook->counts().calls, 1u);
  EXPECT_THAT(seen, ::testing::HasSubstr("convolution"));
  EXPECT_THAT(seen, ::testing::Not(::testing::HasSubstr("__cudnn$conv")));
}

TEST_F(HookPluginTest, ErrorsExceptionsAndNoChangeLeaveTheResultAsItWas) {
  const std::string without = Compile();
  EXPECT_THAT(without, ::testing::AnyOf("1 / 1", "2 / 0"));
  int call = 0;
  Result<PassHook> hook =
      Hook(MakeFunctionPass([&](std::string_view module) -> Result<std::optional<std::string>> {
        switch (++call) {
          case 1:
            return FailCompiler("cannot read it");
          case 2:
            throw std::runtime_error("thrown");
          case 3:
            return std::optional(std::string(module));
          default:
            return std::nullopt;
        }
      }));
  ASSERT_TRUE(hook);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Compile(), without);
  EXPECT_EQ(hook->counts().calls, 4u);
  EXPECT_EQ(hook->counts().failed, 2u);
  EXPECT_EQ(hook->counts().changed, 0u);
}

// An unknown field is a change that the plugin can read and that means nothing to it.
std::optional<std::string> Touch(std::string_view module) {
  return std::string(module) + "\xc2\x3e\x05touch";
}

TEST_F(HookPluginTest, ChangedModuleIsTaken) {
  const std::string without = Compile();
  Result<PassHook> hook = Hook(MakeFunctionPass(Touch));
  ASSERT_TRUE(hook);
  EXPECT_EQ(Compile(), without);
  EXPECT_EQ(hook->counts().changed, 1u);
}

TEST_F(HookPluginTest, GarbageFromAPassIsThePluginsErrorNotACrash) {
  const std::string without = Compile();
  {
    Result<PassHook> hook = Hook(MakeFunctionPass(
        [](std::string_view) { return std::optional<std::string>("\x0agarbage"); }));
    ASSERT_TRUE(hook);
    EXPECT_NE(Compile(), without);
  }
  EXPECT_EQ(Compile(), without);
}

TEST_F(HookPluginTest, EightThreadsCompileAtOnceAndOnceMoreWithTheHookRemovedMidway) {
  const std::string without = Compile();
  auto hook = std::make_unique<PassHook>(*Hook(MakeFunctionPass(Touch)));
  std::atomic<int> right = 0;
  const auto compile_all = [&](const std::function<void()>& meanwhile) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] { right += Compile() == without ? 1 : 0; });
    }
    meanwhile();
    for (std::thread& thread : threads) thread.join();
  };
  compile_all([] {});
  EXPECT_EQ(right, kThreads);
  EXPECT_EQ(hook->counts().calls, uint64_t{kThreads});
  EXPECT_EQ(hook->counts().changed, uint64_t{kThreads});
  compile_all([&] {
    while (hook->counts().calls < kThreads + 2) std::this_thread::sleep_for(1ms);
    hook.reset();
  });
  EXPECT_EQ(right, 2 * kThreads);
  EXPECT_EQ(Compile(), without);
}

TEST_F(HookPluginTest, ForeignPassesStayWhenOursGoes) {
  std::atomic<int> foreign_calls = 0;
  Result<PassHook> foreign = Hook(MakeFunctionPass([&](std::string_view) {
    ++foreign_calls;
    return std::nullopt;
  }));
  ASSERT_TRUE(foreign);
  {
    Result<PassHook> ours = Hook(MakeFunctionPass(Touch));
    ASSERT_TRUE(ours);
    Compile();
    EXPECT_EQ(ours->counts().calls, 1u);
  }
  Compile();
  EXPECT_EQ(foreign_calls, 2);
}

}  // namespace
}  // namespace eightfold::pjrt
