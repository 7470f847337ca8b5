#include "report/fix_wording.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "report/wording.h"

namespace eightfold::report {
namespace {

std::string Convolutions(size_t count) {
  return fmt::format("{} FP8 convolution{}", count, count == 1 ? "" : "s");
}

std::string Sum(const FixInfo& fix) {
  if (fix.rewritten.empty()) return fmt::format("fix: nothing rewritten ({})", Clean(fix.how));
  std::set<std::string> computations;
  for (const rewrite::Rewritten& one : fix.rewritten) computations.insert(one.computation);
  std::string where = computations.size() == 1
                          ? Clean(*computations.begin())
                          : fmt::format("{} computations", computations.size());
  return fmt::format("fix: {} rewritten in {}, {}", Convolutions(fix.rewritten.size()), where,
                     Clean(fix.how));
}

}  // namespace

std::vector<std::string> FixLines(const FixInfo& fix) {
  std::vector<std::string> lines = {Sum(fix)};
  std::map<std::string, size_t> left_alone;
  for (const rewrite::NearMiss& miss : fix.near_misses) {
    if (!miss.left_alone) continue;
    std::string why = Clean(miss.condition);
    if (miss.hidden) why += " (and hidden from XLA's own rewriter)";
    ++left_alone[why];
  }
  for (const auto& [why, count] : left_alone) {
    lines.push_back(fmt::format("left alone: {}: {}", Convolutions(count), why));
  }
  if (!fix.error.empty()) {
    lines.push_back("the fix failed, and the module went on without it: " + Clean(fix.error));
  }
  return lines;
}

}  // namespace eightfold::report
