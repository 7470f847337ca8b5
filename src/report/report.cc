#include "report/report.h"

#include <algorithm>

namespace eightfold::report {

double RunsOf(const census::Kernel& kernel) { return kernel.node->runs.AtLeastOnce(); }

std::string TypeClass(const census::OperandTypes& types) {
  if (census::IsF8(types)) return "fp8";
  bool second = hlo::BitWidth(types[1]) > hlo::BitWidth(types[0]);
  return std::string(hlo::Name(types[second ? 1 : 0]));
}

Totals Sum(const census::Census& census) {
  Totals totals;
  for (const census::Kernel& kernel : census.kernels) {
    if (!kernel.target().empty()) {
      ++totals.custom_calls[std::string(kernel.target())];
    } else if (kernel.family == census::Family::kDot &&
               kernel.backend != census::Backend::kReduce) {
      ++totals.dots[std::string(hlo::Name(kernel.runs_in[0])) + " x " +
                    std::string(hlo::Name(kernel.runs_in[1]))];
    }
    double flops = kernel.flops * RunsOf(kernel);
    totals.flops += flops;
    totals.flops_by_type[TypeClass(kernel.runs_in)] += flops;
    ++totals.by_status[kernel.status];
    if (kernel.status == census::Status::kDemoted) totals.demoted_flops += flops;
    totals.without_tensor_cores += kernel.backend == census::Backend::kLoop;
  }
  return totals;
}

ExitCode Verdict(const Report& report, FailOn fail_on) {
  if (fail_on == FailOn::kNever) return ExitCode::kClean;
  auto weighs = [&](const diagnose::Finding& finding) {
    return finding.severity == diagnose::Severity::kDemoted ||
           (fail_on == FailOn::kAny && finding.severity == diagnose::Severity::kAny);
  };
  bool any = std::ranges::any_of(
      report.sections, [&](const Section& s) { return std::ranges::any_of(s.findings, weighs); });
  return any ? ExitCode::kFindings : ExitCode::kClean;
}

}  // namespace eightfold::report
