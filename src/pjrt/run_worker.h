#ifndef EIGHTFOLD_PJRT_RUN_WORKER_H_
#define EIGHTFOLD_PJRT_RUN_WORKER_H_

#include <string>

#include "base/result.h"
#include "pjrt/job.h"

namespace eightfold::pjrt {

// A private folder that is removed, with all in it, when this object goes.
class TempFolder {
 public:
  // Below $TMPDIR, else /tmp.
  static Result<TempFolder> Create();
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&&) = delete;
  ~TempFolder();
  const path& get() const { return path_; }

 private:
  explicit TempFolder(path folder) : path_(std::move(folder)) {}
  path path_;
};

struct WorkerRun {
  Outcome outcome;
  Answer answer;      // of a plugin that died: what its pass had done by then
  std::string stage;  // the last one entered
  std::string log;    // what the plugin printed (its end, when very long)
};

// Runs `job` in `folder` (which holds the program and the options of a compile job) in an
// eightfold-worker with `xla_flags` as its XLA_FLAGS. Blocks until the worker is gone; safe to call
// from several threads. Errors: no worker program, or it broke down. A plugin that crashes or
// exceeds a limit is no error here: the outcome says so.
Result<WorkerRun> RunWorker(const path& folder, const Job& job, const std::string& xla_flags);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_RUN_WORKER_H_
