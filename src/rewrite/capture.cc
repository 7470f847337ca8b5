#include "rewrite/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "rewrite/epilogues.h"

namespace eightfold::rewrite {
namespace {

// No graph that cuDNN has a kernel for is near this; it bounds the recursion and what is copied.
constexpr size_t kMostOperations = 128;

// What the operations of a graph begin with.
bool IsArithmetic(hlo::Opcode opcode) {
  using enum hlo::Opcode;
  constexpr hlo::Opcode kAll[] = {kAbs,     kAdd,      kClamp,  kDivide,
                                  kMaximum, kMultiply, kReduce, kSelect};
  return std::ranges::find(kAll, opcode) != std::end(kAll);
}

}  // namespace

bool Capture::Append(std::string_view name, const Instruction& value, hlo::PrimitiveType type,
                     std::vector<const Instruction*> operands) {
  return now_.graph.Append({name, &value, type, std::move(operands)});
}

bool Capture::Append(std::string_view name, const Instruction& value,
                     std::vector<const Instruction*> operands) {
  return Append(name, value, value.shape->type, std::move(operands));
}

void Capture::Retype(const Level& level, hlo::PrimitiveType type) {
  if (exact_) {
    now_.graph.RetypeLast(type);
  } else {
    now_.graph.Retype(*level.value, type);
  }
}

bool Capture::MayTake(const Instruction& operand) {
  return std::ranges::none_of(now_.amaxes, [&](const Instruction* amax) {
    auto found =
        std::ranges::find(reach_, amax, &std::pair<const Instruction*, std::vector<char>>::first);
    if (found == reach_.end()) found = reach_.insert(found, {amax, editor_.Reach(*amax)});
    return found->second[operand.index] != 0;
  });
}

bool Capture::MayReturn(const Instruction& amax) {
  if (now_.operands.empty()) return true;
  std::vector<char> reached = editor_.Reach(amax);
  return std::ranges::none_of(now_.operands,
                              [&](const Instruction* i) { return reached[i->index] != 0; });
}

void Capture::Refuse(const Instruction& user, std::string why) {
  refusals_.push_back({&user, std::move(why)});
}

void Capture::Follow(Instruction& value) { Visit(value); }

bool Capture::Absorb(Level& level, Instruction& user) {
  // What control dependencies hold in place stays where it is.
  if (editor_.HasControl(user)) {
    return Refuse(user, "it has control dependencies"), false;
  }
  if (depth_ > kMostOperations || now_.graph.nodes().size() > kMostOperations) {
    return Refuse(user, "the graph has grown too large for any kernel"), false;
  }
  // A graph's text has no name for the value of a conversion: XLA leaves it out of the operands.
  if (!exact_ && !now_.graph.Contains(*level.value)) {
    if (IsArithmetic(user.opcode)) {
      Refuse(user, "it stands behind a conversion to FP8, with which a graph ends");
    }
    return false;
  }
  return std::ranges::any_of(
      Epilogues(), [&](const Epilogue& epilogue) { return epilogue.absorb(*this, level, user); });
}

void Capture::Visit(Instruction& value) {
  if (!visited_.insert(&value).second) {
    revisited_ = true;
    return;
  }
  ++depth_;
  Captured before = now_;
  size_t endpoints_before = endpoints_;
  bool revisited_before = revisited_;
  Level level{&value};
  const std::vector<Instruction*>& users = editor_.Users(value);
  for (Instruction* user : users) Absorb(level, *user);
  // A root is used by what called the computation, whatever users it has besides.
  bool has_others =
      level.absorbed + level.existing < users.size() || (editor_.IsRoot(value) && !users.empty());
  if (has_others || users.empty()) {
    now_.endpoint = &value;
    ++endpoints_;
  }
  if (has_others || endpoints_ > 1) {
    if (level.absorbed > 0) {
      Refuse(value,
             fmt::format("{} of its {} uses cannot be absorbed, and one tensor at most leaves "
                         "a graph call",
                         endpoints_ > 1 && !has_others ? "all" : "some", users.size()));
    }
    now_ = std::move(before);
    now_.endpoint = &value;
    endpoints_ = endpoints_before + 1;
    revisited_ = revisited_before;
  }
  --depth_;
}

// After a value was given up and met again from elsewhere, its users may be in the graph without
// having been counted; and a value may have become an operand of its own graph.
bool Capture::IsSound() const {
  return now_.endpoint != nullptr && endpoints_ == 1 && !revisited_ && now_.graph.IsOrdered() &&
         std::ranges::none_of(now_.operands, [this](const Instruction* operand) {
           return now_.graph.Contains(*operand);
         });
}

void Capture::Start(Instruction& result) {
  now_ = {};
  visited_.clear();
  endpoints_ = 0;
  revisited_ = false;
  refusals_.clear();
  Append("conv", result, {});
}

Captured Capture::Run(Instruction& result, std::span<Instruction* const> moved) {
  Start(result);
  Visit(result);
  // Only amaxes left the graph: there must be a tensor, so they stay outside.
  if (now_.endpoint == nullptr) {
    takes_amaxes_ = false;
    Start(result);
    Visit(result);
  }
  if (IsSound()) return Finish();
  Start(result);
  now_.endpoint = &result;
  for (Instruction* scaled : moved) {
    bool divides = scaled->opcode == hlo::Opcode::kDivide;
    Instruction* scalar = scaled->operands[1]->operands[0];
    Append(divides ? "invscale" : "scale", *scaled, {now_.endpoint, scalar});
    now_.operands.push_back(scalar);
    now_.endpoint = scaled;
  }
  Refuse(*now_.endpoint, "what uses it depends on itself in a way that no graph call can have");
  return Finish();
}

// What reads the graph takes operands in the graph's order, which reordering may have made another
// than that of absorption. Only refusals about the endpoint are of interest: the rest was absorbed
// in the end, or lies behind.
Captured Capture::Finish() {
  if (!exact_) {
    std::vector<Instruction*> in_order;
    for (const OpGraph::Node& node : now_.graph.nodes()) {
      for (const Instruction* operand : node.operands) {
        auto found = std::ranges::find(now_.operands, operand);
        if (found != now_.operands.end()) in_order.push_back(*found);
      }
    }
    now_.operands = std::move(in_order);
  }
  const auto& users = editor_.Users(*now_.endpoint);
  for (Refusal& refusal : refusals_) {
    bool repeated =
        std::ranges::find(now_.refusals, refusal.at, &Refusal::at) != now_.refusals.end();
    if (repeated) continue;
    if (refusal.at == now_.endpoint || std::ranges::find(users, refusal.at) != users.end()) {
      now_.refusals.push_back(std::move(refusal));
    }
  }
  return std::move(now_);
}

}  // namespace eightfold::rewrite
