#include "pjrt/pip.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "pjrt/job.h"

extern char** environ;

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr auto kProgressInterval = std::chrono::milliseconds(200);

// Exits with status 0 when every file that we want was unpacked and matched its checksum.
constexpr char kUnpackScript[] = R"(
import hashlib, sys, zipfile
wheel, folder, library, sha256 = sys.argv[1:5]
if sha256:
    with open(wheel, 'rb') as file:
        actual = hashlib.sha256(file.read()).hexdigest()
    if actual != sha256:
        sys.exit(f'the wheel is not the known one: sha256 {actual}, not {sha256}')
with zipfile.ZipFile(wheel) as archive:
    names = archive.namelist()
    if not any(name.endswith('/' + library) for name in names):
        sys.exit(f'the wheel has no {library}')
    for name in names:
        if name.endswith('.so') or '.dist-info/' in name:
            if not name.startswith('/') and '..' not in name.split('/'):
                archive.extract(name, folder)
)";

// The same for CUDA's compiler, of which XLA needs two files.
constexpr char kUnpackToolkitScript[] = R"(
import os, sys, zipfile
wheel, folder = sys.argv[1:3]
with zipfile.ZipFile(wheel) as archive:
    wanted = [name for name in archive.namelist()
              if name.startswith('nvidia/') and '..' not in name.split('/')
              and name.endswith(('/bin/ptxas', '/libdevice.10.bc'))]
    if len(wanted) != 2:
        sys.exit('the wheel has no ptxas or no libdevice')
    for name in wanted:
        os.chmod(archive.extract(name, folder), 0o755)
)";

std::string Python() {
  const char* chosen = std::getenv("EIGHTFOLD_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

// A run of Python whose output goes to a file.
struct PythonRun {
  int status = 0;
  std::string output;
};

Result<pid_t> StartPython(std::vector<std::string> arguments, const fs::path& output,
                          const fs::path& temp) {
  arguments.insert(arguments.begin(), Python());
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0) variables.emplace_back(*entry);
  }
  variables.push_back("TMPDIR=" + temp.string());
  // pip 25.1 and newer then go on with a download that broke off; older ones ignore it.
  variables.emplace_back("PIP_RESUME_RETRIES=10");
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> all;
    for (std::string& string : strings) all.push_back(string.data());
    all.push_back(nullptr);
    return all;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0].c_str(), &actions, nullptr,
                                 pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Fail(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)),
                "fetching needs python3 with pip; EIGHTFOLD_PYTHON names another Python");
  }
  return pid;
}

uint64_t LargestFile(const fs::path& folder) {
  uintmax_t largest = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;  // pip moves files while we look
    const uintmax_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) largest = std::max(largest, size);
  }
  return largest;
}

// pip says "Downloading NAME.whl (174.4 MB)" before it begins.
std::optional<uint64_t> TotalFrom(const std::string& output) {
  const size_t open = output.find(" (", std::min(output.find(".whl"), output.size()));
  if (open == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(output.c_str() + open + 2, &end);
  if (number <= 0) return std::nullopt;
  if (std::strncmp(end, " GB)", 4) == 0) return static_cast<uint64_t>(number * 1e9);
  if (std::strncmp(end, " MB)", 4) == 0) return static_cast<uint64_t>(number * 1e6);
  if (std::strncmp(end, " kB)", 4) == 0) return static_cast<uint64_t>(number * 1e3);
  return std::nullopt;
}

Result<PythonRun> RunPython(std::vector<std::string> arguments, const fs::path& folder,
                            const FetchProgress& progress) {
  const fs::path output = folder / "pip.log";
  const fs::path temp = folder / "tmp";
  std::error_code error;
  fs::remove_all(temp, error);
  fs::create_directories(temp, error);
  EF_TRY(pid_t pid, StartPython(std::move(arguments), output, temp));
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, progress ? WNOHANG : 0);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) break;
    if (ended == 0) {
      progress(LargestFile(folder), TotalFrom(ReadFile(output).value_or("")));
      std::this_thread::sleep_for(kProgressInterval);
    }
  }
  fs::remove_all(temp, error);
  return PythonRun{status, ReadFile(output).value_or("")};
}

