#include "base/result.h"

#include <gtest/gtest.h>

#include <string>

namespace eightfold {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Fail("odd", "try an even number");
  return n / 2;
}

Result<int> Quarter(int n) {
  EF_TRY(int half, Half(n));
  return Half(half);
}

Result<void> CheckQuarter(int n) {
  EF_CHECK_OK(Quarter(n));
  return {};
}

TEST(ResultTest, TryUnwrapsOrReturnsTheError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().what, "odd");
  EXPECT_EQ(Quarter(6).error().next, "try an even number");
  EXPECT_TRUE(CheckQuarter(8).has_value());
  EXPECT_EQ(CheckQuarter(3).error().what, "odd");
}

TEST(ResultTest, CompilerErrorsLeadToTheirOwnExitCode) {
  EXPECT_EQ(Fail("x").value().exit_code, ExitCode::kInput);
  EXPECT_EQ(FailCompiler("x").value().exit_code, ExitCode::kCompiler);
}

TEST(ErrorTest, ATextErrorShowsTheLineAndACaret) {
  std::string text = "HloModule m\nENTRY e {\n  ROOT a = f32[] frob(b)\n}\n";
  Error error{.what = "unknown opcode frob",
              .where = LocateInText("m.hlo", text, text.find("frob"), 4),
              .next = "known ones are in the table\nsee --help"};
  EXPECT_EQ(error.Format(),
            "error: m.hlo:3:18: unknown opcode frob\n"
            "     3 |   ROOT a = f32[] frob(b)\n"
            "       |                  ^~~~\n"
            "  known ones are in the table\n"
            "  see --help");
}

TEST(ErrorTest, AProtoErrorShowsTheFieldPath) {
  Error error{.what = "no shape",
              .where = {.file = "m.pb", .field_path = "computations[3].instructions[12].shape"}};
  EXPECT_EQ(error.Format(), "error: m.pb: computations[3].instructions[12].shape: no shape");
}

TEST(ErrorTest, WithoutAPlaceThereIsOnlyTheMessage) {
  EXPECT_EQ(Error{.what = "no such file: x"}.Format(), "error: no such file: x");
}

TEST(ErrorTest, ALineOf200kBIsShownAroundTheCaretOnly) {
  std::string text = "x" + std::string(200'000, 'a') + "HERE" + std::string(200'000, 'b') + "\nend";
  size_t offset = text.find("HERE");
  Error error{.what = "wrong", .where = LocateInText("m.hlo", text, offset, 4)};
  std::string shown = error.Format();
  EXPECT_LT(shown.size(), 500);
  EXPECT_NE(shown.find("m.hlo:1:200002:"), std::string::npos) << shown;
  size_t first_line = shown.find('\n');
  size_t second_line = shown.find('\n', first_line + 1);
  // The caret is below the H, on the next line.
  size_t column_of_text = shown.find("HERE") - first_line;
  EXPECT_EQ(shown.find("^~~~") - second_line, column_of_text) << shown;
}

TEST(ErrorTest, ControlCharactersOfTheInputAreNotPrinted) {
  std::string text = std::string("a\x1b[31m\x07 b\tc\0d", 14);
  Error error{.what = "wrong", .where = LocateInText("m.hlo", text, 0)};
  for (char c : error.Format()) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 32) << int{c};
  }
}

TEST(LocateInTextTest, CountsLinesAndBytesFromOne) {
  std::string text = "ab\ncd\n\nef";
  Location start = LocateInText("f", text, 0);
  EXPECT_EQ(start.line, 1);
  EXPECT_EQ(start.column, 1);
  EXPECT_EQ(start.line_text, "ab");
  Location d = LocateInText("f", text, 4);
  EXPECT_EQ(d.line, 2);
  EXPECT_EQ(d.column, 2);
  EXPECT_EQ(LocateInText("f", text, 6).line, 3);
  EXPECT_EQ(LocateInText("f", text, 7).line, 4);
}

TEST(LocateInTextTest, TheEndAndWhatIsBehindItAreTheLastLine) {
  std::string text = "ab\ncd";
  EXPECT_EQ(LocateInText("f", text, 5).line, 2);
  EXPECT_EQ(LocateInText("f", text, 5).column, 3);
  EXPECT_EQ(LocateInText("f", text, 5000).column, 3);
  EXPECT_EQ(LocateInText("f", "", 0).line, 1);
}

TEST(LocateInTextTest, TheCaretDoesNotLeaveTheLine) {
  EXPECT_EQ(LocateInText("f", "ab cd\nef", 3, 100).length, 2);
}

TEST(NearestTest, OnlyWhatIsNearEnoughIsMeant) {
  EXPECT_EQ(Nearest("transpos", {"tanh", "transpose", "tuple"}), "transpose");
  EXPECT_EQ(Nearest("ad", {"and", "add"}), "and");
  EXPECT_EQ(Nearest("frobnicate", {"add", "multiply"}), "");
  EXPECT_EQ(Nearest("add", {}), "");
  EXPECT_EQ(Nearest("add", {"add"}), "add");
}

}  // namespace
}  // namespace eightfold
