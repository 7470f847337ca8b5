#include "base/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace eightfold {
namespace {

namespace fs = std::filesystem;

class SourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eightfold_source_XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(SourceTest, WhatIsWrittenIsReadBack) {
  std::string bytes("a\0b\nc", 5);
  ASSERT_TRUE(WriteFile(Path("x"), bytes).has_value());
  auto source = Source::Open(Path("x"));
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->bytes(), bytes);
  EXPECT_EQ((*source)->name(), Path("x"));
}

TEST_F(SourceTest, WritingReplacesAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteFile(Path("x"), "old and long").has_value());
  ASSERT_TRUE(WriteFile(Path("x"), "new").has_value());
  EXPECT_EQ(Read(Path("x")), "new");
  EXPECT_EQ(Files(), 1);
}

TEST_F(SourceTest, AFailedWriteLeavesNothingBehind) {
  EXPECT_FALSE(WriteFile(Path("missing/x"), "bytes").has_value());
  fs::create_directory(folder_ / "dir");
  EXPECT_FALSE(WriteFile(Path("dir"), "bytes").has_value());
  EXPECT_EQ(Files(), 1);
}

TEST_F(SourceTest, AnOpenSourceKeepsItsBytesWhenTheFileIsReplaced) {
  ASSERT_TRUE(WriteFile(Path("x"), "first").has_value());
  auto source = Source::Open(Path("x"));
  ASSERT_TRUE(WriteFile(Path("x"), "other").has_value());
  EXPECT_EQ((*source)->bytes(), "first");
}

TEST_F(SourceTest, AnEmptyFileHasNoBytes) {
  ASSERT_TRUE(WriteFile(Path("x"), "").has_value());
  EXPECT_EQ((*Source::Open(Path("x")))->bytes(), "");
}

TEST_F(SourceTest, AMissingFileNamesANearOne) {
  ASSERT_TRUE(WriteFile(Path("transformer.hlo"), "x").has_value());
  auto missing = Source::Open(Path("trnsformer.hlo"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().what, "no such file: " + Path("trnsformer.hlo"));
  EXPECT_EQ(missing.error().next, "did you mean " + Path("transformer.hlo") + "?");
  EXPECT_EQ(Source::Open(Path("zzz")).error().next, "");
}

TEST_F(SourceTest, AnEmptyNameIsSaidToBeEmpty) {
  EXPECT_EQ(Source::Open("").error().what, "the name of the file to read is empty");
  EXPECT_EQ(WriteFile("", "bytes").error().what, "the name of the file to write is empty");
}

TEST_F(SourceTest, ADirectoryIsAnError) {
  auto source = Source::Open(folder_.string());
  ASSERT_FALSE(source.has_value());
  EXPECT_NE(source.error().what.find("is a directory"), std::string::npos);
}

TEST_F(SourceTest, APipeIsReadToItsEnd) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string bytes(300'000, 'p');
  pid_t child = fork();
  if (child == 0) {
    std::ofstream(Path("pipe"), std::ios::binary) << bytes;
    _exit(0);
  }
  auto source = Source::Open(Path("pipe"));
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->bytes(), bytes);
}

TEST_F(SourceTest, ContainsTellsViewsOfTheSourceFromOthers) {
  auto source = Source::FromBytes("name", "some bytes");
  std::string elsewhere = "some bytes";
  EXPECT_TRUE(source->Contains(source->bytes().substr(2, 3)));
  EXPECT_TRUE(source->Contains(source->bytes()));
  EXPECT_FALSE(source->Contains(elsewhere));
}

}  // namespace
}  // namespace eightfold
