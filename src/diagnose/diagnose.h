#ifndef EIGHTFOLD_DIAGNOSE_DIAGNOSE_H_
#define EIGHTFOLD_DIAGNOSE_DIAGNOSE_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "census/census.h"

namespace eightfold::diagnose {

// What is known about how a module was compiled. Absent: the module was audited as it stands.
struct Setting {
  std::optional<std::array<int, 3>> plugin_version;      // {0, 10, 2}
  std::optional<std::array<int, 2>> compute_capability;  // {8, 9}
  std::optional<std::array<int, 3>> cudnn_version;
};

// How much a finding weighs: what --fail-on looks at.
enum class Severity : uint8_t {
  kDemoted,  // FP8 was lost
  kAny,   // something else an engineer would want to know: undecided, f32←bf16, weight-only, no
          // tensor cores
  kNote,  // information; never fails a run
};

struct Finding {
  std::string id;  // "EF101"; docs/findings/EF101.md explains it
  Severity severity{};
  std::string
      title;  // "20 convolutions in main run in f32: another computation was rewritten first"
  std::string cause;            // why, in a sentence or two
  std::string fix;              // what to do
  std::vector<size_t> kernels;  // indices into Census::kernels; empty: of the whole module
};

// Every kernel that does not run as asked is part of exactly one finding, and findings come worst
// first. The rules are in rules.cc, one row each.
std::vector<Finding> Diagnose(const census::Census& census, const Setting& setting);

// A computation's name without what XLA's passes hang on: "region_10.89" for
// "region_10.89.clone.clone.sunk".
std::string_view ShortName(std::string_view computation);

}  // namespace eightfold::diagnose

#endif  // EIGHTFOLD_DIAGNOSE_DIAGNOSE_H_
