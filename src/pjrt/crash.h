#ifndef EIGHTFOLD_PJRT_CRASH_H_
#define EIGHTFOLD_PJRT_CRASH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pjrt/run_worker.h"

namespace eightfold::pjrt {

// What a message about a failed run needs to name.
struct RunNames {
  std::string plugin;   // "jax-cuda12-pjrt 0.6.2"
  std::string program;  // "step.pb"; empty when there is none
  double timeout_seconds = 0;
  uint64_t memory_limit_bytes = 0;
};

// Turns a run that did not end well into an error of ExitCode::kCompiler that says what happened,
// in which step, with the plugin's last words and advice where we have some.
Result<void> CheckRun(const WorkerRun& run, const RunNames& names);

// The line of a plugin's log that best says why it died: the last failed check or fatal message,
// else the last line that is not part of a stack trace. Dates and thread ids are cut off.
std::string LastWords(std::string_view log);

// What to do about a message of the compiler, from a table of known ones; "" when it is not known.
std::string AdviceFor(std::string_view message);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_CRASH_H_
