#ifndef EIGHTFOLD_WORKER_SUPERVISE_H_
#define EIGHTFOLD_WORKER_SUPERVISE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "pjrt/job.h"

namespace eightfold::worker {

struct Limits {
  double timeout_seconds = 0;
  uint64_t memory_bytes = 0;  // resident; 0 means none
};

// Must be called before the child is forked, so that its end cannot be missed.
void BlockChildSignal();

// Waits for `child`, the leader of its own process group, and kills the group when a limit is
// passed. Nothing is returned when the other end of `lifeline` was closed: the one who asked is
// gone. Memory is watched, not capped: the plugin reserves far more address space than it uses.
std::optional<pjrt::Outcome> Supervise(pid_t child, int lifeline, const Limits& limits);

}  // namespace eightfold::worker

#endif  // EIGHTFOLD_WORKER_SUPERVISE_H_
