// Running programs, with the CPU plugin (fetched when it is not in the cache).
#include "pjrt/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "base/float_types.h"
#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "pjrt/executable_cache.h"
#include "pjrt/fetch.h"

namespace eightfold::pjrt {
namespace {

using hlo::PrimitiveType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = a + b, in donated memory of a, and z = sum over rows of a * 2, transposed layout inside.
constexpr char kProgram[] = R"(
HloModule two_results, input_output_alias={ {0}: (0, {}, may-alias) }
sum {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY main {
  a = f32[2,3] parameter(0)
  b = f32[3] parameter(1)
  wide = f32[2,3] broadcast(b), dimensions={1}
  y = f32[2,3] add(a, wide)
  zero = f32[] constant(0)
  z = f32[2] reduce(y, zero), dimensions={1}, to_apply=sum
  ROOT both = (f32[2,3], f32[2]) tuple(y, z)
}
)";

std::string Bytes(const std::string& text) {
  auto module = hlo::ReadText(Source::FromBytes("test.hlo", text));
  if (!module) throw std::logic_error(module.error().Format());
  return hlo::WriteProto(**module).value();
}

const Client& Cpu() {
  static const Client client = [] {
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    Result<Plugin> plugin = FindCpuPlugin();
    if (!plugin) plugin = FetchCpuPlugin(nullptr);
    if (!plugin) throw std::runtime_error(plugin.error().Format());
    Result<Client> created = Client::Create(*plugin, Platform::kCpu);
    if (!created) throw std::runtime_error(created.error().Format());
    return *created;
  }();
  return client;
}

const LoadedExecutable& TwoResults() {
  static const LoadedExecutable executable =
      LoadedExecutable::Compile(Cpu(), Bytes(kProgram)).value();
  return executable;
}

Buffer F32(std::vector<int64_t> dims, std::vector<float> values) {
  return Buffer::FromHost(Cpu(), {PrimitiveType::kF32, std::move(dims)}, values).value();
}

std::vector<Buffer> Arguments() {
  std::vector<Buffer> arguments;
  arguments.push_back(F32({2, 3}, {1, 2, 3, 4, 5, 6}));
  arguments.push_back(F32({3}, {10, 20, 30}));
  return arguments;
}

std::string ErrorOf(const std::vector<Buffer>& arguments, const ExecuteOptions& options = {}) {
  auto results = TwoResults().Execute(arguments, options);
  return results ? "no error" : results.error().what;
}

TEST(Execute, ComputesAndDonates) {
  std::vector<Buffer> arguments = Arguments();
  auto results = TwoResults().Execute(arguments);
  ASSERT_TRUE(results) << results.error().Format();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_THAT((*results)[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 14, 25, 36));
  EXPECT_THAT((*results)[1].ToHost<float>().value(), ElementsAre(66, 75));
  EXPECT_EQ(ToString((*results)[0].shape()), "f32[2,3]");
  EXPECT_TRUE(arguments[0].IsDeleted().value());
  EXPECT_FALSE(arguments[1].IsDeleted().value());
  EXPECT_EQ(ErrorOf(arguments),
            "argument 0 of two_results was donated to a program before: parameter a is f32[2,3]");
  EXPECT_FALSE(arguments[0].ToHost<float>());
  EXPECT_FALSE(arguments[0].Await());
}

TEST(Execute, KeptArgumentsAreNotDonated) {
  std::vector<Buffer> arguments = Arguments();
  ASSERT_TRUE(TwoResults().Execute(arguments, {.keep = {0}}));
  EXPECT_FALSE(arguments[0].IsDeleted().value());
  EXPECT_THAT(arguments[0].ToHost<float>().value(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ErrorOf(arguments, {.keep = {2}}), HasSubstr("no parameter 2"));
}

TEST(Execute, SignatureIsTheProgramsOwn) {
  const Signature& signature = TwoResults().signature();
  ASSERT_EQ(signature.parameters.size(), 2u);
  EXPECT_TRUE(signature.parameters[0].donated);
  EXPECT_FALSE(signature.parameters[1].donated);
  EXPECT_EQ(ToString(signature.parameters[1].shape), "f32[3]");
  ASSERT_EQ(signature.results.size(), 2u);
  EXPECT_EQ(ToString(signature.results[1]), "f32[2]");
}

// The plugin takes the first two without a word, and reads past the end of others.
TEST(Execute, ArgumentsAreCheckedAgainstTheProgram) {
  std::vector<Buffer> arguments = Arguments();
  arguments[0] = F32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorOf(arguments), "argument 0 of two_results is f32[3,2]: parameter a is f32[2,3]");
  arguments = Arguments();
  arguments[1] =
      Buffer::FromHost(Cpu(), {PrimitiveType::kS32, {3}}, std::vector<int>{1, 2, 3}).value();
  EXPECT_EQ(ErrorOf(arguments), "argument 1 of two_results is s32[3]: parameter b is f32[3]");
  arguments = Arguments();
  arguments.pop_back();
  EXPECT_EQ(ErrorOf(arguments), "two_results takes 2 arguments; 1 were given");
  const Buffer* nothing[] = {nullptr, nullptr};
  EXPECT_FALSE(TwoResults().Execute(nothing));
  Client other = Client::Create(Cpu().plugin(), Platform::kCpu).value();
  arguments = Arguments();
  arguments[1] = Buffer::FromHost(other, {PrimitiveType::kF32, {3}}, std::vector<float>(3)).value();
  EXPECT_THAT(ErrorOf(arguments), HasSubstr("another client's device"));
}

TEST(Execute, OneBufferTwiceIsRefusedOnlyWhenDonated) {
  const std::string program = Bytes(R"(
HloModule pair, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT c = f32[2] multiply(a, b)
})");
  LoadedExecutable pair = LoadedExecutable::Compile(Cpu(), program).value();
  Buffer x = F32({2}, {3, 4});
  const Buffer* twice[] = {&x, &x};
  auto refused = pair.Execute(twice);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("passed twice and donated"));
  auto kept = pair.Execute(twice, {.keep = {0}});
  ASSERT_TRUE(kept) << kept.error().Format();
  EXPECT_THAT((*kept)[0].ToHost<float>().value(), ElementsAre(9, 16));
}

