#include "census/match.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"

namespace eightfold::census {
namespace {

// Ways to one kernel beyond this number are not told apart: a chain of computations that each call
// the next one twice would have 2^n.
constexpr size_t kMostWays = 20000;

// Computations that hold a kernel or enter one that does.
std::vector<char> LeadToKernels(const hlo::Module& module, const CallGraph& graph,
                                const std::vector<Kernel>& kernels) {
  std::vector<char> leads(module.computations.size());
  for (const Kernel& kernel : kernels) leads[kernel.node->computation->index] = 1;
  // Callers come first in nodes(), so callees are settled when walking backwards.
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const CallNode& node = graph.nodes()[i];
    if (!leads[node.computation->index]) continue;
    for (const CallSite& site : node.sites) leads[site.instruction->parent->index] = 1;
  }
  return leads;
}

std::string JoinNames(std::string_view outer, std::string_view inner) {
  if (outer.empty()) return std::string(inner);
  if (inner.empty() || inner.starts_with(outer)) return std::string(inner.empty() ? outer : inner);
  return std::string(outer) + "/" + std::string(inner);
}

class AskedFinder {
 public:
  AskedFinder(const hlo::Module& before, const CallGraph& graph, const std::vector<Kernel>& kernels)
      : tracer_(graph, contexts_), leads_(LeadToKernels(before, graph, kernels)) {
    // By launch: the walk sees what a computation runs, not what is inside its fusions.
    for (const Kernel& kernel : kernels) kernel_of_.emplace(kernel.launch, &kernel);
  }

  std::vector<Asked> Run(const hlo::Module& before, const std::vector<Kernel>& kernels) {
    Walk(*before.entry);
    if (asked_.size() < kMostWays) return std::move(asked_);
    asked_.clear();
    for (const Kernel& kernel : kernels) {
      Add(kernel, nullptr, "");
      asked_.back().from_anywhere = true;
    }
    return std::move(asked_);
  }

 private:
  struct Frame {
    const hlo::Computation* computation;
    const Context* context;
    std::string prefix;
    size_t next = 0;
  };

  // Program order, with calls followed where they stand.
  void Walk(const hlo::Computation& entry) {
    std::vector<Frame> stack;
    stack.push_back({&entry, nullptr, ""});
    while (!stack.empty() && asked_.size() < kMostWays) {
      Frame& top = stack.back();
      if (top.next == top.computation->instructions.size()) {
        stack.pop_back();
        continue;
      }
      const hlo::Instruction& at = *top.computation->instructions[top.next++];
      auto [first, last] = kernel_of_.equal_range(&at);
      for (auto it = first; it != last; ++it) Add(*it->second, top.context, top.prefix);
      if (at.called.empty()) continue;
      const Context* context = top.context;
      std::string prefix = top.prefix;
      if (at.opcode == hlo::Opcode::kCall) {
        prefix = JoinNames(prefix, hlo::DecodeMetadata(at.metadata).op_name);
      }
      auto entered = Enters(at);
      for (size_t i = entered.size(); i-- > 0;) {
        auto& [callee, site] = entered[i];
        if (leads_[callee->index])
          stack.push_back({callee, contexts_.Enter(context, site), prefix});
      }
    }
  }

  void Add(const Kernel& kernel, const Context* context, const std::string& prefix) {
    Asked asked{.kernel = &kernel, .op_name = {}, .ask = {}};
    asked.op_name = JoinNames(prefix, kernel.metadata.op_name);
    asked.ask = tracer_.TraceAsk(kernel, context);
    asked_.push_back(std::move(asked));
  }

  Contexts contexts_;
  OriginTracer tracer_;
  std::vector<char> leads_;
  std::unordered_multimap<const hlo::Instruction*, const Kernel*> kernel_of_;
  std::vector<Asked> asked_;
};

// What a match may go by, from the most exact to the least: how much of the op_name, how many
// source frames (innermost first), and whether the FLOPs must agree. FLOPs do not agree in
// partitioned programs; names do not where XLA folds another operation in, as it does with the
// transpose behind a weight gradient.
struct Tier {
  enum class Name { kFull, kLast, kAny } name;
  size_t frames;
  bool flops;
};
constexpr Tier kTiers[] = {
    {Tier::Name::kFull, 4, true},  {Tier::Name::kFull, 2, true},  {Tier::Name::kFull, 1, true},
    {Tier::Name::kFull, 0, true},  {Tier::Name::kLast, 4, true},  {Tier::Name::kLast, 2, true},
    {Tier::Name::kLast, 1, true},  {Tier::Name::kAny, 4, true},   {Tier::Name::kAny, 2, true},
    {Tier::Name::kAny, 1, true},   {Tier::Name::kFull, 4, false}, {Tier::Name::kFull, 1, false},
    {Tier::Name::kFull, 0, false}, {Tier::Name::kLast, 1, false}, {Tier::Name::kAny, 0, true},
};

std::string_view LastComponent(std::string_view op_name) {
  return op_name.substr(op_name.rfind('/') + 1);
}

// The key of one kernel in one tier; false when it lacks what the tier goes by.
bool KeyOf(const Tier& tier, const Kernel& kernel, std::string_view op_name, bool is_compiled,
           uint64_t& key) {
  // By FLOPs alone only for compiled kernels that lost their name: a wrong name must not match.
  if (tier.name != Tier::Name::kAny && op_name.empty()) return false;
  if (tier.name == Tier::Name::kAny && tier.frames == 0 && is_compiled && !op_name.empty())
    return false;
  if (kernel.frames.size() < tier.frames) return false;
  key = static_cast<uint64_t>(kernel.family);
  if (tier.name == Tier::Name::kFull) key = HashBytes(op_name, key);
  if (tier.name == Tier::Name::kLast) key = HashBytes(LastComponent(op_name), key);
  for (size_t i = 0; i < tier.frames; ++i) {
    const auto& frame = kernel.frames[i];
    int32_t place[] = {frame.line, frame.column};
    key = HashBytes(frame.file, HashBytes(frame.function, key));
    key = HashBytes({reinterpret_cast<const char*>(place), sizeof place}, key);
  }
  if (tier.flops) {
    if (kernel.flops <= 0) return false;
    key = HashBytes({reinterpret_cast<const char*>(&kernel.flops), sizeof kernel.flops}, key);
  }
  return true;
}

bool SameTypes(const OperandTypes& a, const OperandTypes& b) {
  return a == b || (a[0] == b[1] && a[1] == b[0]);
}

// The compiler widens operands; it never narrows them.
bool CanBecome(const Ask& ask, const Kernel& kernel) {
  auto bits = [](const OperandTypes& types) {
    return std::minmax(
        {hlo::BitWidth(types[0]), hlo::BitWidth(types[1])});  // values, not references
  };
  return bits(ask.types).first <= bits(kernel.runs_in).first &&
         bits(ask.types).second <= bits(kernel.runs_in).second;
}

class Matcher {
 public:
  Matcher(const std::vector<Asked>& asked, const std::vector<Kernel>& compiled)
      : asked_(asked), compiled_(compiled), taken_(asked.size()), match_(compiled.size(), -1) {}

