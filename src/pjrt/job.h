#ifndef EIGHTFOLD_PJRT_JOB_H_
#define EIGHTFOLD_PJRT_JOB_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"

namespace eightfold::pjrt {

// What the parent and the worker tell each other, through files in a private folder: the parent
// writes the job, the program and the options; the worker writes the answer, the compiled module
// and (as its supervisor) the outcome.
struct Job {
  enum class Kind { kDescribe, kCompile };
  Kind kind = Kind::kCompile;
  std::string plugin_path;
  std::string target_config;   // text GpuTargetConfigProto
  std::string format;          // "hlo" or "mlir"
  std::string pass;            // CompileRequest::pass
  bool want_optimized = true;  // ask the plugin for the compiled module
  double timeout_seconds = 600;
  uint64_t memory_limit_bytes = 0;  // resident memory of the plugin's process
};

// What the plugin said. `error` is empty when all went well.
struct Answer {
  std::string stage;  // what was being done last: "loading the plugin", "compiling" …
  std::string error;
  std::string advice;        // what to do about the error; empty when it is not ours
  std::string after_format;  // "hlo" or "hlo_with_config"
  int api_minor = 0;
  double compile_seconds = 0;
  std::string pass_report;  // Pass::Report
  std::string pass_error;   // the first error of the pass, with its advice
  uint64_t pass_calls = 0, pass_changed = 0, pass_failed = 0;
  double pass_seconds = 0;
  std::map<std::string, std::string> attributes;
};

// How the plugin's process ended.
struct Outcome {
  enum class How { kExited, kSignal, kTimeout, kMemory };
  How how = How::kExited;
  int code = 0;  // exit status or signal number
  uint64_t peak_bytes = 0;
};

// The files of the job folder.
inline constexpr char kJobFile[] = "job.json";
inline constexpr char kProgramFile[] = "program";
inline constexpr char kOptionsFile[] = "options";
inline constexpr char kStageFile[] = "stage";
inline constexpr char kAnswerFile[] = "answer.json";
inline constexpr char kAfterFile[] = "after";
inline constexpr char kOutcomeFile[] = "outcome.json";
inline constexpr char kLogFile[] = "log";
inline constexpr char kDumpFolder[] = "dump";

using std::filesystem::path;

Result<void> WriteJob(const path& folder, const Job& job);
Result<Job> ReadJob(const path& folder);
Result<void> WriteAnswer(const path& folder, const Answer& answer);
Result<Answer> ReadAnswer(const path& folder);
Result<void> WriteOutcome(const path& folder, const Outcome& outcome);
Result<Outcome> ReadOutcome(const path& folder);

// The whole file; at most its last `limit` bytes.
Result<std::string> ReadFile(const path& file, uint64_t limit = UINT64_MAX);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_JOB_H_
