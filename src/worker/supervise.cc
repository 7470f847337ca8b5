#include "worker/supervise.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace eightfold::worker {
namespace {

using pjrt::Outcome;
using Clock = std::chrono::steady_clock;

// How often memory is looked at. A process that writes 4 GB/s overshoots by 80 MB in this time.
constexpr int kPollMilliseconds = 20;

uint64_t ResidentBytes(pid_t pid) {
  FILE* file = fopen(fmt::format("/proc/{}/statm", pid).c_str(), "r");
  if (file == nullptr) return 0;
  unsigned long long total = 0;
  unsigned long long resident = 0;
  const int read = fscanf(file, "%llu %llu", &total, &resident);
  fclose(file);
  return read == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

sigset_t ChildSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

void KillGroup(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

void BlockChildSignal() {
  const sigset_t set = ChildSignal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

std::optional<Outcome> Supervise(pid_t child, int lifeline, const Limits& limits) {
  const sigset_t set = ChildSignal();
  const int ended = signalfd(-1, &set, SFD_CLOEXEC);
  const auto start = Clock::now();
  Outcome outcome;
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      kill(-child, SIGKILL);  // whatever the plugin started
      const bool signalled = WIFSIGNALED(status);
      outcome.how = signalled ? Outcome::How::kSignal : Outcome::How::kExited;
      outcome.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
      break;
    }
    const uint64_t resident = ResidentBytes(child);
    outcome.peak_bytes = std::max(outcome.peak_bytes, resident);
    const bool too_big = limits.memory_bytes != 0 && resident > limits.memory_bytes;
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (too_big || elapsed.count() > limits.timeout_seconds) {
      outcome.how = too_big ? Outcome::How::kMemory : Outcome::How::kTimeout;
      KillGroup(child);
      break;
    }
    pollfd fds[] = {{lifeline, POLLIN, 0}, {ended, POLLIN, 0}};
    poll(fds, 2, kPollMilliseconds);
    if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      KillGroup(child);
      return std::nullopt;
    }
  }
  close(ended);
  return outcome;
}

}  // namespace eightfold::worker