  std::vector<int> Run() {
    // First only what is not taken yet, so that each asked kernel finds its own; then clones.
    for (bool clones : {false, true}) {
      for (const Tier& tier : kTiers) RunTier(tier, clones);
    }
    return std::move(match_);
  }

 private:
  void RunTier(const Tier& tier, bool clones) {
    std::unordered_map<uint64_t, std::vector<int>> candidates;
    uint64_t key = 0;
    for (size_t i = 0; i < asked_.size(); ++i) {
      if (taken_[i] && !clones) continue;
      if (KeyOf(tier, *asked_[i].kernel, asked_[i].op_name, false, key)) {
        candidates[key].push_back(static_cast<int>(i));
      }
    }
    std::unordered_map<uint64_t, std::vector<int>> wanting;
    std::vector<uint64_t> order;
    for (size_t i = 0; i < compiled_.size(); ++i) {
      if (match_[i] >= 0 || !KeyOf(tier, compiled_[i], compiled_[i].metadata.op_name, true, key))
        continue;
      auto& group = wanting[key];
      if (group.empty()) order.push_back(key);
      group.push_back(static_cast<int>(i));
    }
    for (uint64_t group : order) {
      auto it = candidates.find(group);
      if (it != candidates.end()) Pair(it->second, wanting[group], clones);
    }
  }

  // Pairs the asked kernels `from` with the compiled ones `to`, which look alike. Where they ask
  // for different things and the numbers agree, those that run exactly as asked go together, and
  // the rest in order. Where the numbers do not agree, only what can be one thing is paired.
  void Pair(const std::vector<int>& from, const std::vector<int>& to, bool clones) {
    if (SameAsks(from)) return PairInOrder(from, to, clones);
    if (from.size() != to.size()) {
      for (int compiled : to) PairIfOnlyOneThing(from, compiled);
      return;
    }
    std::vector<int> asked = from;
    std::vector<int> rest;
    bool run_alike = std::ranges::all_of(
        to, [&](int i) { return SameTypes(compiled_[i].runs_in, compiled_[to.front()].runs_in); });
    for (int compiled : to) {
      if (run_alike) {
        rest.push_back(compiled);
        continue;
      }
      auto exact = std::ranges::find_if(asked, [&](int i) {
        return SameTypes(asked_[i].ask.types, compiled_[compiled].runs_in);
      });
      if (exact == asked.end()) {
        rest.push_back(compiled);
        continue;
      }
      Assign(*exact, compiled);
      asked.erase(exact);
    }
    for (size_t i = 0; i < rest.size(); ++i) {
      if (CanBecome(asked_[asked[i]].ask, compiled_[rest[i]])) Assign(asked[i], rest[i]);
    }
  }

  bool SameAsks(const std::vector<int>& from) const {
    return std::ranges::all_of(from, [&](int i) {
      return SameTypes(asked_[i].ask.types, asked_[from.front()].ask.types);
    });
  }

  // Before clones are looked for, each asked kernel is used once.
  void PairInOrder(const std::vector<int>& from, const std::vector<int>& to, bool clones) {
    size_t count = clones ? to.size() : std::min(to.size(), from.size());
    for (size_t i = 0; i < count; ++i) {
      size_t nth = count <= from.size() ? i : i * from.size() / count;
      Assign(from[nth], to[i]);
    }
  }

  void PairIfOnlyOneThing(const std::vector<int>& from, int compiled) {
    std::vector<int> possible;
    for (int i : from) {
      if (CanBecome(asked_[i].ask, compiled_[compiled])) possible.push_back(i);
    }
    if (!possible.empty() && SameAsks(possible)) Assign(possible.front(), compiled);
  }

  void Assign(int from, int to) {
    match_[to] = from;
    taken_[from] = 1;
  }

  const std::vector<Asked>& asked_;
  const std::vector<Kernel>& compiled_;
  std::vector<char> taken_;
  std::vector<int> match_;
};

}  // namespace

std::vector<Asked> FindAsked(const hlo::Module& before, const CallGraph& graph,
                             const std::vector<Kernel>& kernels) {
  return AskedFinder(before, graph, kernels).Run(before, kernels);
}

std::vector<int> Match(const std::vector<Asked>& asked, const std::vector<Kernel>& compiled) {
  return Matcher(asked, compiled).Run();
}

}  // namespace eightfold::census
