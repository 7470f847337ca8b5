#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "pjrt/plugin.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/cache-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    cache_ = name;
    setenv("EIGHTFOLD_CACHE", name.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(cache_); }

  // What an unpacked wheel looks like.
  fs::path Add(const std::string& folder, const std::string& cuda, const std::string& version) {
    const fs::path root = cache_ / "plugins" / folder;
    const fs::path library = root / "jax_plugins" / ("xla_cuda" + cuda) / "xla_cuda_plugin.so";
    const fs::path info = root / ("jax_cuda" + cuda + "_pjrt-" + version + ".dist-info");
    fs::create_directories(library.parent_path());
    fs::create_directories(info);
    std::ofstream(library) << "not really";
    std::ofstream(info / "METADATA") << "Metadata-Version: 2.4\nName: jax-cuda" << cuda
                                     << "-pjrt\nVersion: " << version << "\n\nVersion: 9.9.9\n";
    return library;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const Plugin& plugin : ListPlugins()) names.push_back(plugin.Name());
    return names;
  }
  fs::path cache_;
};

TEST_F(CacheTest, EmptyCacheSaysHowToFetch) {
  Result<Plugin> plugin = FindPlugin("");
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().what, "no compiler plugin is cached");
  EXPECT_THAT(plugin.error().next, HasSubstr("eightfold plugins fetch 0.10.2"));
}

TEST_F(CacheTest, ListsNewestFirstAndNothingPartial) {
  Add("jax-cuda12-pjrt-0.9.2", "12", "0.9.2");
  Add("jax-cuda13-pjrt-0.10.2", "13", "0.10.2");
  Add("jax-cuda12-pjrt-0.10.2", "12", "0.10.2");
  Add("jax-cuda12-pjrt-0.12.0.1", "12", "0.12.0.1");
  Add(".partial-jax-cuda12-pjrt-0.13.0", "12", "0.13.0");
  fs::create_directories(cache_ / "plugins" / "jax-cuda12-pjrt-0.14.0");
  EXPECT_THAT(Names(), ElementsAre("jax-cuda12-pjrt 0.12.0.1", "jax-cuda12-pjrt 0.10.2",
                                   "jax-cuda13-pjrt 0.10.2", "jax-cuda12-pjrt 0.9.2"));
  EXPECT_EQ(FindPlugin("")->version_text, "0.12.0.1");
}

TEST_F(CacheTest, SpecChoosesVersionAndCuda) {
  const fs::path twelve = Add("jax-cuda12-pjrt-0.10.2", "12", "0.10.2");
  const fs::path thirteen = Add("jax-cuda13-pjrt-0.10.2", "13", "0.10.2");
  for (const char* spec : {"0.10.2", "cuda12-0.10.2", "0.10.2+cuda12", "jax-cuda12-pjrt-0.10.2"}) {
    Result<Plugin> plugin = FindPlugin(spec);
    ASSERT_TRUE(plugin) << spec;
    EXPECT_EQ(plugin->path, twelve) << spec;
  }
  for (const char* spec : {"cuda13-0.10.2", "0.10.2+cuda13", "jax-cuda13-pjrt-0.10.2", "cuda13"}) {
    Result<Plugin> plugin = FindPlugin(spec);
    ASSERT_TRUE(plugin) << spec;
    EXPECT_EQ(plugin->path, thirteen) << spec;
  }
}

TEST_F(CacheTest, UnknownVersionListsWhatIsThere) {
  Add("jax-cuda12-pjrt-0.10.2", "12", "0.10.2");
  Result<Plugin> plugin = FindPlugin("cuda13-0.11.0");
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().what, "plugin cuda13-0.11.0 is not cached");
  EXPECT_THAT(plugin.error().next, HasSubstr("cached: jax-cuda12-pjrt 0.10.2\n"));
  EXPECT_THAT(plugin.error().next, HasSubstr("eightfold plugins fetch 0.11.0 --cuda 13"));
}

TEST_F(CacheTest, PathOfAnInstalledLibraryFindsItsMetadata) {
  const fs::path library = Add("jax-cuda13-pjrt-0.11.2", "13", "0.11.2");
  Result<Plugin> plugin = FindPlugin(library.string());
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(plugin->Name(), "jax-cuda13-pjrt 0.11.2");
  EXPECT_EQ(plugin->version, target::PluginVersion::Parse("0.11.2"));
}

TEST_F(CacheTest, MissingPathIsAnInputError) {
  Result<Plugin> plugin = FindPlugin("/nonexistent/xla_cuda_plugin.so");
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().exit_code, ExitCode::kInput);
  EXPECT_THAT(plugin.error().what, HasSubstr("no such plugin library"));
}

TEST(CacheFolder, FollowsTheEnvironment) {
  setenv("EIGHTFOLD_CACHE", "/a", 1);
  setenv("XDG_CACHE_HOME", "/b", 1);
  setenv("HOME", "/c", 1);
  EXPECT_EQ(CacheFolder(), "/a");
  unsetenv("EIGHTFOLD_CACHE");
  EXPECT_EQ(CacheFolder(), "/b/eightfold");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(CacheFolder(), "/c/.cache/eightfold");
}

}  // namespace
}  // namespace eightfold::pjrt
