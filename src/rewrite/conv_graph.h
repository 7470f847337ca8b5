#ifndef EIGHTFOLD_REWRITE_CONV_GRAPH_H_
#define EIGHTFOLD_REWRITE_CONV_GRAPH_H_

#include <array>
#include <string>
#include <vector>

#include "hlo/module.h"

namespace eightfold::rewrite {

// Which convolutions to take.
enum class Extent {
  kHideOnly,  // none; only hide from XLA's own pass those that kPlanned hides
  kPlanned,   // those that cuDNN has a plan for and computes as asked; hide the others
  kAll,       // all that XLA's pass takes, hide none
};

struct ConvGraphOptions {
  Extent extent = Extent::kPlanned;
  std::array<int, 2> compute_capability{};  // {12, 0} is sm_120
  std::array<int, 3> cudnn_version{};       // {9, 10, 0}; all 0: not known
  std::array<int, 2> cuda_version{};        // of the toolkit; all 0: not known, new enough
};

// A convolution that became a graph call.
struct Rewritten {
  std::string computation;
  std::string convolution;       // the name that the convolution had
  std::string call;              // the name of the custom call
  std::vector<std::string> ops;  // what it absorbed, in order: "scale", "add", "relu", "amax" …
};

// A convolution on FP8 values that was left as it is, or an operation after one that was not
// absorbed.
struct NearMiss {
  std::string computation;
  std::string instruction;  // on which the condition failed
  std::string convolution;  // the convolution concerned
  std::string condition;    // "cuDNN 9.10 has no plan for 8 groups of 1 input channel"
  bool left_alone = false;  // the convolution itself was not rewritten
  bool no_plan = false;     // because cuDNN has no plan for it
  bool hidden = false;      // and it was hidden from XLA's own pass
};

struct ConvGraphResult {
  bool changed = false;  // the module is as it was when false, pointer for pointer
  std::vector<Rewritten> rewritten;
  std::vector<NearMiss> near_misses;
};

// XLA's FP8 graph convolution rewrite, in every computation that is not a fusion, callees first.
// Takes a module as the pass hook's stage 0 sees it (plain convolutions) or after canonicalization
// (legacy cuDNN custom calls), verified; and leaves a module that verifies.
ConvGraphResult ConvGraph(hlo::Module& module, const ConvGraphOptions& options);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_CONV_GRAPH_H_
