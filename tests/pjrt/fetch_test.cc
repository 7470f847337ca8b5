// Fetching, with a script in place of Python whose "pip" makes a small wheel.
#include "pjrt/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "pjrt/pip.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// $CALLS counts the downloads; $MODE says how they go. "-c" (unpacking) is passed to a real Python.
constexpr char kFakePython[] = R"sh(#!/bin/bash
if [ "$1" != -m ]; then exec python3 "$@"; fi
dest=
all="$*"
while [ $# -gt 0 ]; do [ "$1" = --dest ] && dest=$2; spec=$1; shift; done
version=${spec##*==}
case $spec in nvidia-*)
  echo "$all" >> "$TOOLKIT_CALLS"
  [ "$MODE" = toolkit ] || exit 1
  python3 - "$dest/nvidia_cuda_nvcc_cu12-$version-py3-none-any.whl" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('nvidia/cuda_nvcc/bin/ptxas', 'assembler')
    z.writestr('nvidia/cuda_nvcc/bin/nvcc', 'never unpacked')
    z.writestr('nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc', 'bitcode')
PY
  exit 0;;
esac
echo "$all" >> "$CALLS"
case $MODE in
  missing) echo "ERROR: Could not find a version that satisfies the requirement $spec" \
                "(from versions: 0.9.1, 0.9.2, 0.10.0, 0.10.1, 0.10.2, 0.11.0, 0.11.1)"
           echo "ERROR: No matching distribution found for $spec"; exit 1;;
  offline) echo "ERROR: no route to host"; exit 1;;
  killed) echo half > "$dest/half.whl"; kill -9 $$;;
  slow) sleep 1;;
esac
wheel=$dest/jax_cuda12_pjrt-$version-py3-none-any.whl
[ -e "$wheel" ] || python3 - "$wheel" "$version" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('jax_plugins/xla_cuda12/__init__.py', 'never unpacked')
    z.writestr('jax_plugins/xla_cuda12/xla_cuda_plugin.so', 'library')
    z.writestr(f'jax_cuda12_pjrt-{sys.argv[2]}.dist-info/METADATA',
               f'Name: jax-cuda12-pjrt\nVersion: {sys.argv[2]}\n')
PY
)sh";

class FetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/fetch-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    cache_ = name;
    const fs::path python = cache_ / "fake-python";
    std::ofstream(python) << kFakePython;
    fs::permissions(python, fs::perms::owner_all);
    setenv("EIGHTFOLD_CACHE", name.c_str(), 1);
    setenv("EIGHTFOLD_PYTHON", python.c_str(), 1);
    setenv("CALLS", (cache_ / "calls").c_str(), 1);
    setenv("TOOLKIT_CALLS", (cache_ / "toolkit_calls").c_str(), 1);
    Mode("");
  }
  void TearDown() override { fs::remove_all(cache_); }
  void Mode(const char* mode) { setenv("MODE", mode, 1); }
  int Downloads(const char* file = "calls") {
    std::ifstream calls(cache_ / file);
    int count = 0;
    for (std::string line; std::getline(calls, line);) ++count;
    return count;
  }
  fs::path Plugins() { return cache_ / "plugins"; }
  fs::path cache_;
};

TEST_F(FetchTest, ToolkitIsFetchedOnceAndLinkedIntoEachPlugin) {
  Mode("toolkit");
  for (const char* version : {"0.10.1", "0.10.2"}) {
    ASSERT_TRUE(FetchPlugin(version, 12, nullptr));
    const fs::path tools =
        Plugins() / (std::string("jax-cuda12-pjrt-") + version) / "nvidia/cuda_nvcc";
    EXPECT_NE(fs::status(tools / "bin/ptxas").permissions() & fs::perms::owner_exec,
              fs::perms::none);
    EXPECT_TRUE(fs::exists(tools / "nvvm/libdevice/libdevice.10.bc"));
    EXPECT_FALSE(fs::exists(tools / "bin/nvcc"));
  }
  EXPECT_EQ(Downloads("toolkit_calls"), 1);
  EXPECT_EQ(Downloads(), 2);
}

TEST_F(FetchTest, PluginWithoutToolkitIsStillFetched) {
  ASSERT_TRUE(FetchPlugin("0.10.2", 12, nullptr));
  EXPECT_FALSE(fs::exists(Plugins() / "jax-cuda12-pjrt-0.10.2/nvidia"));
  Mode("toolkit");
  ASSERT_TRUE(FetchPlugin("0.10.2", 12, nullptr));
  EXPECT_TRUE(fs::exists(Plugins() / "jax-cuda12-pjrt-0.10.2/nvidia"));
}

