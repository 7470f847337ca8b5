#ifndef EIGHTFOLD_REPORT_REPORT_H_
#define EIGHTFOLD_REPORT_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "census/census.h"
#include "diagnose/diagnose.h"
#include "rewrite/conv_graph.h"

namespace eightfold::report {

// The GPU that a module was compiled for.
struct TargetInfo {
  std::string name;          // "rtx5070"
  std::string title;         // "GeForce RTX 5070"
  std::string architecture;  // "sm_120"
};

struct CompilerInfo {
  std::string plugin;   // "jax-cuda12-pjrt"; empty: not compiled by us
  std::string version;  // "0.10.2"
  std::string path;
  double seconds = 0;
};

// What a fix did to the module on its way.
struct FixInfo {
  std::string how;  // "inside the compiler"
  std::vector<rewrite::Rewritten> rewritten;
  std::vector<rewrite::NearMiss> near_misses;
  std::string error;  // the pass failed, and its module went on unchanged
  // Spent in the pass, and in the compiler with it; 0 where the pass did not run inside it.
  double pass_seconds = 0;
  double compile_seconds = 0;
};

// One audited module. What every output format is made from.
struct Section {
  std::string input;  // the file it came from
  // Whether the module counted is a compiled one. False: it is the program as it stands
  // (--no-compile).
  bool compiled = true;
  std::optional<TargetInfo> target;
  CompilerInfo compiler;
  census::Census census;
  std::vector<diagnose::Finding> findings;
  std::optional<FixInfo> fix;      // compiled with a fix
  std::vector<std::string> notes;  // what the reader must know besides
};

struct Report {
  std::string tool_version;
  std::vector<Section> sections;
  bool many = false;               // a directory: sections are listed even when there is only one
  size_t without_matrix_work = 0;  // of a directory: modules that have no section
  std::vector<Error> errors;       // of a directory: what could not be read
};

// Sums over one section. FLOPs are of one run of the module, loops of unknown length taken once.
struct Totals {
  std::map<std::string, int> custom_calls;      // by target
  std::map<std::string, int> dots;              // "f8e4m3fn x f8e4m3fn", of dot instructions
  std::map<std::string, double> flops_by_type;  // by TypeClass of what runs
  std::map<census::Status, int> by_status;
  double flops = 0;
  double demoted_flops = 0;
  int without_tensor_cores = 0;  // in loop fusions

  int Count(census::Status status) const {
    auto it = by_status.find(status);
    return it == by_status.end() ? 0 : it->second;
  }
};
Totals Sum(const census::Census& census);

// How often a kernel runs per run of the module, unknown loops once.
double RunsOf(const census::Kernel& kernel);

// The type that a kernel's speed goes by: "fp8" for floats of at most 8 bits on both sides,
// otherwise the wider operand's name.
std::string TypeClass(const census::OperandTypes& types);

// The exit code that --fail-on asks for: kFindings when a finding weighs at least as much.
enum class FailOn { kDemoted, kAny, kNever };
ExitCode Verdict(const Report& report, FailOn fail_on);

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_REPORT_H_
