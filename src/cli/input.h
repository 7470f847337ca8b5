#ifndef EIGHTFOLD_CLI_INPUT_H_
#define EIGHTFOLD_CLI_INPUT_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/source.h"
#include "hlo/module.h"

namespace eightfold::cli {

enum class InputKind { kHloText, kHloProto, kStableHloText, kStableHloBytecode, kDumpDirectory };

// "HLO text", "StableHLO bytecode" …
std::string_view Name(InputKind kind);

// A program as it was named on the command line.
struct Input {
  std::string path;
  InputKind kind = InputKind::kHloText;
  std::shared_ptr<const Source> source;  // null for a directory
};

// The kind of a file from its bytes; names play no part. Never kDumpDirectory.
InputKind DetectKind(std::string_view bytes);

// Opens `path`: a file, a directory or "-" for standard input.
Result<Input> OpenInput(const std::string& path);

// Reads and verifies HLO of either form. StableHLO and directories are errors that say what to do.
Result<std::unique_ptr<hlo::Module>> LoadModule(const Input& input);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_INPUT_H_
