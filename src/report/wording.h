#ifndef EIGHTFOLD_REPORT_WORDING_H_
#define EIGHTFOLD_REPORT_WORDING_H_

#include <string>
#include <vector>

#include "report/report.h"

namespace eightfold::report {

// The sentences that human-readable formats share.

// One for each family: "42 convolutions: 20 in FP8, 20 asked for FP8 and ran in f32". Empty without
// kernels.
std::vector<std::string> Headlines(const census::Census& census);

// "94.0 % of the matrix work runs in FP8; 5.9 % was demoted". Empty when no work is counted.
std::string Shares(const Totals& totals);

// "policy_move · GeForce RTX 5070 (sm_120) · jax-cuda12-pjrt 0.10.2 · compiled without a GPU in 4.2
// s"
std::string Provenance(const Section& section);

// What a reader must know to take the figures right: unknown loops, branches, inferred asks. One
// sentence each.
std::vector<std::string> Caveats(const Section& section);

// Kernels on either side that no match was found for, one line each.
std::vector<std::string> Unmatched(const census::Census& census);

// `text` fit for a terminal: no control characters, and not longer than a line.
std::string Clean(std::string_view text);

// "FP8" for the class "fp8", the class itself otherwise.
std::string DisplayClass(const std::string& type_class);

// "programs.py:17 conv ← programs.py:41 network", innermost first, at most `most` frames; op_name
// without frames.
std::string SourceOf(const census::Kernel& kernel, size_t most);

// "2.7 GFLOP"
std::string FormatFlops(double flops);

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_WORDING_H_
