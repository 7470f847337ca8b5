#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "report/fix_wording.h"
#include "report/style.h"
#include "report/wording.h"

namespace eightfold::report {
namespace {

using census::CallNode;
using census::Kernel;
using census::Status;

// A column of counts: what kernels run in, and what they asked for where that differs.
struct Column {
  int order;
  std::string title;
  std::string type_class;
  auto operator<=>(const Column&) const = default;
};

Column ColumnOf(const Kernel& kernel) {
  std::string runs = TypeClass(kernel.runs_in);
  std::string shown = DisplayClass(runs);
  switch (kernel.status) {
    case Status::kDemoted:
      return {1, shown + "←FP8", runs};
    case Status::kUndecided:
      return {2, "undecided", ""};
    case Status::kF32FromBf16:
      return {3, shown + "←bf16", runs};
    case Status::kWeightOnly:
      return {4, shown + "←one 8-bit", runs};
    case Status::kIntegerWidened:
      return {4, shown + "←8-bit int", runs};
    case Status::kAsAsked:
    case Status::kUnmatched:
      break;
  }
  return {runs == "fp8" ? 0 : 5, shown, runs};
}

// What one computation, or the whole module, runs.
struct Row {
  std::map<Column, int> counts;
  double flops = 0;
  double f8_flops = 0;

  void Add(const Kernel& kernel) {
    ++counts[ColumnOf(kernel)];
    double work = kernel.flops * RunsOf(kernel);
    flops += work;
    if (TypeClass(kernel.runs_in) == "fp8") f8_flops += work;
  }
};

std::string EnteredAs(const CallNode& node) {
  if (node.sites.empty()) return "";
  const census::CallSite& site = node.sites.front();
  switch (site.via) {
    case census::Via::kWhileBody:
      return "while body  ";
    case census::Via::kWhileCondition:
      return "while condition  ";
    case census::Via::kBranch:
      return fmt::format("branch {}  ", site.branch);
    case census::Via::kAsync:
      return "async  ";
    case census::Via::kCall:
    case census::Via::kEntry:
      break;
  }
  return "call  ";
}

class TableWriter {
 public:
  TableWriter(const Section& section, const TableOptions& options)
      : section_(section), options_(options) {
    for (const Kernel& kernel : section.census.kernels) {
      rows_[kernel.node].Add(kernel);
      total_.Add(kernel);
    }
  }

  std::string Write() {
    out_ += Paint(Provenance(section_), Tint::kDim, options_.color) + "\n\n";
    WriteHeadline();
    if (options_.headline_only) return std::move(out_);
    if (!section_.census.kernels.empty()) WriteTree();
    std::vector<std::string> caveats = Caveats(section_);
    for (const std::string& caveat : caveats) out_ += Wrap("· " + caveat, 2, options_.width);
    if (!caveats.empty()) out_ += "\n";
    WriteUnmatched();
    for (const diagnose::Finding& finding : section_.findings) WriteFinding(finding);
    return std::move(out_);
  }

 private:
  void WriteHeadline() {
    std::vector<std::string> lines = Headlines(section_.census);
    if (lines.empty()) {
      out_ += "  no matrix work: no convolution, matmul or attention call runs\n\n";
      return;
    }
    for (const std::string& line : lines) {
      out_ += Paint(Wrap(line, 2, options_.width), Tint::kBold, options_.color);
    }
    std::string shares = Shares(Sum(section_.census));
    if (!shares.empty()) out_ += Wrap(shares, 2, options_.width);
    WriteFix();
    out_ += "\n";
  }

  void WriteFix() {
    if (!section_.fix) return;
    for (const std::string& line : FixLines(*section_.fix)) out_ += Wrap(line, 2, options_.width);
  }

  void WriteUnmatched() {
    std::vector<std::string> lines = Unmatched(section_.census);
    if (lines.empty()) return;
    for (size_t i = 0; i < std::min(lines.size(), options_.top); ++i) {
      out_ += Wrap("? " + lines[i], 2, options_.width);
    }
    if (lines.size() > options_.top) {
      out_ +=
          fmt::format("  ? and {} more (--top {})\n", lines.size() - options_.top, lines.size());
    }
    out_ += "\n";
  }

