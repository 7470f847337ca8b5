// The pass hook, with a plugin of ours that has the stock plugins' transform extension. Also run
// under ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pjrt/pass_hook.h"
#include "test_passes.h"

namespace eightfold::pjrt {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A foreign user of the extension, such as JAX.
struct Foreign : abi::TransformCallbacks {
  explicit Foreign(std::function<void(abi::TransformArgs*)> function_)
      : TransformCallbacks{1, &Destroyed, &Call}, function(std::move(function_)) {}
  static void Destroyed(abi::TransformCallbacks* self) { delete static_cast<Foreign*>(self); }
  static void Call(abi::TransformCallbacks* self, abi::TransformArgs* args) {
    static_cast<Foreign*>(self)->function(args);
  }
  std::function<void(abi::TransformArgs*)> function;
};

void AppendForeign(abi::TransformArgs* args) {
  auto* bytes = new std::string(std::string(args->hlo_in.data, args->hlo_in.size) + "+foreign");
  args->header.data = bytes;
  args->header.cleanup = [](void* data) { delete static_cast<std::string*>(data); };
  args->hlo_out = {bytes->data(), bytes->size()};
  args->changed = true;
}

class HookTest : public ::testing::Test {
 protected:
  static Api Load(const char* library) {
    Result<Api> api = Api::Load(library);
    EXPECT_TRUE(api) << api.error().Format();
    return *api;
  }
  PassHook Hook(std::shared_ptr<Pass> pass) {
    Result<PassHook> hook =
        PassHook::Register(api_, "test pass", Stage::kPreScheduler, std::move(pass));
    EXPECT_TRUE(hook) << hook.error().Format();
    return *std::move(hook);
  }
  // What the plugin makes of `program`; its error when it fails.
  std::string Compile(std::string_view program) {
    Result<Topology> topology = Topology::Create(api_, "", "1x1x1");
    if (!topology) return topology.error().what;
    Result<Executable> executable = Executable::Compile(api_, *topology, program, "hlo", "");
    if (!executable) return executable.error().what;
    return executable->Optimized()->bytes;
  }
  const abi::TransformExtension* Transforms() {
    return reinterpret_cast<const abi::TransformExtension*>(api_.FindExtension(24));
  }
  void RegisterForeign(std::string_view name, std::function<void(abi::TransformArgs*)> function) {
    abi::RegisterTransformArgs args{sizeof(args), name.data(), name.size(), 0,
                                    new Foreign(std::move(function))};
    ASSERT_EQ(Transforms()->register_transform(&args), nullptr);
  }
  bool RemoveForeign(std::string_view name) {
    abi::RemoveTransformArgs args{sizeof(args), 0, name.data(), name.size(), nullptr, false};
    EXPECT_EQ(Transforms()->remove_transform(&args), nullptr);
    return args.found;
  }
  Api api_ = Load(FAKE_PLUGIN);
};

TEST_F(HookTest, PluginWithoutTheExtensionIsRefusedWithTheVersionsThatHaveIt) {
  const Api old = Load(FAKE_OLD_PLUGIN);
  EXPECT_FALSE(PassHook::Supported(old));
  EXPECT_TRUE(PassHook::Supported(api_));
  Result<PassHook> hook =
      PassHook::Register(old, "test pass", Stage::kPreScheduler, Appending("+a"));
  ASSERT_FALSE(hook);
  EXPECT_EQ(hook.error().exit_code, ExitCode::kCompiler);
  EXPECT_THAT(hook.error().what, HasSubstr("lacks the transform extension"));
  EXPECT_THAT(hook.error().next, HasSubstr("from 0.10.2 on"));
}

TEST_F(HookTest, ChangedModuleIsWhatThePluginGoesOnWith) {
  PassHook hook = Hook(Appending("+a"));
  EXPECT_EQ(Compile("p"), "compiled p+a");
  EXPECT_EQ(hook.counts().calls, 1u);
  EXPECT_EQ(hook.counts().changed, 1u);
  EXPECT_EQ(hook.counts().failed, 0u);
  EXPECT_FALSE(hook.first_error());
}

TEST_F(HookTest, BytesGoThroughAsTheyAre) {
  const std::string bytes("\0garbage\xff\0", 10);
  PassHook hook = Hook(MakeFunctionPass([&](std::string_view) { return std::optional(bytes); }));
  EXPECT_EQ(Compile("p"), "compiled " + bytes);
}

TEST_F(HookTest, PassThatReturnsNothingOrTheSameBytesChangedNothing) {
  PassHook nothing = Hook(MakeFunctionPass([](std::string_view) { return std::nullopt; }));
  PassHook same = Hook(Appending(""));
  EXPECT_EQ(Compile("p"), "compiled p");
  EXPECT_EQ(nothing.counts().calls, 1u);
  EXPECT_EQ(nothing.counts().changed, 0u);
  EXPECT_EQ(same.counts().calls, 1u);
  EXPECT_EQ(same.counts().changed, 0u);
}

TEST_F(HookTest, PostSchedulerPassSeesWhatThePreSchedulerPassesMade) {
  Result<PassHook> post =
      PassHook::Register(api_, "post", Stage::kPostScheduler, Appending("+post"));
  ASSERT_TRUE(post);
  PassHook pre = Hook(Appending("+pre"));
  EXPECT_EQ(Compile("p"), "compiled p+pre+post");
}

TEST_F(HookTest, TimeSpentInThePassIsSummed) {
  PassHook hook = Hook(MakeFunctionPass([](std::string_view) {
    std::this_thread::sleep_for(10ms);
    return std::nullopt;
  }));
  Compile("p");
  Compile("p");
  EXPECT_GE(hook.counts().seconds, 0.02);
}

int Count(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(HookTest, FailingPassLeavesModulesAloneAndWarnsOnce) {
  int call = 0;
  PassHook hook =
      Hook(MakeFunctionPass([&](std::string_view) -> Result<std::optional<std::string>> {
        return FailCompiler("cannot read module " + std::to_string(++call));
      }));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Compile("p"), "compiled p");
  EXPECT_EQ(Compile("p"), "compiled p");
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(printed, "warning: test pass: cannot read module 1"), 1) << printed;
  EXPECT_EQ(Count(printed, "warning"), 1) << printed;
  EXPECT_EQ(hook.counts().calls, 2u);
  EXPECT_EQ(hook.counts().failed, 2u);
  EXPECT_EQ(hook.counts().changed, 0u);
  EXPECT_EQ(hook.first_error()->what, "cannot read module 1");
}

