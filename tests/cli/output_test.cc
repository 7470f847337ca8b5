#include "cli/output.h"

#include <gmock/gmock.h>

namespace eightfold::cli {
namespace {

TEST(FormOf, FollowsTheExtension) {
  EXPECT_EQ(FormOf("a.pb", OutputForm::kText).value(), OutputForm::kProto);
  EXPECT_EQ(FormOf("a.hlo.pb", OutputForm::kText).value(), OutputForm::kProto);
  EXPECT_EQ(FormOf("a.hlo", OutputForm::kProto).value(), OutputForm::kText);
  EXPECT_EQ(FormOf("a.txt", OutputForm::kProto).value(), OutputForm::kText);
  EXPECT_EQ(FormOf("dir.pb/a.hlo.txt", OutputForm::kProto).value(), OutputForm::kText);
}

TEST(FormOf, StandardOutputTakesTheGivenForm) {
  EXPECT_EQ(FormOf("-", OutputForm::kProto).value(), OutputForm::kProto);
  EXPECT_EQ(FormOf("-", OutputForm::kText).value(), OutputForm::kText);
}

TEST(FormOf, OtherNamesAreAnErrorWithAdvice) {
  auto form = FormOf("a.bin", OutputForm::kText);
  ASSERT_FALSE(form);
  EXPECT_EQ(form.error().exit_code, ExitCode::kInput);
  EXPECT_THAT(form.error().Format(), ::testing::HasSubstr(".pb for a proto"));
}

TEST(FormOf, AnEmptyNameIsSaidToBeEmpty) {
  auto form = FormOf("", OutputForm::kText);
  ASSERT_FALSE(form);
  EXPECT_EQ(form.error().exit_code, ExitCode::kInput);
  EXPECT_EQ(form.error().Format(),
            "error: the name of the file to write is empty\n"
            "  end it with .pb for a proto, with .hlo or .txt for text");
}

}  // namespace
}  // namespace eightfold::cli