  // Rows of the tree: computations with kernels and those on the way to them.
  void WriteTree() {
    std::unordered_set<const CallNode*> shown;
    std::unordered_map<const CallNode*, std::vector<const CallNode*>> children;
    const auto& nodes = section_.census.graph->nodes();
    for (size_t i = nodes.size(); i-- > 0;) {
      const CallNode& node = nodes[i];
      if (!rows_.contains(&node) && !shown.contains(&node)) continue;
      shown.insert(&node);
      if (node.sites.empty()) continue;
      const CallNode* caller = section_.census.graph->Find(*node.sites.front().instruction->parent);
      shown.insert(caller);
      children[caller].push_back(&node);
    }
    // Below one computation in the order of its instructions and their branches, last first: a
    // stack turns it round.
    for (auto& [caller, below] : children) {
      std::ranges::stable_sort(below, std::greater<>(), [](const CallNode* node) {
        const census::CallSite& site = node->sites.front();
        return std::pair(site.instruction->index, site.branch);
      });
    }
    std::vector<std::vector<std::string>> cells = {Header()};
    std::vector<const CallNode*> stack = {&nodes.front()};
    while (!stack.empty()) {
      const CallNode* node = stack.back();
      stack.pop_back();
      cells.push_back(NodeCells(*node));
      for (const CallNode* child : children[node]) stack.push_back(child);
    }
    if (cells.size() > 2) cells.push_back(Cells("total", "", total_));
    WriteCells(cells);
  }

  std::vector<std::string> Header() const {
    std::vector<std::string> header = {"computation", "runs"};
    for (auto& [column, count] : total_.counts) header.push_back(column.title);
    header.insert(header.end(), {"work", "in FP8"});
    return header;
  }

  std::vector<std::string> NodeCells(const CallNode& node) {
    std::string indent;
    if (node.depth > 0) indent = std::string(2 * static_cast<size_t>(node.depth - 1), ' ') + "└ ";
    std::string more =
        node.sites.size() > 1 ? fmt::format(" (from {} places)", node.sites.size()) : "";
    std::string runs = (node.alternative ? "≤ " : "") + node.runs.ToString();
    return Cells(
        indent + EnteredAs(node) + Clean(diagnose::ShortName(node.computation->name)) + more, runs,
        rows_[&node]);
  }

  std::vector<std::string> Cells(const std::string& name, const std::string& runs,
                                 const Row& row) const {
    std::vector<std::string> cells = {name, runs};
    for (auto& [column, total] : total_.counts) {
      auto it = row.counts.find(column);
      cells.push_back(it == row.counts.end() ? "–" : std::to_string(it->second));
    }
    cells.push_back(row.flops > 0 ? FormatFlops(row.flops) : "–");
    cells.push_back(row.flops > 0 ? fmt::format("{:.1f} %", 100 * row.f8_flops / row.flops) : "–");
    return cells;
  }

  void WriteCells(const std::vector<std::vector<std::string>>& cells) {
    std::vector<size_t> widths(cells.front().size());
    for (const auto& row : cells) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
    }
    for (const auto& row : cells) {
      std::string line = "  ";
      for (size_t i = 0; i < row.size(); ++i) {
        std::string padding(widths[i] - Columns(row[i]), ' ');
        line += i == 0 ? row[i] + padding : "   " + padding + PaintCell(row[i], i);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out_ += (&row == &cells.front() ? Paint(line, Tint::kDim, options_.color) : line) + "\n";
    }
    out_ += "\n";
  }

  // Counts take the colour of the type in their column's title.
  std::string PaintCell(const std::string& text, size_t index) const {
    if (index < 2 || index - 2 >= total_.counts.size() || text == "–") return text;
    auto column = std::next(total_.counts.begin(), static_cast<std::ptrdiff_t>(index - 2));
    return Paint(text, TintOf(column->first.type_class), options_.color);
  }

