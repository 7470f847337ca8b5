#include "selfplay/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/float_types.h"
#include "base/source.h"
#include "selfplay/parameters.h"

namespace eightfold::selfplay {
namespace {

using hlo::PrimitiveType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file as the format's description says, made by hand.
std::string File(const std::string& header, const std::string& data) {
  uint64_t size = header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(size >> (8 * i));
  return bytes + header + data;
}

const char kTwo[] = R"({"b":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[8,11]},)"
                    R"("__metadata__":{"game":"othello6"},)"
                    R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}  )";

TEST(Safetensors, ReadsAFileMadeByHand) {
  auto file = DecodeTensors(File(kTwo, "12345678xyz"), "f");
  ASSERT_TRUE(file) << file.error().Format();
  EXPECT_THAT(file->tensors, ElementsAre(Tensor{"a", PrimitiveType::kF32, {2, 1}, "12345678"},
                                         Tensor{"b", PrimitiveType::kF8E4M3FN, {3}, "xyz"}));
  EXPECT_EQ(file->metadata.at("game"), "othello6");
}

TEST(Safetensors, WritesWideTensorsFirstAndPadsTheHeader) {
  TensorFile file{.tensors = {{"b", PrimitiveType::kF8E4M3FN, {3}, "xyz"},
                              {"a", PrimitiveType::kF32, {2, 1}, "12345678"}}};
  std::string bytes = EncodeTensors(file);
  std::string header = R"({"b":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[8,11]},)"
                       R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(bytes, File(header, "12345678xyz"));
}

TEST(Safetensors, EveryTypeComesBack) {
  using enum PrimitiveType;
  TensorFile file{.metadata = {{"key", "with \"quotes\" and\nlines"}}};
  for (PrimitiveType type : {kF64, kS64, kU64, kF32, kS32, kU32, kF16, kBF16, kS16, kU16, kF8E5M2,
                             kF8E4M3FN, kS8, kU8, kPred}) {
    size_t bytes = static_cast<size_t>(hlo::BitWidth(type) + 7) / 8;
    file.tensors.push_back(
        {std::string(hlo::Name(type)), type, {2, 3}, std::string(6 * bytes, 'x')});
  }
  auto again = DecodeTensors(EncodeTensors(file), "f");
  ASSERT_TRUE(again) << again.error().Format();
  EXPECT_EQ(*again, file);
}

TEST(Safetensors, EmptyTensorsAndFiles) {
  TensorFile file{.tensors = {{"none", PrimitiveType::kF32, {0, 5}, ""},
                              {"scalar", PrimitiveType::kF32, {}, "1234"}}};
  auto again = DecodeTensors(EncodeTensors(file), "f");
  ASSERT_TRUE(again) << again.error().Format();
  EXPECT_EQ(*again, file);
  EXPECT_EQ(*DecodeTensors(EncodeTensors({}), "f"), TensorFile());
}

struct Bad {
  std::string bytes;
  std::string says;
};
std::string Entry(const std::string& text) { return File("{\"w\":" + text + "}", "12345678"); }

TEST(Safetensors, SaysWhatIsWrong) {
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  ASSERT_TRUE(DecodeTensors(Entry(good), "f"));
  const Bad cases[] = {
      {"", "too short"},
      {std::string("\x08\0\0\0\0\0\0", 7), "too short"},
      {std::string(8, '\xff'), "more than 16777216"},
      {File(kTwo, "").substr(0, 60), "the end is missing"},
      {File("[]", ""), "not a JSON object"},
      {File("{", ""), "not a JSON object"},
      {File(std::string(1 << 20, '['), ""), "not a JSON object"},
      {File("{\"w\":" + good + ",\"w\":" + good + "}", "12345678"), "tensor \"w\": is there twice"},
      {File("{\"__metadata__\":3}", ""), "__metadata__"},
      {File("{\"__metadata__\":{\"k\":3}}", ""), "\"k\" is no text"},
      {Entry("3"), "tensor \"w\": not described"},
      {Entry("{}"), "tensor \"w\": needs dtype"},
      {Entry(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})"), "unknown dtype \"F31\""},
      {Entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), "tensor \"w\": \"shape\""},
      {Entry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), "\"shape\""},
      {Entry(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), "\"shape\""},
      {Entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), "\"data_offsets\""},
      {Entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), "\"x\" is unknown"},
      {Entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,9]})"), "data at 0 to 9, of 8"},
      {Entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), "data at 8 to 0"},
      {Entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "4 bytes at the end"},
      {Entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), "a gap"},
      {Entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), "f32[3] does not have 8"},
      {Entry(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,8]})"),
       "does not have 8 bytes"},
      {Entry(good + ",\"v\":" + good), "overlaps"},
      {Entry(good + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), "overlaps"},
  };
  for (const Bad& bad : cases) {
    auto file = DecodeTensors(bad.bytes, "net.safetensors");
    ASSERT_FALSE(file) << bad.says;
    EXPECT_THAT(file.error().Format(), AllOf(HasSubstr("net.safetensors: "), HasSubstr(bad.says)));
  }
}

TEST(Safetensors, NoPrefixAndNoChangedByteCrashes) {
  const std::string whole = File(kTwo, "12345678xyz");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeTensors(std::string_view(whole).substr(0, size), "f"));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      if (auto file = DecodeTensors(changed, "f")) EncodeTensors(*file);
    }
  }
}

