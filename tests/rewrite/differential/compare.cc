#include "compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "base/source.h"
#include "canonical.h"
#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

namespace eightfold::differential {
namespace {

using Modules = std::unique_ptr<hlo::Module>;

Result<Modules> Read(std::string name, std::string bytes) {
  return hlo::ReadProto(Source::FromBytes(std::move(name), std::move(bytes)));
}

std::string Text(const hlo::Module& module) {
  Result<std::string> text = hlo::WriteText(module);
  return text ? *text : text.error().what;
}

// The computations that the recipes became.
std::vector<const hlo::Computation*> Parts(const hlo::Module& module, size_t count) {
  if (count == 1) return {module.entry};
  std::vector<const hlo::Computation*> parts;
  for (const hlo::Instruction* call : module.entry->root->operands) {
    parts.push_back(call->called[0]);
  }
  return parts;
}

// Stock on one module: `result` is what it made of `before`.
struct StockResult {
  bool usable = false;
  std::string refusal;
  Modules before, result;
};

// Stock absorbs the addition of a value to itself in a way that cannot be meant: the value is in
// the graph and an operand of the call besides, for which the legacy call stays. Ours leaves it
// alone.
bool AddsToItself(const hlo::Module& before, const hlo::Module& after) {
  std::unordered_set<std::string_view> left;
  for (const hlo::Instruction* instruction : after.entry->instructions) {
    left.insert(instruction->name);
  }
  return std::ranges::any_of(before.entry->instructions, [&](const hlo::Instruction* i) {
    return i->opcode == hlo::Opcode::kAdd && i->operands[0] == i->operands[1] &&
           !left.contains(i->name);
  });
}

// Whether a convolution is a graph call and stays a legacy call besides: stock absorbs an ELU even
// when something else uses its exponential, too.
bool ComputesTwice(const hlo::Computation& computation) {
  std::unordered_set<std::string_view> graphs;
  for (const hlo::Instruction* instruction : computation.instructions) {
    if (!SerializedGraph(*instruction).empty()) graphs.insert(instruction->metadata);
  }
  return std::ranges::any_of(computation.instructions, [&](const hlo::Instruction* i) {
    return i->opcode == hlo::Opcode::kCustomCall && SerializedGraph(*i).empty() &&
           graphs.contains(i->metadata);
  });
}

// How GraphCalls spells the instruction's name for the comparison.
std::string MetadataOf(const hlo::Instruction& instruction) {
  return fmt::format("metadata={} ", PrintableBytes(instruction.metadata));
}

Result<StockResult> RunStock(StockRunner& runner, const std::string& proto) {
  EF_TRY(Stock stock, runner.Run(proto));
  StockResult result;
  if (!stock.finished) {
    result.refusal = stock.answer;
    return result;
  }
  const std::string& before = stock.before.empty() ? proto : stock.before;
  EF_TRY(result.before, Read("before", before));
  EF_TRY(result.result, Read("stock", stock.after.empty() ? before : stock.after));
  result.usable = !AddsToItself(*result.before, *result.result);
  if (!result.usable) result.refusal = "adds a value to itself";
  return result;
}

std::string Joined(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

// Ours on `module`, in place; nothing, or what is wrong with the result whatever stock does.
std::optional<std::string> Rewrite(hlo::Module& module, const rewrite::ConvGraphOptions& options,
                                   rewrite::ConvGraphResult& result) {
  std::string untouched = Canonical(*module.entry);
  result = rewrite::ConvGraph(module, options);
  if (auto verified = hlo::Verify(module); !verified) {
    return "our result does not verify: " + verified.error().Format();
  }
  if (!result.changed && Canonical(*module.entry) != untouched) {
    return "ours says unchanged, and changed the module";
  }
  return std::nullopt;
}

void Count(const hlo::Module& module, std::map<std::string, int>& targets) {
  for (const hlo::Computation* computation : module.computations) {
    for (const hlo::Instruction* instruction : computation->instructions) {
      if (instruction->opcode != hlo::Opcode::kCustomCall) continue;
      ++targets[std::string(instruction->custom_call_target())];
    }
  }
}

void CountCall(const hlo::Instruction& call, Statistics& statistics) {
  const std::string graph = SerializedGraph(call);
  if (graph.empty()) return;
  ++statistics.rewritten;
  ++statistics.result_types[std::string(Name(call.shape->tuple[0]->type))];
  for (size_t at = graph.find(']'); at != std::string::npos; at = graph.find(']', at + 1)) {
    ++statistics.operations[graph.substr(at + 1, graph.find('(', at) - at - 1)];
  }
}

// "cuDNN 9.10 has no plan" without what differs from module to module.
std::string Generic(const std::string& condition) {
  std::string out;
  for (char c : condition) {
    if (c >= '0' && c <= '9') c = '#';
    if (c != '#' || out.empty() || out.back() != '#') out += c;
  }
  return out;
}

}  // namespace

namespace {

// One comparison under way.
class Run {
 public:
  Run(StockRunner& stock, const rewrite::ConvGraphOptions& options, bool fuses_others,
      std::span<const Recipe> recipes, Statistics* statistics)
      : stock_(stock),
        options_(options),
        fuses_others_(fuses_others),
        recipes_(recipes),
        statistics_(statistics) {}

