#ifndef EIGHTFOLD_CLI_OUTPUT_H_
#define EIGHTFOLD_CLI_OUTPUT_H_

#include <string>

#include "base/result.h"
#include "hlo/module.h"
#include "hlo/proto/proto.h"

namespace eightfold::cli {

enum class OutputForm { kText, kProto };

// The form that the name of an output file asks for: proto for .pb, text for .hlo, .txt and
// .hlo.txt, `of_stdout` for "-". Other names are an error.
Result<OutputForm> FormOf(const std::string& path, OutputForm of_stdout);

struct WriteOptions {
  hlo::ProtoKind kind = hlo::ProtoKind::kModule;
  hlo::IdScheme ids = hlo::IdScheme::kPerComputation;
};

// Writes `module` to `path` ("-": standard output). The file appears whole or not at all.
Result<void> WriteModule(const hlo::Module& module, OutputForm form, const std::string& path,
                         const WriteOptions& options = {});

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_OUTPUT_H_
