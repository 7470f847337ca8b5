#include "pjrt/run_worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

extern char** environ;

namespace eightfold::pjrt {
namespace {

// The worker's end of the lifeline; see src/worker/main.cc.
constexpr int kLifelineFd = 3;
constexpr uint64_t kLogLimit = uint64_t{4} << 20;

// Where the Python module that this code is part of keeps its programs; empty in a program.
path ModuleFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&ModuleFolder), &info) == 0) return {};
  const path library = info.dli_fname;
  return library.is_absolute() && library.extension() == ".so" ? library.parent_path() / "bin"
                                                               : path();
}

Result<std::string> FindWorker() {
  if (const char* chosen = std::getenv("EIGHTFOLD_WORKER"); chosen != nullptr && *chosen != '\0') {
    if (access(chosen, X_OK) == 0) return std::string(chosen);
    return Fail(fmt::format("EIGHTFOLD_WORKER is {}, which is not an executable file", chosen));
  }
  std::error_code error;
  const path self = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<path> candidates = {self / "eightfold-worker",
                                  self / "../libexec/eightfold/eightfold-worker"};
  if (path module = ModuleFolder(); !module.empty()) candidates = {module / "eightfold-worker"};
  for (const path& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal().string();
  }
  std::string looked;
  for (const path& candidate : candidates) {
    looked += (looked.empty() ? "" : " and ") + candidate.lexically_normal().string();
  }
  return Fail("cannot find eightfold-worker, the program that runs the compiler",
              fmt::format("looked for {}; EIGHTFOLD_WORKER can name it", looked));
}

// A file descriptor that is closed when this object goes.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  ~Fd() { close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::vector<std::string> Environment(const std::string& xla_flags) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "XLA_FLAGS=", 10) != 0) variables.emplace_back(*entry);
  }
  variables.push_back("XLA_FLAGS=" + xla_flags);
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the worker in a process group of its own (a Ctrl-C in the terminal reaches us, not it; it
// goes when the lifeline does) with default signal handling and nothing but the log to write to.
Result<pid_t> Spawn(const std::string& worker, const path& folder, int lifeline,
                    const std::string& xla_flags) {
  std::vector<std::string> arguments = {worker, folder.string(), std::to_string(kLifelineFd)};
  std::vector<std::string> variables = Environment(xla_flags);
  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> envp = Pointers(variables);
  const std::string log = (folder / kLogFile).string();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, lifeline, kLifelineFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, worker.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return FailCompiler(fmt::format("cannot start {}: {}", worker, std::strerror(error)));
  }
  return pid;
}

}  // namespace

Result<TempFolder> TempFolder::Create() {
  const char* base = std::getenv("TMPDIR");
  std::string name = fmt::format("{}/eightfold-XXXXXX", base != nullptr && *base ? base : "/tmp");
  if (mkdtemp(name.data()) == nullptr) {
    return Fail(fmt::format("cannot make a folder {}: {}", name, std::strerror(errno)),
                "TMPDIR chooses where temporary files go");
  }
  return TempFolder(name);
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<WorkerRun> RunWorker(const path& folder, const Job& job, const std::string& xla_flags) {
  EF_TRY(std::string worker, FindWorker());
  EF_CHECK_OK(WriteJob(folder, job));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return FailCompiler(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  // A descriptor that happens to be kLifelineFd itself would stay close-on-exec on older C
  // libraries.
  const Fd read_end(fcntl(ends[0], F_DUPFD_CLOEXEC, kLifelineFd + 1));
  const Fd write_end(ends[1]);
  close(ends[0]);
  EF_TRY(pid_t pid, Spawn(worker, folder, read_end.get(), xla_flags));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  WorkerRun run;
  run.log = ReadFile(folder / kLogFile, kLogLimit).value_or("");
  run.stage = ReadFile(folder / kStageFile).value_or("loading");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return FailCompiler(fmt::format("{} broke down (status {:#x})", worker, status), run.log);
  }
  EF_TRY(run.outcome, ReadOutcome(folder));
  if (run.outcome.how == Outcome::How::kExited && run.outcome.code == 0) {
    EF_TRY(run.answer, ReadAnswer(folder));
  } else {
    run.answer = ReadAnswer(folder).value_or(Answer());
  }
  return run;
}

}  // namespace eightfold::pjrt
