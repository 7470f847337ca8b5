#ifndef EIGHTFOLD_PJRT_COMPILE_H_
#define EIGHTFOLD_PJRT_COMPILE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pjrt/plugin.h"
#include "target/gpu.h"

namespace eightfold::pjrt {

struct CompileRequest {
  enum class Format {
    kHlo,   // serialized HloModuleProto
    kMlir,  // StableHLO, text or bytecode
  };
  std::string program_name;  // for messages: "move.pb"
  std::string_view program;
  Format format = Format::kHlo;
  Plugin plugin;
  target::Gpu gpu;
  // XLA compiles for one device, silently, unless it is told how many the program was made for.
  int num_partitions = 1;
  int num_replicas = 1;
  std::vector<std::string> xla_flags;  // after those of the environment's XLA_FLAGS
  // When not empty, the module after every pass that changed it goes there, as HloProto files.
  std::string dump_dir;
  // Describes the pass to run inside the plugin, at the stage before scheduling (pass_hook.h); what
  // it may be is between the caller and the worker. Empty: none. An error on plugins without the
  // extension.
  std::string pass;
  std::chrono::seconds timeout{600};
  uint64_t memory_limit_bytes = 0;  // resident memory; 0: four fifths of the machine's
  // When not null, receives what the plugin printed, also when compiling fails.
  std::string* log = nullptr;
};

struct CompileResult {
  // Serialized HloModuleProto: what the program asks for, before any optimization.
  std::string before;
  // The same after partitioning, with per-device shapes; empty unless num_partitions > 1.
  std::string partitioned;
  // What runs: serialized HloModuleProtoWithConfig, or HloModuleProto, as the plugin gave it.
  std::string after;
  bool after_has_config = false;
  std::string pass_report;  // what the pass says it did (Pass::Report); empty without one
  std::string pass_error;   // the pass failed at least once, and those modules went on unchanged
  uint64_t pass_calls = 0;  // by the plugin; it changed the module in `pass_changed`
  uint64_t pass_changed = 0;
  uint64_t pass_failed = 0;
  double pass_seconds = 0;     // spent in the pass
  double compile_seconds = 0;  // spent in the plugin's compile, with the pass in it
  std::string log;             // what the plugin printed
  double seconds = 0;          // wall clock of the whole call
  uint64_t peak_memory_bytes = 0;
};

// Compiles for a GPU that need not be there, in a worker process. Thread-safe. Errors have
// ExitCode::kCompiler: the plugin refused the program, crashed, or passed a limit.
Result<CompileResult> Compile(const CompileRequest& request);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_COMPILE_H_