TEST_F(HookTest, NothingThatAPassThrowsReachesThePlugin) {
  int call = 0;
  PassHook hook = Hook(MakeFunctionPass([&](std::string_view) -> std::optional<std::string> {
    switch (++call) {
      case 1:
        throw std::runtime_error("from the pass");
      case 2:
        throw std::bad_alloc();
      case 3:
        throw 5;
      default:
        return "done";
    }
  }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Compile("p"), "compiled p");
  EXPECT_EQ(Compile("p"), "compiled done");
  EXPECT_EQ(hook.counts().failed, 3u);
  EXPECT_THAT(hook.first_error()->what, HasSubstr("from the pass"));
}

TEST_F(HookTest, ForeignTransformsRunInOrderAndStayWhenOursGoes) {
  RegisterForeign("before", AppendForeign);
  {
    PassHook hook = Hook(Appending("+a"));
    RegisterForeign("after", AppendForeign);
    EXPECT_EQ(Compile("p"), "compiled p+foreign+a+foreign");
  }
  EXPECT_EQ(Compile("p"), "compiled p+foreign+foreign");
  EXPECT_TRUE(RemoveForeign("before"));
  EXPECT_TRUE(RemoveForeign("after"));
  EXPECT_EQ(Compile("p"), "compiled p");
}

TEST_F(HookTest, ErrorOfAForeignTransformIsNotOurs) {
  PassHook hook = Hook(Appending("+a"));
  RegisterForeign("bad", [](abi::TransformArgs* args) {
    args->header.has_error = true;
    args->header.message = {"foreign trouble", 15};
  });
  EXPECT_EQ(Compile("p"), "foreign trouble");
  EXPECT_TRUE(RemoveForeign("bad"));
  EXPECT_FALSE(hook.first_error());
  EXPECT_EQ(Compile("p"), "compiled p+a");
}

TEST_F(HookTest, HooksOfOneNameAreIndependent) {
  auto first = std::make_unique<PassHook>(Hook(Appending("+1")));
  PassHook second = Hook(Appending("+2"));
  EXPECT_EQ(Compile("p"), "compiled p+1+2");
  first.reset();
  EXPECT_EQ(Compile("p"), "compiled p+2");
}

TEST_F(HookTest, PassGoesWithItsHookAndCanComeBack) {
  for (int i = 0; i < 20; ++i) {
    std::shared_ptr<Pass> pass = Appending("+a");
    const std::weak_ptr<Pass> watch = pass;
    {
      PassHook hook = Hook(std::move(pass));
      EXPECT_EQ(Compile("p"), "compiled p+a");
      EXPECT_FALSE(watch.expired());
    }
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(Compile("p"), "compiled p");
  }
}

TEST_F(HookTest, MovedHookKeepsThePass) {
  PassHook hook = Hook(Appending("+a"));
  PassHook moved = std::move(hook);
  EXPECT_EQ(Compile("p"), "compiled p+a");
  EXPECT_EQ(moved.counts().calls, 1u);
}

TEST_F(HookTest, EightThreadsCompileAtOnce) {
  constexpr int kThreads = 8;
  constexpr int kCompiles = 50;
  PassHook hook = Hook(Appending("+a"));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kCompiles; ++i) {
        const std::string program = std::to_string(thread) + "." + std::to_string(i);
        if (Compile(program) == "compiled " + program + "+a") ++right;
        (void)hook.counts();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kCompiles);
  EXPECT_EQ(hook.counts().calls, uint64_t{kThreads * kCompiles});
  EXPECT_EQ(hook.counts().changed, uint64_t{kThreads * kCompiles});
}

