#include "cli/config.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace eightfold::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string pattern = (fs::temp_directory_path() / "eightfold_config_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "a" / "b");
    unsetenv("EIGHTFOLD_TARGET");
    unsetenv("EIGHTFOLD_PLUGIN");
  }
  ~ConfigTest() override {
    fs::remove_all(root_);
    unsetenv("EIGHTFOLD_TARGET");
    unsetenv("EIGHTFOLD_PLUGIN");
  }

  void Write(const fs::path& folder, const std::string& text) {
    std::ofstream(folder / "eightfold.toml") << text;
  }
  std::string ErrorOf(const std::string& text) {
    Write(root_, text);
    auto defaults = LoadDefaults(root_);
    return defaults ? "no error" : defaults.error().Format();
  }

  fs::path root_;
};

TEST_F(ConfigTest, NearestFileUpwardsIsRead) {
  Write(root_, "target = \"h100\"\nplugin = \"0.9.2\"\n");
  auto far = LoadDefaults(root_ / "a" / "b");
  ASSERT_TRUE(far) << far.error().Format();
  EXPECT_EQ(far->target, "h100");
  EXPECT_EQ(far->plugin, "0.9.2");
  EXPECT_EQ(far->file, (root_ / "eightfold.toml").string());

  Write(root_ / "a", "target = \"b200\"\n");
  auto near = LoadDefaults(root_ / "a" / "b");
  ASSERT_TRUE(near) << near.error().Format();
  EXPECT_EQ(near->target, "b200");
  EXPECT_EQ(near->plugin, "") << "files are not merged";
}

TEST_F(ConfigTest, WithoutFileNothingIsSet) {
  auto defaults = LoadDefaults(root_);
  ASSERT_TRUE(defaults) << defaults.error().Format();
  EXPECT_EQ(defaults->target, "");
  EXPECT_EQ(defaults->file, "");
}

TEST_F(ConfigTest, EnvironmentWinsOverFile) {
  Write(root_, "target = \"h100\"\nplugin = \"0.9.2\"\n");
  setenv("EIGHTFOLD_TARGET", "rtx5070", 1);
  setenv("EIGHTFOLD_PLUGIN", "", 1);
  auto defaults = LoadDefaults(root_);
  ASSERT_TRUE(defaults) << defaults.error().Format();
  EXPECT_EQ(defaults->target, "rtx5070");
  EXPECT_EQ(defaults->plugin, "0.9.2") << "an empty variable is an unset one";
}

TEST_F(ConfigTest, UnknownKeyIsNamedWithTheNearestOne) {
  std::string error = ErrorOf("# comment\ntraget = \"h100\"\n");
  EXPECT_THAT(error, HasSubstr("eightfold.toml:2:1: unknown key traget"));
  EXPECT_THAT(error, HasSubstr("did you mean target?"));
}

TEST_F(ConfigTest, WrongTypeIsPlaced) {
  std::string error = ErrorOf("plugin = 0.9\n");
  EXPECT_THAT(error, HasSubstr("eightfold.toml:1:10: plugin must be a string"));
}

TEST_F(ConfigTest, SyntaxErrorIsPlaced) {
  EXPECT_THAT(ErrorOf("target = \"h100\"\nplugin = \n"), HasSubstr("eightfold.toml:2:"));
}

}  // namespace
}  // namespace eightfold::cli