TEST(Buffer, SizesAndTypesAreChecked) {
  const std::vector<float> three(3);
  auto wrong = Buffer::FromHost(Cpu(), {PrimitiveType::kF32, {2, 2}}, three);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "f32[2,2] takes 16 bytes; there are 12");
  EXPECT_FALSE(Buffer::FromHost(Cpu(), {PrimitiveType::kF32, {-3}}, three));
  EXPECT_FALSE(Buffer::FromHost(Cpu(), {PrimitiveType::kF32, {1 << 30, 1 << 30}}, three));
  EXPECT_FALSE(Buffer::FromHost(Cpu(), {PrimitiveType::kInvalid, {3}}, three));
  EXPECT_FALSE(Buffer::FromHost(Cpu(), {PrimitiveType::kToken, {3}}, three));
  EXPECT_FALSE(Buffer::FromHost(Cpu(), {PrimitiveType::kU4, {24}}, three));
  std::byte small[4];
  EXPECT_FALSE(F32({2}, {1, 2}).ToHost(small));
}

TEST(Buffer, EveryTypeComesBackAsItWent) {
  for (int number = 0; number < hlo::kPrimitiveTypeCount; ++number) {
    const auto type = static_cast<PrimitiveType>(number);
    if (AbiType(type) == 0) continue;
    const ArrayShape shape{type, {2, 3}};
    std::vector<uint8_t> bytes(shape.bytes());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(type == PrimitiveType::kPred ? i % 2 : 17 * i + 1);
    }
    auto buffer = Buffer::FromHost(Cpu(), shape, bytes);
    ASSERT_TRUE(buffer) << ToString(shape) << ": " << buffer.error().Format();
    EXPECT_EQ(buffer->ToHost<uint8_t>().value(), bytes) << ToString(shape);
  }
}

