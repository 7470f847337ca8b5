#include "pjrt/crash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eightfold::pjrt {
namespace {

using ::testing::HasSubstr;

TEST(LastWords, FailedCheckBeforeAStackTraceIsQuotedWithoutDateAndFolder) {
  EXPECT_EQ(
      LastWords(
          "I1130 01:18:49.1 1 x.cc:2] Found it\n"
          "F1130 01:19:03.583840   11256 xla/hlo/ir/hlo_instruction.h:1848] Check failed: a < b\n"
          "*** Check failure stack trace: ***\n"
          "    @     0x7f00  absl::Die()\n"
          "Aborted somewhere\n"),
      "hlo_instruction.h:1848] Check failed: a < b");
}

TEST(LastWords, OldDateFormatIsCutOffToo) {
  EXPECT_EQ(LastWords("2026-11-30 01:19:03.101411: F external/xla/xla/y.cc:31] Check failed: no\n"),
            "y.cc:31] Check failed: no");
}

TEST(LastWords, WithoutAFatalLineTheLastOneCounts) {
  EXPECT_EQ(LastWords("first\nsecond\n\n"), "second");
  EXPECT_EQ(LastWords("no newline"), "no newline");
  EXPECT_EQ(LastWords(""), "");
}

TEST(LastWords, UncaughtExceptionIsFatal) {
  EXPECT_EQ(LastWords("terminate called after throwing an instance of 'std::bad_alloc'\n"
                      "  what():  std::bad_alloc\nmore\n"),
            "what():  std::bad_alloc");
}

TEST(AdviceFor, KnowsInstructionIdsAndStaysSilentOtherwise) {
  EXPECT_THAT(AdviceFor("Check failed: unique_id_ < (2147483647)"), HasSubstr("0.9.2 or newer"));
  EXPECT_THAT(AdviceFor("No PTX compilation provider is available."), HasSubstr("plugins fetch"));
  EXPECT_EQ(AdviceFor("something new"), "");
}

}  // namespace
}  // namespace eightfold::pjrt
