#ifndef EIGHTFOLD_HLO_TEXT_TEXT_H_
#define EIGHTFOLD_HLO_TEXT_TEXT_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "base/source.h"
#include "hlo/module.h"

namespace eightfold::hlo {

// Reads HLO text as XLA 0.10–0.12 prints and parses it, and a superset: forward references,
// computations in any order and unknown attributes are taken. The module holds views into `source`.
// Errors carry line, column and the line. The result is not verified: see hlo/verifier.h.
Result<std::unique_ptr<Module>> ReadText(std::shared_ptr<const Source> source);

struct TextOptions {
  bool metadata = true;
  bool large_constants = true;  // false: arrays of more than 10 elements print as {...}
};
// Prints the module as XLA prints it with large constants, so that XLA and ReadText take it back.
Result<std::string> WriteText(const Module& module, const TextOptions& options = {});

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_TEXT_TEXT_H_