  void WriteFinding(const diagnose::Finding& finding) {
    Tint tint = finding.severity == diagnose::Severity::kDemoted ? Tint::kRed : Tint::kYellow;
    if (finding.severity == diagnose::Severity::kNote) tint = Tint::kDim;
    out_ += "  " + Paint(finding.id, tint, options_.color) + "  " +
            Wrap(finding.title, kIndent, options_.width).substr(kIndent);
    WriteGroups(finding);
    out_ += Wrap(finding.cause, kIndent, options_.width);
    out_ += Wrap("fix  " + finding.fix, kIndent, options_.width);
    out_ += Wrap("docs/findings/" + finding.id + ".md", kIndent, options_.width) + "\n";
  }

  // Kernels of one finding that look the same and come from the same line are one group.
  void WriteGroups(const diagnose::Finding& finding) {
    struct Group {
      const Kernel* first;
      size_t count = 0;
    };
    std::map<std::string, Group> groups;
    for (size_t index : finding.kernels) {
      const Kernel& kernel = section_.census.kernels[index];
      Group& group =
          groups.try_emplace(Describe(kernel) + SourceOf(kernel, 8), Group{&kernel}).first->second;
      ++group.count;
    }
    std::vector<Group> order;
    for (auto& [key, group] : groups) order.push_back(group);
    std::ranges::stable_sort(order, std::greater<>(), [](const Group& group) {
      return group.first->flops * static_cast<double>(group.count);
    });
    for (size_t i = 0; i < std::min(order.size(), options_.top); ++i) {
      std::string times = order[i].count > 1 ? fmt::format("{} × ", order[i].count) : "";
      out_ += Wrap(times + Describe(*order[i].first), kIndent, options_.width);
      std::string source = SourceOf(*order[i].first, 4);
      if (!source.empty()) out_ += Wrap("at " + source, kIndent + 2, options_.width);
    }
    if (order.size() > options_.top) {
      out_ += Wrap(
          fmt::format("and {} more groups (--top {})", order.size() - options_.top, order.size()),
          kIndent, options_.width);
    }
  }

  static std::string Describe(const Kernel& kernel) {
    std::string text;
    for (const hlo::Instruction* operand : kernel.operands) {
      if (operand == nullptr) continue;
      text += (text.empty() ? "" : " ∗ ") + hlo::ToString(*operand->shape, false);
    }
    text +=
        fmt::format(" → {}, {}", hlo::ToString(*kernel.output, false), FormatFlops(kernel.flops));
    if (kernel.ask.known) text += ", asked for " + census::ToString(kernel.ask.types);
    text += fmt::format(", {}", census::BackendName(kernel.backend));
    if (kernel.without_triton) {
      text += fmt::format("; without Triton {} on {}",
                          census::BackendName(kernel.without_triton->backend),
                          census::ToString(kernel.without_triton->runs_in));
    }
    return text;
  }

  static constexpr size_t kIndent = 9;
  const Section& section_;
  const TableOptions& options_;
  std::unordered_map<const CallNode*, Row> rows_;
  Row total_;
  std::string out_;
};

}  // namespace

std::string WriteTable(const Report& report, const TableOptions& options) {
  std::string out;
  size_t findings = 0;
  for (const Section& section : report.sections) {
    if (report.many) out += Paint("== " + Clean(section.input), Tint::kBold, options.color) + "\n";
    out += TableWriter(section, options).Write();
    findings +=
        static_cast<size_t>(std::ranges::count_if(section.findings, [](const auto& finding) {
          return finding.severity != diagnose::Severity::kNote;
        }));
  }
  if (report.without_matrix_work > 0) {
    out += fmt::format("  {} module{} without matrix work\n", report.without_matrix_work,
                       report.without_matrix_work == 1 ? "" : "s");
  }
  if (!options.headline_only) {
    out += findings == 0 ? "  no findings\n"
                         : fmt::format("  {} finding{}\n", findings, findings == 1 ? "" : "s");
  }
  return out;
}

}  // namespace eightfold::report