  Result<std::optional<Difference>> Compare();

 private:
  Result<std::string> Made(std::span<const Recipe> recipes);
  // False: stock refuses one of the modules.
  Result<bool> RunAllStock();
  Result<std::optional<Difference>> CompareCalls();
  Result<std::optional<Difference>> CompareComputations();
  // Ours with what stock's pass does to the convolutions that are not FP8.
  Result<Modules> AfterStock(const hlo::Module& ours);
  void CountAll(const rewrite::ConvGraphResult& ours);

  StockRunner& stock_;
  const rewrite::ConvGraphOptions& options_;
  bool fuses_others_;
  std::span<const Recipe> recipes_;
  Statistics* statistics_;
  std::string proto_;               // of all recipes
  StockResult together_;            // stock on that
  std::vector<StockResult> alone_;  // stock on each recipe; with one recipe, the same as together_
};

Result<std::string> Run::Made(std::span<const Recipe> recipes) {
  std::unique_ptr<hlo::Module> made = Generate(recipes);
  EF_CHECK_OK(hlo::Verify(*made));
  return hlo::WriteProto(*made);
}

Result<bool> Run::RunAllStock() {
  for (const Recipe& recipe : recipes_) {
    EF_TRY(std::string proto, Made({&recipe, 1}));
    EF_TRY(StockResult result, RunStock(stock_, proto));
    alone_.push_back(std::move(result));
  }
  EF_TRY(proto_, Made(recipes_));
  EF_TRY(together_, RunStock(stock_, proto_));
  if (!together_.usable) alone_.push_back(StockResult{.refusal = together_.refusal});
  for (const StockResult& result : alone_) {
    if (result.usable) continue;
    if (statistics_ != nullptr) {
      ++(result.before != nullptr ? statistics_->left_out : statistics_->refused);
      ++statistics_->refusals[Generic(result.refusal.substr(0, 80))];
    }
    return false;
  }
  return true;
}

void Run::CountAll(const rewrite::ConvGraphResult& ours) {
  ++statistics_->modules;
  if (recipes_.size() > 1) ++statistics_->several_computations;
  for (const StockResult& stock : alone_) {
    for (const hlo::Instruction* instruction : stock.result->entry->instructions) {
      CountCall(*instruction, *statistics_);
    }
  }
  for (const rewrite::NearMiss& miss : ours.near_misses) {
    ++statistics_->near_misses[Generic(miss.condition)];
  }
}

// Calls of convolutions that are not batch-grouped. Stock makes those feature-grouped, with
// reshapes, before its rewrite, and ours leaves them to it.
std::vector<std::string> NotBatchGrouped(std::vector<std::string> calls,
                                         const hlo::Computation& made) {
  for (const hlo::Instruction* instruction : made.instructions) {
    if (instruction->Int(hlo::Field::kBatchGroupCount) < 2) continue;
    const std::string name = MetadataOf(*instruction);
    std::erase_if(calls, [&](const std::string& call) { return call.find(name) != call.npos; });
  }
  return calls;
}

// The module as made, with plain convolutions: calls only, since stock's surroundings are cuDNN
// calls.
Result<std::optional<Difference>> Run::CompareCalls() {
  EF_TRY(Modules ours, Read("made", proto_));
  const std::string before = Text(*ours);
  EF_TRY(Modules made, Read("made", proto_));
  const auto made_parts = Parts(*made, recipes_.size());
  if (statistics_ != nullptr) {
    for (const hlo::Computation* computation : ours->computations) {
      statistics_->convolutions += static_cast<int>(
          std::count_if(computation->instructions.begin(), computation->instructions.end(),
                        [](auto* i) { return i->opcode == hlo::Opcode::kConvolution; }));
    }
  }
  rewrite::ConvGraphResult result;
  if (auto broken = Rewrite(*ours, options_, result)) {
    return Difference{"plain convolutions: " + *broken, before, "", Text(*ours)};
  }
  const auto parts = Parts(*ours, recipes_.size());
  for (size_t i = 0; i < recipes_.size(); ++i) {
    const auto wanted = NotBatchGrouped(GraphCalls(*alone_[i].result->entry), *made_parts[i]);
    const auto got = NotBatchGrouped(GraphCalls(*parts[i]), *made_parts[i]);
    if (wanted != got) {
      return Difference{"plain convolutions: other calls", before, Joined(wanted), Joined(got)};
    }
  }
  return std::nullopt;
}

Result<Modules> Run::AfterStock(const hlo::Module& ours) {
  EF_TRY(std::string proto, hlo::WriteProto(ours));
  EF_TRY(Stock stock, stock_.Run(proto));
  if (!stock.finished) return Fail("stock refuses our result: " + stock.answer);
  return Read("ours after stock", stock.after.empty() ? proto : stock.after);
}

Result<std::optional<Difference>> Run::CompareComputations() {
  hlo::Module& ours = *together_.before;
  const std::string before = Text(ours);
  if (statistics_ != nullptr) Count(ours, statistics_->cudnn_calls);
  rewrite::ConvGraphResult result;
  if (auto broken = Rewrite(ours, options_, result)) {
    return Difference{*broken, before, "", Text(ours)};
  }
  if (statistics_ != nullptr) CountAll(result);
  const auto parts = Parts(ours, recipes_.size());
  Modules second;
  for (size_t i = 0; i < recipes_.size(); ++i) {
    const hlo::Computation& wanted = *alone_[i].result->entry;
    const std::string stock = Canonical(wanted);
    std::string got = Canonical(*parts[i]);
    if (stock == got) continue;
    const auto wanted_calls = GraphCalls(wanted);
    if (wanted_calls != GraphCalls(*parts[i])) {
      return Difference{"other calls", before, stock, got};
    }
    // Without graph calls, older versions fuse the other convolutions; newer ones always do.
    if (wanted_calls.empty()) continue;
    if (!fuses_others_) return Difference{"other computation", before, stock, got};
    // Stock would make the legacy call of our result a graph call, too.
    if (ComputesTwice(wanted)) {
      if (statistics_ != nullptr) ++statistics_->computed_twice;
      continue;
    }
    if (second == nullptr) {
      Result<Modules> after = AfterStock(ours);
      if (!after) return Difference{after.error().what, before, stock, got};
      second = *std::move(after);
    }
    const hlo::Computation& fused = *Parts(*second, recipes_.size())[i];
    if (GraphCalls(fused) != wanted_calls) {
      return Difference{"stock rewrites more in our result", before, Joined(GraphCalls(*parts[i])),
                        Joined(GraphCalls(fused))};
    }
    if (Canonical(fused) != stock) {
      return Difference{"other computation", before, stock, got};
    }
  }
  return std::nullopt;
}

Result<std::optional<Difference>> Run::Compare() {
  EF_TRY(bool usable, RunAllStock());
  if (!usable) return std::nullopt;
  EF_TRY(std::optional<Difference> calls, CompareCalls());
  EF_TRY(std::optional<Difference> computations, CompareComputations());
  return computations ? computations : calls;
}

}  // namespace

Result<std::optional<Difference>> Comparison::Run(std::span<const Recipe> recipes,
                                                  Statistics* statistics) {
  return differential::Run(stock_, options_, fuses_others_, recipes, statistics).Compare();
}

std::string Statistics::Table() const {
  std::string out = "| | |\n| --- | --- |\n";
  auto row = [&](std::string_view title, int count) {
    if (count > 0) out += fmt::format("| {} | {} |\n", title, count);
  };
  auto list = [&](std::string_view title, const std::map<std::string, int>& counts) {
    std::vector<std::string> items;
    for (const auto& [name, count] : counts) items.push_back(fmt::format("{} {}", count, name));
    if (!items.empty()) out += fmt::format("| {} | {} |\n", title, fmt::join(items, ", "));
  };
  row("modules compared", modules);
  row("of these with several computations", several_computations);
  row("of these by their calls only, with a convolution that stock computes twice", computed_twice);
  row("of these with another graph for an amax", other_order);
  row("left out: stock adds a value to itself", left_out);
  row("refused by stock", refused);
  row("convolutions", convolutions);
  list("as cuDNN calls before the rewrite", cudnn_calls);
  row("graph calls", rewritten);
  list("operations in their graphs", operations);
  list("their result types", result_types);
  return out;
}

}  // namespace eightfold::differential
