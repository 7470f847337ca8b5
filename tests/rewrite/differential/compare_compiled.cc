#include <fmt/format.h>

#include <algorithm>

#include "base/source.h"
#include "canonical.h"
#include "compare.h"
#include "hlo/proto/proto.h"
#include "hlo/text/text.h"

namespace eightfold::differential {
namespace {

Result<std::vector<std::string>> CompiledGraphs(const Stock& stock) {
  EF_TRY(auto module, hlo::ReadProto(Source::FromBytes("compiled", stock.compiled)));
  return SerializedGraphs(*module);
}

bool HasAmax(const std::vector<std::string>& graphs) {
  return std::ranges::any_of(
      graphs, [](const std::string& graph) { return graph.find("]amax(") != graph.npos; });
}

// Ours leaves batch-grouped convolutions to stock: see compare.cc.
bool HasBatchGroups(const hlo::Module& module) {
  return std::ranges::any_of(module.entry->instructions, [](const hlo::Instruction* i) {
    return i->Int(hlo::Field::kBatchGroupCount) > 1;
  });
}

// Where stock and ours differ on purpose: see compare.cc.
bool AddsToItself(const hlo::Module& module) {
  return std::ranges::any_of(module.entry->instructions, [](const hlo::Instruction* i) {
    return i->opcode == hlo::Opcode::kAdd && i->operands[0] == i->operands[1];
  });
}

}  // namespace

Result<std::optional<Difference>> CompareCompiled(StockRunner& stock, StockRunner& fixed,
                                                  const Recipe& recipe, Statistics* statistics) {
  std::unique_ptr<hlo::Module> made = Generate({&recipe, 1});
  if (AddsToItself(*made)) {
    if (statistics != nullptr) ++statistics->left_out;
    return std::nullopt;
  }
  EF_TRY(std::string proto, hlo::WriteProto(*made));
  EF_TRY(Stock alone, stock.Run(proto));
  if (alone.compiled.empty()) {
    if (statistics != nullptr) {
      ++statistics->refused;
      ++statistics->refusals[alone.answer.substr(0, 60)];
    }
    return std::nullopt;
  }
  EF_TRY(Stock with_fix, fixed.Run(proto));
  EF_TRY(std::string text, hlo::WriteText(*made));
  if (with_fix.compiled.empty()) {
    return Difference{"the fixed module does not compile: " + with_fix.answer, text, "", ""};
  }
  EF_TRY(std::vector<std::string> wanted, CompiledGraphs(alone));
  EF_TRY(std::vector<std::string> got, CompiledGraphs(with_fix));
  if (statistics != nullptr) {
    ++statistics->modules;
    statistics->rewritten += static_cast<int>(wanted.size());
  }
  // Stock's own pass, which comes later, would make up for a fix that does nothing.
  const bool ours = with_fix.answer == "ok fixed" || wanted.empty() || HasBatchGroups(*made);
  if (wanted == got && ours) return std::nullopt;
  if (wanted.size() == got.size() && ours && (HasAmax(wanted) || HasAmax(got))) {
    if (statistics != nullptr) ++statistics->other_order;
    return std::nullopt;
  }
  return Difference{ours ? "other calls in the compiled module" : "the fix did nothing", text,
                    fmt::format("{}\n", fmt::join(wanted, "\n")),
                    fmt::format("{}\n", fmt::join(got, "\n"))};
}

}  // namespace eightfold::differential