TEST(Safetensors, WhatNoFileHoldsIsAMistake) {
  Tensor good{"w", PrimitiveType::kF32, {2}, "12345678"};
  Tensor of_another_size = good;
  of_another_size.dims = {3};
  Tensor unknown = good;
  unknown.type = PrimitiveType::kC64;
  EXPECT_THROW(EncodeTensors({.tensors = {good, good}}), std::logic_error);
  EXPECT_THROW(EncodeTensors({.tensors = {of_another_size}}), std::logic_error);
  EXPECT_THROW(EncodeTensors({.tensors = {unknown}}), std::logic_error);
}

constexpr NetworkOptions kNetwork = {
    .rows = 6, .columns = 6, .planes = 3, .actions = 37, .width = 32, .blocks = 2};

NetworkOptions In(Precision precision) {
  NetworkOptions options = kNetwork;
  options.precision = precision;
  return options;
}

std::vector<float> Values(const Parameters& parameters, const std::string& name) {
  for (const Tensor& tensor : parameters) {
    if (tensor.name != name) continue;
    std::vector<float> values;
    if (tensor.type == PrimitiveType::kF8E4M3FN) {
      for (char c : tensor.bytes) {
        values.push_back(
            static_cast<float>(DecodeFloat(kFloatF8E4M3FN, static_cast<unsigned char>(c))));
      }
      return values;
    }
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  throw std::runtime_error("no " + name);
}

TEST(Parameters, RandomOnesHaveTheVarianceOfTheirInputs) {
  Parameters parameters = RandomParameters(kNetwork, 7);
  EXPECT_EQ(parameters, RandomParameters(kNetwork, 7));
  EXPECT_NE(parameters, RandomParameters(kNetwork, 8));
  auto mean_square = [&](const std::string& name) {
    double sum = 0;
    auto values = Values(parameters, name);
    for (float value : values) sum += double{value} * value;
    return sum / static_cast<double>(values.size());
  };
  EXPECT_NEAR(mean_square("block0.conv0.weight"), 2. / (9 * 32), 0.05 * 2 / (9 * 32));
  EXPECT_NEAR(mean_square("block1.conv1.weight"), 1. / (9 * 32), 0.05 * 1 / (9 * 32));
  EXPECT_EQ(mean_square("block1.conv1.bias"), 0);
}

TEST(Parameters, Fp8UsesTheWholeRangeAndIsNear) {
  Parameters f32 = RandomParameters(kNetwork, 7);
  std::vector<float> inputs = {448, 44.8F, 896, 0};
  Parameters fp8 = ToPrecision(In(Precision::kFp8), f32, inputs);
  EXPECT_FLOAT_EQ(Values(fp8, "block0.conv0.input_scale")[0], 1);
  EXPECT_FLOAT_EQ(Values(fp8, "block0.conv1.input_scale")[0], 0.1F);
  EXPECT_FLOAT_EQ(Values(fp8, "block1.conv0.input_scale")[0], 2);
  EXPECT_FLOAT_EQ(Values(fp8, "block1.conv1.input_scale")[0], 1);
  auto exact = Values(f32, "block1.conv0.weight");
  auto rounded = Values(fp8, "block1.conv0.weight");
  float scale = Values(fp8, "block1.conv0.weight_scale")[0];
  float largest = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(rounded[i]));
    // Three bits of mantissa, and at the bottom steps of 2^-9.
    EXPECT_LE(std::abs(rounded[i] * scale - exact[i]),
              std::max(std::abs(exact[i]) / 16, scale / 1024) * 1.0001F);
  }
  EXPECT_EQ(largest, 448);
  EXPECT_THROW(ToPrecision(In(Precision::kFp8), f32, std::vector<float>(3)), std::logic_error);
}

class ParameterFile : public ::testing::Test {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  fmt::format("eightfold-parameters-{}", getpid());
  std::string path_ = folder_ / "net.safetensors";
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(ParameterFile, ComesBackInEveryPrecision) {
  Parameters f32 = RandomParameters(kNetwork, 7);
  for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kFp8}) {
    Parameters parameters =
        ToPrecision(In(precision), f32, std::vector<float>{kLargestInputOfRandom});
    ASSERT_TRUE(WriteParameters(path_, parameters));
    auto again = ReadParameters(path_, In(precision));
    ASSERT_TRUE(again) << again.error().Format();
    EXPECT_EQ(*again, parameters);
  }
}

TEST_F(ParameterFile, OfAnotherNetworkIsRefused) {
  Parameters f32 = RandomParameters(kNetwork, 7);
  ASSERT_TRUE(WriteParameters(path_, f32));
  auto error = [&](NetworkOptions options) {
    auto parameters = ReadParameters(path_, options);
    return parameters ? "" : parameters.error().Format();
  };
  EXPECT_EQ(error(In(Precision::kF32)), "");
  EXPECT_THAT(error(In(Precision::kBf16)),
              AllOf(HasSubstr(path_), HasSubstr("\"stem\" is f32[3,3,3,32], the network has "
                                                "bf16[3,3,3,32]")));
  NetworkOptions other = In(Precision::kF32);
  other.blocks = 3;
  EXPECT_THAT(error(other), HasSubstr("\"block2.conv0.weight\" is missing"));
  other.blocks = 1;
  EXPECT_THAT(error(other), HasSubstr("\"block1.conv0.bias\" is none of the network's"));
  std::filesystem::remove(path_);
  EXPECT_THAT(error(In(Precision::kF32)), HasSubstr(path_));
}

}  // namespace
}  // namespace eightfold::selfplay
