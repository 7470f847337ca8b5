#include "worker/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "pjrt/job.h"
#include "pjrt/run_job.h"
#include "worker/supervise.h"

namespace eightfold::worker {
namespace {

using pjrt::Job;
using pjrt::path;

// Over the limit, allocations fail at once, before a table of 30 GB starts to fill the machine. The
// supervisor watches what is resident; this is a backstop, so it leaves room for what the plugin
// maps but hardly touches. The shadow memory of sanitizers would count
// too.
void CapAllocations([[maybe_unused]] uint64_t limit_bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kSlack = rlim_t{256} << 20;
  if (limit_bytes == 0) return;
  const rlimit data{limit_bytes + kSlack, limit_bytes + kSlack};
  setrlimit(RLIMIT_DATA, &data);
#endif
}

// In the child: everything that the plugin prints goes to the log, and it dies with its supervisor.
[[noreturn]] void RunInChild(const path& folder, const Job& job, const pjrt::MakePass& make_pass,
                             pid_t supervisor) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(1);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  CapAllocations(job.memory_limit_bytes);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int log =
      open((folder / pjrt::kLogFile).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) _exit(1);
  const bool written = pjrt::WriteAnswer(folder, pjrt::RunJob(folder, job, make_pass)).has_value();
  fflush(nullptr);
  // Without running destructors: a plugin's own are not safe at exit.
  _exit(written ? 0 : 1);
}

int RunAndSupervise(const path& folder, int lifeline, const pjrt::MakePass& make_pass) {
  Result<Job> job = pjrt::ReadJob(folder);
  if (!job) {
    fmt::print(stderr, "{}\n", job.error().Format());
    return 2;
  }
  BlockChildSignal();
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(lifeline);
    RunInChild(folder, *job, make_pass, self);
  }
  setpgid(child, child);
  Limits limits{job->timeout_seconds, job->memory_limit_bytes};
  std::optional<pjrt::Outcome> outcome = Supervise(child, lifeline, limits);
  if (!outcome) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 1;
  }
  return pjrt::WriteOutcome(folder, *outcome) ? 0 : 1;
}

}  // namespace

int Main(int argc, char** argv, const pjrt::MakePass& make_pass) {
  if (argc != 3) {
    fmt::print(stderr, "usage: eightfold-worker JOB_FOLDER LIFELINE_FD (run by eightfold)\n");
    return 2;
  }
  return RunAndSupervise(argv[1], std::atoi(argv[2]), make_pass);
}

}  // namespace eightfold::worker
