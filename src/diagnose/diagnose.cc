#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnose/lost_rounding.h"
#include "diagnose/rules.h"

namespace eightfold::diagnose {
namespace {

using census::Kernel;

std::string Replace(std::string_view text, std::string_view what, std::string_view with) {
  std::string out(text);
  size_t at = out.find(what);
  if (at != std::string::npos) out.replace(at, what.size(), with);
  return out;
}

std::string PluralOf(census::Family family, size_t count) {
  std::string_view name = family == census::Family::kDot         ? "matmul"
                          : family == census::Family::kAttention ? "attention call"
                                                                 : "convolution";
  return fmt::format("{} {}{}", count, name, count == 1 ? "" : "s");
}

std::string Title(const Rule& rule, const std::vector<Kernel>& kernels, const Finding& finding) {
  const Kernel& first = kernels[finding.kernels.front()];
  std::string predicate = Replace(rule.title, "{types}", census::ToString(first.runs_in));
  if (finding.kernels.size() == 1 && predicate.starts_with("run ")) predicate.replace(0, 3, "runs");
  std::set<const hlo::Computation*> computations;
  for (size_t kernel : finding.kernels) computations.insert(kernels[kernel].node->computation);
  std::string where = computations.size() == 1
                          ? std::string(ShortName(first.node->computation->name))
                          : fmt::format("{} computations", computations.size());
  return fmt::format("{} in {} {}", PluralOf(first.family, finding.kernels.size()), where,
                     predicate);
}

}  // namespace

std::vector<Finding> Diagnose(const census::Census& census, const Setting& setting) {
  Facts facts{setting, {}};
  for (const Kernel& kernel : census.kernels) {
    if (kernel.backend == census::Backend::kCudnnGraph && census::IsF8(kernel.runs_in)) {
      facts.with_graph_calls.insert(kernel.node->computation);
    }
  }
  // One finding per rule, family and type that the kernels run in; rules are in order of weight.
  using Key = std::tuple<size_t, census::Family, census::OperandTypes>;
  std::map<Key, Finding> findings;
  std::span<const Rule> rules = Rules();
  for (size_t i = 0; i < census.kernels.size(); ++i) {
    const Kernel& kernel = census.kernels[i];
    for (size_t r = 0; r < rules.size(); ++r) {
      if (!rules[r].applies(kernel, facts)) continue;
      Finding& finding = findings[{r, kernel.family, kernel.runs_in}];
      finding.kernels.push_back(i);
      break;
    }
  }
  std::vector<Finding> list;
  for (auto& [key, finding] : findings) {
    const Rule& rule = rules[std::get<0>(key)];
    finding.id = rule.id;
    finding.severity = rule.severity;
    finding.title = Title(rule, census.kernels, finding);
    finding.cause = rule.cause;
    finding.fix = rule.fix;
    list.push_back(std::move(finding));
  }
  if (auto lost = FindLostRounding(census)) list.push_back(std::move(*lost));
  std::ranges::stable_sort(list, {}, &Finding::severity);
  return list;
}

std::string_view ShortName(std::string_view computation) {
  size_t end = std::min(computation.find(".clone"), computation.find(".sunk"));
  return computation.substr(0, end);
}

}  // namespace eightfold::diagnose
