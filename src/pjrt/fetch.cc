#include "pjrt/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "pjrt/pip.h"
#include "pjrt/plugin_layout.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;

// An exclusive lock between processes, held as long as the object lives.
class FileLock {
 public:
  static Result<FileLock> Take(const fs::path& file) {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return Fail(fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
    while (flock(fd, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      close(fd);
      return Fail(fmt::format("cannot lock {}: {}", file.string(), std::strerror(errno)));
    }
    return FileLock(fd);
  }
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

bool IsVersion(const std::string& text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.';
         });
}

// A wheel with a plugin library.
struct PluginWheel {
  std::string package;
  std::string version;
  std::string library;  // the name of its file
  std::optional<fs::path> (*find)(const fs::path& unpacked);
  std::string sha256 = {};  // of the wheel; empty: whatever PyPI has
};

// Downloads and unpacks below `partial`. A wheel left by an interrupted fetch that turns out to be
// damaged is thrown away and downloaded again, once.
Result<fs::path> Prepare(const fs::path& partial, const PluginWheel& wanted,
                         const FetchProgress& progress) {
  const fs::path unpacked = partial / "unpacked";
  for (bool retried = false;; retried = true) {
    std::error_code error;
    fs::remove_all(unpacked, error);
    EF_TRY(fs::path wheel, DownloadWheel(partial, wanted.package, wanted.version, progress));
    Result<void> done = UnpackWheel(wheel, unpacked, wanted.library, wanted.sha256);
    if (done && wanted.find(unpacked)) return unpacked;
    if (retried) {
      if (!done) return Fail(std::move(done).error());
      return Fail(fmt::format("{} has no plugin library", wheel.filename().string()));
    }
    fs::remove(wheel, error);
  }
}

// CUDA's assembler and device library, without which XLA cannot finish programs that use more than
// its simplest kernels. Any 12.x serves every plugin; this one knows Blackwell.
constexpr char kToolkitPackage[] = "nvidia-cuda-nvcc-cu12";
constexpr char kToolkitVersion[] = "12.9.86";

// Puts ptxas and libdevice where XLA looks for them, beside the plugin as pip would install them:
// one copy in the cache, linked into each plugin's folder.
Result<void> LinkToolkit(const fs::path& plugin, const FetchProgress& progress) {
  std::error_code error;
  if (fs::exists(plugin / "nvidia", error)) return {};
  const fs::path toolkits = CacheFolder() / "toolkits";
  const std::string name = fmt::format("{}-{}", kToolkitPackage, kToolkitVersion);
  fs::create_directories(toolkits, error);
  if (error) return Fail(fmt::format("cannot create {}: {}", toolkits.string(), error.message()));
  EF_TRY(FileLock lock, FileLock::Take(toolkits / (".lock-" + name)));
  const fs::path final = toolkits / name;
  if (!fs::exists(final, error)) {
    const fs::path partial = toolkits / (".partial-" + name);
    fs::create_directories(partial, error);
    EF_TRY(fs::path wheel, DownloadWheel(partial, kToolkitPackage, kToolkitVersion, progress));
    const fs::path unpacked = partial / "unpacked";
    fs::remove_all(unpacked, error);
    Result<void> done = UnpackToolkit(wheel, unpacked);
    if (!done) {
      fs::remove(wheel, error);  // damaged: the next fetch downloads it again
      return done;
    }
    fs::rename(unpacked, final, error);
    if (error) return Fail(fmt::format("cannot create {}: {}", final.string(), error.message()));
    fs::remove_all(partial, error);
  }
  fs::create_directory_symlink(final / "nvidia", plugin / "nvidia", error);
  // Another fetch may have linked it meanwhile.
  if (error && error != std::errc::file_exists)
    return Fail(fmt::format("cannot link into {}: {}", plugin.string(), error.message()));
  return {};
}

// Puts the unpacked wheel into the cache, unless it is there. Returns its folder.
Result<fs::path> FetchInto(const PluginWheel& wanted, const FetchProgress& progress) {
  const std::string name = CacheName(wanted.package, wanted.version);
  const fs::path plugins = CacheFolder() / "plugins";
  std::error_code error;
  fs::create_directories(plugins, error);
  if (error) return Fail(fmt::format("cannot create {}: {}", plugins.string(), error.message()));
  EF_TRY(FileLock lock, FileLock::Take(plugins / fmt::format(".lock-{}", name)));
  const fs::path final = plugins / name;
  if (wanted.find(final)) return final;
  const fs::path partial = plugins / fmt::format(".partial-{}", name);
  fs::create_directories(partial, error);
  EF_TRY(fs::path unpacked, Prepare(partial, wanted, progress));
  fs::remove_all(final, error);  // what an older program may have left without a library
  fs::rename(unpacked, final, error);
  if (error) return Fail(fmt::format("cannot create {}: {}", final.string(), error.message()));
  fs::remove_all(partial, error);
  return final;
}

}  // namespace

Result<Plugin> FetchPlugin(const std::string& version, int cuda, const FetchProgress& progress) {
  if (!IsVersion(version)) {
    return Fail(fmt::format("{} is not a version", version), "versions look like 0.10.2");
  }
  EF_TRY(fs::path folder, FetchInto({.package = PackageName(std::to_string(cuda)),
                                     .version = version,
                                     .library = "xla_cuda_plugin.so",
                                     .find = LibraryIn},
                                    progress));
  if (cuda == 12) {
    Result<void> linked = LinkToolkit(folder, progress);
    // A machine with CUDA does without; one without it is told by the compiler's own error.
    if (!linked) fmt::print(stderr, "warning: {}\n", linked.error().what);
  }
  return FindPlugin(LibraryIn(folder)->string());
}

Result<Plugin> FetchCpuPlugin(const FetchProgress& progress) {
  EF_CHECK_OK(FetchInto({.package = kCpuPackage,
                         .version = kCpuVersion,
                         .library = "pjrt_c_api_cpu_plugin.so",
                         .find = CpuLibraryIn,
                         .sha256 = kCpuSha256},
                        progress));
  return FindCpuPlugin();
}

}  // namespace eightfold::pjrt
