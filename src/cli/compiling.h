#ifndef EIGHTFOLD_CLI_COMPILING_H_
#define EIGHTFOLD_CLI_COMPILING_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/input.h"
#include "cli/options.h"
#include "hlo/module.h"
#include "hlo/proto/proto.h"
#include "pjrt/compile.h"

namespace eightfold::cli {

// A program made ready for a plugin. `request.program` views `bytes` or the input's source; move
// it, but do not copy it.
struct Prepared {
  pjrt::CompileRequest request;
  std::shared_ptr<const Source> source;
  std::unique_ptr<std::string> bytes;
  std::unique_ptr<hlo::Module> module;  // what was read; null for StableHLO and raw input
};

struct PrepareOptions {
  bool raw = false;      // hand the file's bytes over as they are
  std::string dump_dir;  // see CompileRequest
};

// Reads and verifies HLO, and serializes it with the instruction ids that the plugin's version
// wants. StableHLO is handed over as it is. Errors: what LoadModule reports; raw HLO text.
Result<Prepared> Prepare(const Input& input, const Compiler& compiler, const CompileFlags& flags,
                         const PrepareOptions& options = {});

// The form of protos that `version` of a plugin loads.
hlo::ProtoTarget ProtoTargetOf(const target::PluginVersion& version);

// Compiles with a progress line; with --verbose the plugin's log goes to standard error.
Result<pjrt::CompileResult> CompileWithProgress(const Prepared& prepared,
                                                const CompileFlags& flags);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_COMPILING_H_