TEST_F(HookTest, OneCompileMayCallFromSeveralThreads) {
  PassHook hook = Hook(Appending("+a"));
  EXPECT_EQ(Compile("parallel"), "compiled parallel+a");
  EXPECT_EQ(hook.counts().calls, 5u);
}

TEST_F(HookTest, ThreadsThatFailAtOnceKeepOneError) {
  PassHook hook = Hook(MakeFunctionPass([](std::string_view) -> std::optional<std::string> {
    throw std::runtime_error("all fail");
  }));
  EXPECT_EQ(Compile("parallel"), "compiled parallel");
  EXPECT_EQ(hook.counts().failed, 5u);
  EXPECT_THAT(hook.first_error()->what, HasSubstr("all fail"));
}

TEST_F(HookTest, HooksComeAndGoWhileThreadsCompile) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      while (!stop) {
        const std::string compiled = Compile("p");
        if (compiled != "compiled p" && compiled != "compiled p+a") ++wrong;
      }
    });
  }
  std::atomic<int> late = 0;
  uint64_t calls = 0;
  for (int i = 0; i < 200; ++i) {
    auto alive = std::make_shared<std::atomic<bool>>(true);
    {
      PassHook hook = Hook(MakeFunctionPass([&late, alive](std::string_view module) {
        if (!*alive) ++late;
        return std::optional(std::string(module) + "+a");
      }));
      if (i % 4 == 0) std::this_thread::sleep_for(1ms);
      calls += hook.counts().calls;
    }
    *alive = false;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(late, 0) << "a pass was called after its hook had gone";
  EXPECT_GT(calls, 0u);
  EXPECT_EQ(Compile("p"), "compiled p");
}

TEST_F(HookTest, RemovalWaitsForTheCallInFlight) {
  std::promise<void> entered;
  std::promise<void> release;
  auto hook = std::make_unique<PassHook>(Hook(MakeFunctionPass([&](std::string_view) {
    entered.set_value();
    release.get_future().wait();
    return std::optional<std::string>("slow");
  })));
  std::future<std::string> compiled = std::async(std::launch::async, [&] { return Compile("p"); });
  entered.get_future().wait();
  std::future<void> removed = std::async(std::launch::async, [&] { hook.reset(); });
  EXPECT_EQ(removed.wait_for(50ms), std::future_status::timeout);
  // Whoever compiles meanwhile does without the pass.
  EXPECT_EQ(Compile("q"), "compiled q");
  release.set_value();
  removed.get();
  EXPECT_EQ(compiled.get(), "compiled slow");
}

// The plugin has taken note of our transform, but calls it only after we have gone.
TEST_F(HookTest, CompileThatBeganBeforeTheRemovalGoesOnWithoutThePass) {
  std::promise<void> entered;
  std::promise<void> release;
  RegisterForeign("slow", [&](abi::TransformArgs*) {
    entered.set_value();
    release.get_future().wait();
  });
  auto hook = std::make_unique<PassHook>(Hook(Appending("+a")));
  std::future<std::string> compiled = std::async(std::launch::async, [&] { return Compile("p"); });
  entered.get_future().wait();
  hook.reset();
  release.set_value();
  EXPECT_EQ(compiled.get(), "compiled p");
  EXPECT_TRUE(RemoveForeign("slow"));
}

}  // namespace
}  // namespace eightfold::pjrt
