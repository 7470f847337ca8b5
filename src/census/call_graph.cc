#include "census/call_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace eightfold::census {
namespace {

// A sum of more terms than this is kept as its value with unknown loops taken once: it would help
// nobody.
constexpr size_t kMostTerms = 32;
// Counts end here, so that FLOPs times runs stays a number.
constexpr double kMostRuns = 1e200;

std::string FormatCount(double count) {
  return count < 1e15 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
}

}  // namespace

void Runs::Add(const Runs& other) {
  for (const Term& term : other.terms) {
    auto same = std::ranges::find_if(terms, [&](const Term& t) { return t.loops == term.loops; });
    if (same != terms.end()) {
      same->count = std::min(kMostRuns, same->count + term.count);
    } else {
      terms.push_back(term);
    }
  }
  if (terms.size() > kMostTerms) terms = {Term{AtLeastOnce(), {}}};
}

Runs Runs::Times(double trips) const {
  Runs product = *this;
  for (Term& term : product.terms) term.count = std::min(kMostRuns, term.count * trips);
  return product;
}

Runs Runs::Times(const hlo::Instruction* loop) const {
  Runs product = *this;
  for (Term& term : product.terms) term.loops.push_back(loop);
  return product;
}

double Runs::AtLeastOnce() const {
  double sum = 0;
  for (const Term& term : terms) sum += term.count;
  return sum;
}

bool Runs::IsExact() const {
  return std::ranges::all_of(terms, [](const Term& term) { return term.loops.empty(); });
}

std::string Runs::ToString() const {
  std::string text;
  for (const Term& term : terms) {
    if (!text.empty()) text += " + ";
    bool shows_count = term.loops.empty() || term.count != 1;
    if (shows_count) text += FormatCount(term.count);
    for (const hlo::Instruction* loop : term.loops) {
      if (shows_count || loop != term.loops.front()) text += "·";
      text += fmt::format("n({})", loop->name);
    }
  }
  return text.empty() ? "0" : text;
}

int64_t KnownTripCount(const hlo::Instruction& loop) {
  if (loop.backend_config.find("known_trip_count") == std::string_view::npos) return -1;
  auto config = nlohmann::json::parse(loop.backend_config, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return -1;
  auto trips = config.find("known_trip_count");
  if (trips == config.end() || !trips->is_object()) return -1;
  auto n = trips->find("n");
  if (n == trips->end()) return 0;  // a proto default left out
  if (n->is_number_integer()) return std::max<int64_t>(-1, n->get<int64_t>());
  if (!n->is_string()) return -1;
  const auto& text = n->get_ref<const std::string&>();
  bool plain = !text.empty() && text.size() < 19 &&
               std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return plain ? std::stoll(text) : -1;
}

std::vector<std::pair<const hlo::Computation*, CallSite>> Enters(
    const hlo::Instruction& instruction) {
  std::vector<std::pair<const hlo::Computation*, CallSite>> entered;
  auto enter = [&](size_t i, Via via, int branch = 0) {
    if (i < instruction.called.size()) {
      entered.emplace_back(instruction.called[i], CallSite{&instruction, via, branch});
    }
  };
  switch (instruction.opcode) {
    case hlo::Opcode::kWhile:
      enter(0, Via::kWhileBody);
      enter(1, Via::kWhileCondition);
      break;
    case hlo::Opcode::kConditional:
      for (size_t i = 0; i < instruction.called.size(); ++i) {
        enter(i, Via::kBranch, static_cast<int>(i));
      }
      break;
    case hlo::Opcode::kCall:
      enter(0, Via::kCall);
      break;
    case hlo::Opcode::kAsyncStart:
      enter(0, Via::kAsync);
      break;
    default:
      break;
  }
  return entered;
}

CallGraph::CallGraph(const hlo::Module& module)
    : node_of_(module.computations.size(), -1), all_sites_(module.computations.size()) {
  for (const hlo::Computation* computation : module.computations) {
    for (const hlo::Instruction* instruction : computation->instructions) {
      if (instruction->called.empty()) continue;
      auto entered = Enters(*instruction);
      for (auto& [callee, site] : entered) all_sites_[callee->index].push_back(site);
      if (!entered.empty()) continue;
      for (const hlo::Computation* callee : instruction->called) {
        all_sites_[callee->index].push_back({instruction, Via::kCall, 0});
      }
    }
  }
  std::vector<hlo::Computation*> order = hlo::CalleesFirst(module);
  std::ranges::reverse(order);
  std::vector<std::vector<CallSite>> sites(module.computations.size());
  for (const hlo::Computation* computation : order) {
    const auto& from = sites[computation->index];
    if (computation != module.entry && from.empty()) continue;
    node_of_[computation->index] = static_cast<int>(nodes_.size());
    CallNode node{.computation = computation, .sites = from, .runs = {}};
    if (computation == module.entry) node.runs.terms = {{1, {}}};
    node.alternative = !from.empty();
    for (const CallSite& site : from) {
      const CallNode& caller = nodes_[node_of_[site.instruction->parent->index]];
      if (&site == &from.front()) node.depth = caller.depth + 1;
      node.alternative = node.alternative && (site.via == Via::kBranch || caller.alternative);
      bool loops = site.via == Via::kWhileBody || site.via == Via::kWhileCondition;
      if (!loops) {
        node.runs.Add(caller.runs);
        continue;
      }
      int64_t trips = KnownTripCount(*site.instruction);
      if (trips < 0) {
        node.runs.Add(caller.runs.Times(site.instruction));
      } else {
        // The condition is evaluated once more than the body.
        node.runs.Add(
            caller.runs.Times(static_cast<double>(trips + (site.via == Via::kWhileCondition))));
      }
    }
    nodes_.push_back(std::move(node));
    for (const hlo::Instruction* instruction : computation->instructions) {
      for (auto& [callee, site] : Enters(*instruction)) sites[callee->index].push_back(site);
    }
  }
}

const CallNode* CallGraph::Find(const hlo::Computation& computation) const {
  int node = node_of_[computation.index];
  return node < 0 ? nullptr : &nodes_[node];
}

}  // namespace eightfold::census