TEST(Buffer, EmptyArraysAndScalars) {
  EXPECT_TRUE(F32({0, 3}, {}).ToHost<float>().value().empty());
  EXPECT_THAT(F32({}, {2.5f}).ToHost<float>().value(), ElementsAre(2.5f));
}

// A result whose layout on the device is column-major.
TEST(Buffer, HostOrderIsRowMajorWhateverTheLayout) {
  const std::string program = Bytes(R"(
HloModule layouts, entry_computation_layout={(f32[2,3]{0,1})->f32[3,2]{0,1}}
ENTRY main {
  a = f32[2,3]{0,1} parameter(0)
  ROOT t = f32[3,2]{0,1} transpose(a), dimensions={1,0}
})");
  auto executable = LoadedExecutable::Compile(Cpu(), program);
  ASSERT_TRUE(executable) << executable.error().Format();
  std::vector<Buffer> arguments;
  arguments.push_back(F32({2, 3}, {1, 2, 3, 4, 5, 6}));
  auto results = executable->Execute(arguments);
  ASSERT_TRUE(results) << results.error().Format();
  EXPECT_THAT((*results)[0].ToHost<float>().value(), ElementsAre(1, 4, 2, 5, 3, 6));
}

// Conversions to e4m3 against our own tables.
TEST(Execute, F8ConversionRoundsToNearestEven) {
  const std::string program = Bytes(R"(
HloModule f8
ENTRY main {
  a = f32[7] parameter(0)
  ROOT t = f8e4m3fn[7] convert(a)
})");
  const std::vector<float> values = {0, -1.0625f, 1.1875f, 448, 464, -1e9f, NAN};
  std::vector<Buffer> arguments;
  arguments.push_back(F32({7}, values));
  auto results = LoadedExecutable::Compile(Cpu(), program).value().Execute(arguments);
  ASSERT_TRUE(results) << results.error().Format();
  const std::vector<uint8_t> bits = (*results)[0].ToHost<uint8_t>().value();
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsNan(kFloatF8E4M3FN, bits[i])) {
      EXPECT_TRUE(IsNan(kFloatF8E4M3FN, EncodeFloat(kFloatF8E4M3FN, values[i]))) << values[i];
    } else {
      EXPECT_EQ(bits[i], EncodeFloat(kFloatF8E4M3FN, values[i])) << values[i];
    }
  }
}

TEST(Compile, BadProgramsAreErrors) {
  for (const std::string& program :
       {std::string(), std::string("garbage"), Bytes(kProgram).substr(0, 100)}) {
    EXPECT_FALSE(LoadedExecutable::Compile(Cpu(), program));
  }
  const std::string unknown = Bytes(R"(
HloModule unknown
ENTRY main { ROOT c = f32[2] custom-call(), custom_call_target="nobody_has_this" })");
  auto refused = LoadedExecutable::Compile(Cpu(), unknown);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("nobody_has_this"));
  const std::string tuple = Bytes(R"(
HloModule tuple
ENTRY main { t = (f32[2], f32[]) parameter(0)
  ROOT c = f32[2] get-tuple-element(t), index=0 })");
  auto nested = LoadedExecutable::Compile(Cpu(), tuple);
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().what, "parameter t cannot be passed: (f32[2], f32[]) is not an array");
}

TEST(Compile, UnknownOptionIsAnError) {
  for (const auto& flag : {std::pair("xla_cpu_enable_fast_min_max", "false"),
                           std::pair("xla_backend_optimization_level", "1")}) {
    auto compiled = LoadedExecutable::Compile(Cpu(), Bytes(kProgram), {.xla_flags = {flag}});
    EXPECT_TRUE(compiled) << compiled.error().Format();
  }
  EXPECT_FALSE(LoadedExecutable::Compile(Cpu(), Bytes(kProgram),
                                         {.xla_flags = {{"xla_no_such_flag", "1"}}}));
}