std::optional<fs::path> FindWheel(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".whl") return entry.path();
  }
  return std::nullopt;
}

// The list in "(from versions: 0.4.36, 0.4.38, …)".
std::vector<std::string> VersionsFrom(const std::string& output) {
  std::vector<std::string> versions;
  constexpr std::string_view kMark = "(from versions: ";
  size_t at = output.find(kMark);
  if (at == std::string::npos) return versions;
  at += kMark.size();
  std::string_view list(output);
  list = list.substr(at, std::min(list.find(')', at), list.size()) - at);
  while (!list.empty()) {
    const size_t comma = std::min(list.find(", "), list.size());
    if (list[0] >= '0' && list[0] <= '9') versions.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  return versions;
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const size_t newline = text.rfind('\n');
  return std::string(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

Result<void> Unpack(const char* script, const fs::path& wheel, const fs::path& folder,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"-c", script, wheel.string(), folder.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  EF_TRY(PythonRun run,
         RunPython(std::move(arguments), wheel.parent_path().parent_path(), nullptr));
  if (run.status == 0) return {};
  return Fail(fmt::format("cannot unpack {}", wheel.filename().string()),
              fmt::format("Python says: {}", LastLine(run.output)));
}

}  // namespace

std::vector<std::string> NearestVersions(std::vector<std::string> versions,
                                         const std::string& wanted, size_t count) {
  const auto less = [](const std::string& a, const std::string& b) {
    return target::PluginVersion::Parse(a) < target::PluginVersion::Parse(b);
  };
  std::sort(versions.begin(), versions.end(), less);
  const auto at = std::lower_bound(versions.begin(), versions.end(), wanted, less);
  size_t first = static_cast<size_t>(at - versions.begin());
  first = first > count / 2 ? first - count / 2 : 0;
  if (versions.size() > count) first = std::min(first, versions.size() - count);
  const size_t last = std::min(first + count, versions.size());
  return {versions.begin() + static_cast<ptrdiff_t>(first),
          versions.begin() + static_cast<ptrdiff_t>(last)};
}

Error NoSuchVersion(const std::string& package, const std::string& version,
                    const std::string& pip_output) {
  std::string next;
  const std::vector<std::string> near = NearestVersions(VersionsFrom(pip_output), version, 6);
  if (!near.empty()) next = fmt::format("the nearest there are: {}", fmt::join(near, ", "));
  return Error{.what = fmt::format("there is no {} {}", package, version), .next = next};
}

Result<fs::path> DownloadWheel(const fs::path& folder, const std::string& package,
                               const std::string& version, const FetchProgress& progress) {
  const fs::path wheels = folder / "wheel";
  std::error_code error;
  fs::create_directories(wheels, error);
  // The wheels are py3-none: any Python's pip may take them, whichever Python it runs on.
  EF_TRY(PythonRun run,
         RunPython({"-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--python-version",
                    "3.12", "--no-input", "--disable-pip-version-check", "--progress-bar", "off",
                    "--dest", wheels.string(), fmt::format("{}=={}", package, version)},
                   folder, progress));
  const std::optional<fs::path> wheel = FindWheel(wheels);
  if (run.status == 0 && wheel) return *wheel;
  if (run.output.find("No matching distribution") != std::string::npos) {
    return Fail(NoSuchVersion(package, version, run.output));
  }
  return Fail(fmt::format("{} -m pip could not download {} {}", Python(), package, version),
              fmt::format("it says: {}", LastLine(run.output)));
}

Result<void> UnpackWheel(const fs::path& wheel, const fs::path& folder, const std::string& library,
                         const std::string& sha256) {
  return Unpack(kUnpackScript, wheel, folder, {library, sha256});
}

Result<void> UnpackToolkit(const fs::path& wheel, const fs::path& folder) {
  return Unpack(kUnpackToolkitScript, wheel, folder);
}

}  // namespace eightfold::pjrt
