#include "report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace eightfold::report {
namespace {

using census::Kernel;
using census::Status;

std::string Plural(census::Family family, int count) {
  std::string_view name = family == census::Family::kConvolution ? "convolution"
                          : family == census::Family::kDot       ? "matmul"
                                                                 : "attention call";
  return fmt::format("{} {}{}", count, name, count == 1 ? "" : "s");
}

// What one kernel adds to the sentence, after its count, and where that stands in it.
std::pair<int, std::string> Clause(const Kernel& kernel) {
  std::string runs = DisplayClass(TypeClass(kernel.runs_in));
  switch (kernel.status) {
    case Status::kDemoted:
      return {1, "asked for FP8 and ran in " + runs};
    case Status::kUndecided:
      return {2, "undecided (FP8 or " + runs + ")"};
    case Status::kF32FromBf16:
      return {3, "asked for bf16 and ran in " + runs};
    case Status::kWeightOnly:
      return {4, "with one operand in 8 bits, ran in " + runs};
    case Status::kIntegerWidened:
      return {4, "asked for 8-bit integers and ran in " + runs};
    case Status::kUnmatched:
      return {6, "in " + runs + " (nobody knows what they asked for)"};
    case Status::kAsAsked:
      break;
  }
  std::string asked = DisplayClass(TypeClass(kernel.ask.types));
  if (kernel.backend == census::Backend::kUnlowered && asked != runs) {
    return {1, "written in " + runs + " that ask for " + asked};
  }
  bool loop = kernel.backend == census::Backend::kLoop;
  bool reduce = kernel.backend == census::Backend::kReduce;
  std::string how = loop ? " without tensor cores" : reduce ? " as multiply and reduce" : "";
  return {runs == "FP8" && how.empty() ? 0 : 5, "in " + runs + how};
}

}  // namespace

std::string DisplayClass(const std::string& type_class) {
  return type_class == "fp8" ? "FP8" : type_class;
}

std::vector<std::string> Headlines(const census::Census& census) {
  std::map<census::Family, std::map<std::pair<int, std::string>, int>> clauses;
  std::map<census::Family, int> counts;
  for (const Kernel& kernel : census.kernels) {
    ++clauses[kernel.family][Clause(kernel)];
    ++counts[kernel.family];
  }
  std::vector<std::string> lines;
  for (auto& [family, parts] : clauses) {
    std::string line = Plural(family, counts[family]) + ":";
    for (auto& [clause, count] : parts) {
      line += fmt::format("{} {} {}", &clause == &parts.begin()->first ? "" : ",", count,
                          clause.second);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Shares(const Totals& totals) {
  if (totals.flops <= 0) return "";
  auto share = [&](double flops) { return fmt::format("{:.1f} %", 100 * flops / totals.flops); };
  std::vector<std::pair<double, std::string>> parts;
  for (auto& [type, flops] : totals.flops_by_type) parts.emplace_back(flops, DisplayClass(type));
  std::ranges::sort(parts, std::greater<>());
  std::string text = "matrix work (FLOPs):";
  for (auto& [flops, type] : parts) {
    text +=
        fmt::format("{} {} in {}", &type == &parts.front().second ? "" : ",", share(flops), type);
  }
  if (totals.demoted_flops > 0)
    text += fmt::format("; {} was demoted", share(totals.demoted_flops));
  return text;
}

std::string Provenance(const Section& section) {
  std::string line = Clean(section.census.module->name);
  if (section.target) {
    line += fmt::format(" · {} ({})", section.target->title, section.target->architecture);
  }
  if (!section.compiler.plugin.empty()) {
    line += fmt::format(" · {} {} · compiled without a GPU in {:.1f} s", section.compiler.plugin,
                        section.compiler.version, section.compiler.seconds);
  } else {
    line += section.compiled ? " · as compiled" : " · not compiled";
  }
  int64_t partitions = section.census.module->num_partitions;
  if (partitions > 1) line += fmt::format(" · {} partitions, figures per device", partitions);
  return line;
}

std::vector<std::string> Caveats(const Section& section) {
  const census::Census& census = section.census;
  std::vector<std::string> lines = section.notes;
  std::set<std::string> loops;
  bool alternative = false;
  for (const Kernel& kernel : census.kernels) {
    alternative |= kernel.node->alternative;
    for (const auto& term : kernel.node->runs.terms) {
      for (const hlo::Instruction* loop : term.loops) loops.insert(Clean(loop->name));
    }
  }
  if (!section.compiled) {
    lines.emplace_back(
        "the program as it stands: no kernel is chosen yet, and what runs may be wider than what "
        "is written here");
  } else if (census.before == nullptr && !census.kernels.empty()) {
    lines.emplace_back(
        "what was asked for is inferred from the compiled module, where XLA has removed some of "
        "the evidence");
  }
  for (const std::string& loop : loops) {
    lines.push_back(fmt::format("n({}): trip count not known{}; shares take it as 1", loop,
                                section.compiled ? " to the compiler" : " before compiling"));
  }
  if (alternative)
    lines.emplace_back("branches of a conditional are alternatives; each is counted as taken");
  if (census.reached_too_often) {
    lines.emplace_back(
        "computations are called in too many ways to tell the calls apart; what was asked for is "
        "that of all");
  }
  if (census.opaque_kernels > 0) {
    lines.push_back(fmt::format("{} hand-written kernel{} (Triton, Mosaic) not looked into",
                                census.opaque_kernels, census.opaque_kernels == 1 ? "" : "s"));
  }
  return lines;
}

std::vector<std::string> Unmatched(const census::Census& census) {
  std::vector<std::string> lines;
  for (const Kernel& kernel : census.kernels) {
    if (kernel.status != Status::kUnmatched) continue;
    lines.push_back(fmt::format("compiled {} ({}), not found in the program: {}",
                                Clean(kernel.launch->name), census::ToString(kernel.runs_in),
                                SourceOf(kernel, 2)));
  }
  for (const auto& gone : census.gone) {
    std::string place =
        gone.frames.empty()
            ? ""
            : fmt::format(" at {}:{}", Clean(gone.frames.front().file), gone.frames.front().line);
    lines.push_back(fmt::format("program's {} ({}), merged or computed away: {}{}",
                                census::FamilyName(gone.family), census::ToString(gone.ask.types),
                                Clean(gone.op_name), place));
  }
  return lines;
}

std::string Clean(std::string_view text) {
  constexpr size_t kMost = 120;
  size_t end = std::min(text.size(), kMost);
  // Not in the middle of a character.
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  std::string out(text.substr(0, end));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return end < text.size() ? out + "…" : out;
}

std::string SourceOf(const Kernel& kernel, size_t most) {
  if (kernel.frames.empty()) return Clean(kernel.metadata.op_name);
  std::string text;
  for (size_t i = 0; i < std::min(most, kernel.frames.size()); ++i) {
    const auto& frame = kernel.frames[i];
    text += fmt::format("{}{}:{}{}{}", i == 0 ? "" : " ← ", Clean(frame.file), frame.line,
                        frame.function.empty() ? "" : " ", Clean(frame.function));
  }
  return text;
}

std::string FormatFlops(double flops) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}};
  for (auto [unit, name] : kUnits) {
    if (flops >= unit) return fmt::format("{:.1f} {}", flops / unit, name);
  }
  return fmt::format("{:.0f} FLOP", flops);
}

}  // namespace eightfold::report