TEST(Client, PluginForAnotherPlatformIsRefused) {
  auto client = Client::Create(Cpu().plugin(), Platform::kCuda);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().what, HasSubstr("runs programs on cpu, not on cuda"));
}

TEST(Client, OutlivedByItsBuffers) {
  std::optional<Buffer> buffer;
  {
    Client client = Client::Create(Cpu().plugin(), Platform::kCpu).value();
    buffer = Buffer::FromHost(client, {PrimitiveType::kF32, {1}}, std::vector<float>{7}).value();
  }
  EXPECT_THAT(buffer->ToHost<float>().value(), ElementsAre(7));
}

TEST(Execute, ManyThreadsShareOneExecutable) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 50; ++i) {
        std::vector<Buffer> arguments = Arguments();
        auto results = TwoResults().Execute(arguments);
        arguments.clear();  // while the program may still run
        const auto sums = (*results)[1].ToHost<float>().value();
        wrong[t] += sums != std::vector<float>{66, 75};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/executables-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  bool FromCache(const std::string& program, const ExecutableOptions& options = {}) {
    auto loaded = ExecutableCache(folder_).Load(Cpu(), program, options);
    if (!loaded) throw std::runtime_error(loaded.error().Format());
    EXPECT_EQ(loaded->store_error, "");
    auto results = loaded->executable.Execute(Arguments());
    EXPECT_THAT((*results)[1].ToHost<float>().value(), ElementsAre(66, 75));
    return loaded->from_cache;
  }
  std::filesystem::path folder_;
};

TEST_F(CacheTest, SecondLoadComesFromTheCacheAndGivesTheSame) {
  const std::string program = Bytes(kProgram);
  EXPECT_FALSE(FromCache(program));
  EXPECT_TRUE(FromCache(program));
  EXPECT_FALSE(FromCache(program, {.xla_flags = {{"xla_cpu_enable_fast_min_max", "false"}}}));
  EXPECT_FALSE(FromCache(Bytes(std::string(kProgram).replace(11, 3, "dos"))));
}

TEST_F(CacheTest, DamagedEntriesAreCompiledAgain) {
  const std::string program = Bytes(kProgram);
  EXPECT_FALSE(FromCache(program));
  const auto entry = ExecutableCache(folder_).EntryFor(Cpu(), program);
  std::string bytes(Source::Open(entry.string()).value()->bytes());
  for (std::string damaged : {bytes.substr(0, bytes.size() / 2), std::string(), bytes + "x"}) {
    ASSERT_TRUE(WriteFile(entry.string(), damaged));
    EXPECT_FALSE(FromCache(program));
  }
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(WriteFile(entry.string(), bytes));
  EXPECT_FALSE(FromCache(program));
  EXPECT_TRUE(FromCache(program));
}

TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  ASSERT_TRUE(WriteFile((folder_ / "file").string(), "in the way"));
  auto loaded = ExecutableCache(folder_ / "file").Load(Cpu(), Bytes(kProgram));
  ASSERT_TRUE(loaded) << loaded.error().Format();
  EXPECT_THAT(loaded->store_error, HasSubstr("file"));
}

TEST(CudaClient, WithoutGpuTheErrorSaysWhatToCheck) {
  Result<Plugin> plugin = FindPlugin("0.10.2");
  if (!plugin) plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_TRUE(plugin) << plugin.error().Format();
  auto client = Client::Create(*plugin, Platform::kCuda);
  if (client) GTEST_SKIP() << "this machine has a GPU: " << client->device_kind();
  EXPECT_THAT(client.error().what, HasSubstr("plugin jax-cuda12-pjrt 0.10.2 loaded"));
  EXPECT_THAT(client.error().what, HasSubstr("No visible GPU devices"));
  EXPECT_THAT(client.error().next, HasSubstr("nvidia-smi"));
}

}  // namespace
}  // namespace eightfold::pjrt
