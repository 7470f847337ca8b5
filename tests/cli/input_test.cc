#include "cli/input.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace eightfold::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using ::testing::HasSubstr;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(DetectKind, HloText) {
  EXPECT_EQ(DetectKind("HloModule m\n"), InputKind::kHloText);
  EXPECT_EQ(DetectKind("// made by hand\n/* really */ HloModule m, x=1\n"), InputKind::kHloText);
  EXPECT_EQ(DetectKind("HloModule m\n\nENTRY e {\n p\0q"s), InputKind::kHloText);
  EXPECT_EQ(DetectKind("%add (a: f32[], b: f32[]) -> f32[] {\n"), InputKind::kHloText);
  EXPECT_EQ(DetectKind("ENTRY e { ROOT c = f32[] constant(1) }"), InputKind::kHloText);
  EXPECT_EQ(DetectKind(""), InputKind::kHloText);
}

TEST(DetectKind, StableHlo) {
  EXPECT_EQ(DetectKind("module @jit_f attributes {} {\n"), InputKind::kStableHloText);
  EXPECT_EQ(DetectKind("// lowered\nmodule {\n"), InputKind::kStableHloText);
  EXPECT_EQ(DetectKind("#loc = loc(unknown)\nmodule @m {"), InputKind::kStableHloText);
  EXPECT_EQ(DetectKind("\"builtin.module\"() ({"), InputKind::kStableHloText);
  EXPECT_EQ(DetectKind("func.func @main() {"), InputKind::kStableHloText);
  EXPECT_EQ(DetectKind("ML\xefR\x01\x02"), InputKind::kStableHloBytecode);
}

TEST(DetectKind, ProtoOfAnyMessage) {
  // Field 1 is a name in one message, a nested module in the others.
  EXPECT_EQ(DetectKind("\x0a\x04move\x12\x04main"s), InputKind::kHloProto);
  EXPECT_EQ(DetectKind("\x0a\x80\x10\x0a\x04move"s), InputKind::kHloProto);
  // A length may be any character: here tab, then a space.
  EXPECT_EQ(DetectKind("\x0a\x09HloModule\x12\x01m"s), InputKind::kHloProto);
  EXPECT_EQ(DetectKind("\x0a\x20// a name of thirty-two letters.\x12\x01m"s), InputKind::kHloProto);
}

TEST(DetectKind, EveryFileOfTheTestDataByItsExtension) {
  int files = 0;
  for (const char* folder : {"programs", "reports", "text_cases"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(EIGHTFOLD_TESTDATA) / folder)) {
      std::string extension = entry.path().extension().string();
      if (extension != ".pb" && extension != ".hlo" && extension != ".mlir") continue;
      InputKind expected = extension == ".pb"    ? InputKind::kHloProto
                           : extension == ".hlo" ? InputKind::kHloText
                                                 : InputKind::kStableHloText;
      EXPECT_EQ(DetectKind(Read(entry.path())), expected) << entry.path();
      ++files;
    }
  }
  EXPECT_GT(files, 100);
}

TEST(OpenInput, MissingFileNamesANearOne) {
  auto input = OpenInput(EIGHTFOLD_TESTDATA "/programs/mvoe.pb");
  ASSERT_FALSE(input);
  EXPECT_THAT(input.error().Format(), HasSubstr("no such file"));
  EXPECT_THAT(input.error().Format(), HasSubstr("move.pb?"));
}

TEST(OpenInput, DirectoryIsTakenForADump) {
  auto input = OpenInput(EIGHTFOLD_TESTDATA "/programs");
  ASSERT_TRUE(input) << input.error().Format();
  EXPECT_EQ(input->kind, InputKind::kDumpDirectory);
  EXPECT_EQ(input->source, nullptr);
}

TEST(LoadModule, RefusesStableHloWithAdvice) {
  auto input = OpenInput(EIGHTFOLD_TESTDATA "/programs/repro.mlir");
  ASSERT_TRUE(input) << input.error().Format();
  auto module = LoadModule(*input);
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().Format(), HasSubstr("eightfold compile"));
}

TEST(LoadModule, VerifiesWhatItReads) {
  auto input = OpenInput(EIGHTFOLD_TESTDATA "/bad_cases/13_two_roots.hlo");
  ASSERT_TRUE(input) << input.error().Format();
  EXPECT_FALSE(LoadModule(*input));
}

}  // namespace
}  // namespace eightfold::cli