TEST_F(FetchTest, FetchedPluginIsFoundAndNothingElseIsKept) {
  Result<Plugin> plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(plugin->Name(), "jax-cuda12-pjrt 0.10.2");
  EXPECT_TRUE(fs::equivalent(FindPlugin("0.10.2")->path, plugin->path));
  EXPECT_FALSE(fs::exists(fs::path(plugin->path).parent_path() / "__init__.py"));
  EXPECT_FALSE(fs::exists(Plugins() / ".partial-jax-cuda12-pjrt-0.10.2"));
  ASSERT_TRUE(FetchPlugin("0.10.2", 12, nullptr));
  EXPECT_EQ(Downloads(), 1) << "what is cached is not fetched again";
}

TEST_F(FetchTest, InterruptedDownloadRecovers) {
  Mode("killed");
  ASSERT_FALSE(FetchPlugin("0.10.2", 12, nullptr));
  EXPECT_TRUE(ListPlugins().empty());
  Mode("");
  Result<Plugin> plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(ListPlugins().size(), 1u);
}

TEST_F(FetchTest, DamagedWheelIsDownloadedAgain) {
  const fs::path wheels = Plugins() / ".partial-jax-cuda12-pjrt-0.10.2" / "wheel";
  fs::create_directories(wheels);
  std::ofstream(wheels / "jax_cuda12_pjrt-0.10.2-py3-none-any.whl") << "PK damaged";
  Result<Plugin> plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(Downloads(), 2);
}

TEST_F(FetchTest, AnotherCpuPluginThanTheKnownOneIsRefused) {
  unsetenv("EIGHTFOLD_CPU_PLUGIN");
  Result<Plugin> plugin = FetchCpuPlugin(nullptr);
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().next, HasSubstr("the wheel is not the known one"));
  plugin = FindCpuPlugin();
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().next, HasSubstr("eightfold plugins fetch cpu"));
}

TEST_F(FetchTest, CpuPluginIsNoCompilerForGpus) {
  const fs::path folder = Plugins() / "lammps-jax-pjrt-cpu-0.11.2" / "lammps_jax_pjrt_cpu";
  fs::create_directories(folder);
  std::ofstream(folder / "pjrt_c_api_cpu_plugin.so") << "library";
  unsetenv("EIGHTFOLD_CPU_PLUGIN");
  Result<Plugin> plugin = FindCpuPlugin();
  ASSERT_TRUE(plugin) << plugin.error().Format();
  EXPECT_EQ(plugin->Name(), "lammps-jax-pjrt-cpu 0.11.2");
  EXPECT_TRUE(ListPlugins().empty());
  EXPECT_FALSE(FindPlugin(""));
}

TEST_F(FetchTest, UnknownVersionNamesTheNearest) {
  Mode("missing");
  Result<Plugin> plugin = FetchPlugin("0.10.9", 12, nullptr);
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().what, "there is no jax-cuda12-pjrt 0.10.9");
  EXPECT_THAT(plugin.error().next, HasSubstr("0.10.1, 0.10.2, 0.11.0"));
}

TEST_F(FetchTest, PipsOwnErrorIsQuoted) {
  Mode("offline");
  Result<Plugin> plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().next, HasSubstr("no route to host"));
}

TEST_F(FetchTest, WithoutPythonTheErrorSaysWhatIsNeeded) {
  setenv("EIGHTFOLD_PYTHON", "/nonexistent/python3", 1);
  Result<Plugin> plugin = FetchPlugin("0.10.2", 12, nullptr);
  ASSERT_FALSE(plugin);
  EXPECT_THAT(plugin.error().next, HasSubstr("needs python3 with pip"));
}

TEST_F(FetchTest, VersionsAreChecked) {
  for (const char* version : {"", "latest", "../../etc", "1 2", "0.10.2; rm"}) {
    EXPECT_FALSE(FetchPlugin(version, 12, nullptr)) << version;
  }
  EXPECT_EQ(Downloads(), 0);
}

TEST_F(FetchTest, TwoAtOnceDownloadOnce) {
  Mode("slow");
  bool fetched[2] = {false, false};
  std::thread first([&] { fetched[0] = FetchPlugin("0.10.2", 12, nullptr).has_value(); });
  std::thread second([&] { fetched[1] = FetchPlugin("0.10.2", 12, nullptr).has_value(); });
  first.join();
  second.join();
  EXPECT_TRUE(fetched[0]);
  EXPECT_TRUE(fetched[1]);
  EXPECT_EQ(Downloads(), 1);
}

TEST(NearestVersions, AreThoseAroundTheWantedOne) {
  const std::vector<std::string> all = {"0.9.2", "0.10.0", "0.6.2", "0.12.0.1", "0.12.0"};
  EXPECT_THAT(NearestVersions(all, "0.9.9", 2), ElementsAre("0.9.2", "0.10.0"));
  EXPECT_THAT(NearestVersions(all, "9", 2), ElementsAre("0.12.0", "0.12.0.1"));
  EXPECT_THAT(NearestVersions(all, "0.1", 2), ElementsAre("0.6.2", "0.9.2"));
  EXPECT_TRUE(NearestVersions({}, "1.0", 3).empty());
}

}  // namespace
}  // namespace eightfold::pjrt
