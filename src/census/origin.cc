#include "census/origin.h"

#include <algorithm>
#include <set>

#include "hlo/views.h"

namespace eightfold::census {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

// More values than this are not followed for one operand; what was found so far counts.
constexpr size_t kMostSteps = 250000;

bool IsTracedType(PrimitiveType type) {
  // Below 8 bits or 8-bit integers can be quantized data; wider integers and booleans are no matrix
  // types that anybody asks for when a float is multiplied.
  return hlo::IsFloating(type) || (hlo::IsIntegral(type) && hlo::BitWidth(type) <= 8);
}

bool IsNarrow(PrimitiveType type) { return IsTracedType(type) && hlo::BitWidth(type) <= 8; }

PrimitiveType Narrower(PrimitiveType a, PrimitiveType b) {
  if (a == PrimitiveType::kInvalid) return b;
  if (b == PrimitiveType::kInvalid) return a;
  return hlo::BitWidth(b) < hlo::BitWidth(a) ? b : a;
}

PrimitiveType Wider(PrimitiveType a, PrimitiveType b) {
  if (a == PrimitiveType::kInvalid) return b;
  if (b == PrimitiveType::kInvalid) return a;
  return hlo::BitWidth(b) > hlo::BitWidth(a) ? b : a;
}

// A place that holds a value: an instruction's result, or the part of its tuple at `path`.
struct Place {
  const Instruction* instruction = nullptr;
  const Context* context = nullptr;
  std::vector<int64_t> path;  // outermost index first
  // The narrowest type met so far, and the one met before the first scale: what the value counts as
  // when nothing of 8 bits lies behind the scale.
  PrimitiveType narrowest = PrimitiveType::kInvalid;
  PrimitiveType before_scale = PrimitiveType::kInvalid;
  Scale scale = Scale::kNone;

  auto Key() const { return std::tie(instruction, context, path, narrowest, scale); }
  bool operator<(const Place& other) const { return Key() < other.Key(); }
};

const hlo::Shape* ShapeAt(const Place& place) {
  const hlo::Shape* shape = place.instruction->shape;
  for (int64_t index : place.path) {
    if (index < 0 || static_cast<size_t>(index) >= shape->tuple.size()) return nullptr;
    shape = shape->tuple[index];
  }
  return shape;
}

// Follows what only moves or converts data, for looking at scales and constants; one operand at a
// time.
const Instruction* SkipMoves(const Instruction* at) {
  while (at->operands.size() == 1) {
    switch (at->opcode) {
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kBitcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
        at = at->operands[0];
        continue;
      default:
        return at;
    }
  }
  return at;
}

// Custom calls that say where or how a value is kept, and leave it as it is.
bool OnlyPlaces(const Instruction& call) {
  std::string_view target = call.custom_call_target();
  constexpr std::string_view kTargets[] = {
      "Sharding",   "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
      "MoveToHost", "MoveToDevice",         "LayoutConstraint"};
  return call.operands.size() == 1 && (target.starts_with("xla.sdy.") ||
                                       std::ranges::find(kTargets, target) != std::end(kTargets));
}

// How `value` scales something of its own shape: a broadcast of fewer elements, repeated along
// whole dimensions or, through reshapes, in blocks. kNone: it is no such broadcast.
Scale ScaleOf(const Instruction& value) {
  if (value.shape->IsScalar()) return Scale::kScalar;
  const Instruction* at = SkipMoves(&value);
  if (at->opcode == Opcode::kConstant) return at->shape->IsScalar() ? Scale::kScalar : Scale::kNone;
  if (at->opcode != Opcode::kBroadcast) return Scale::kNone;
  int64_t from = hlo::ElementCount(*at->operands[0]->shape);
  int64_t to = hlo::ElementCount(*at->shape);
  if (from <= 1) return Scale::kScalar;
  if (from >= to) return Scale::kNone;
  // A reshape between the broadcast and its use splits a dimension into blocks of one scale each;
  // so does a broadcast operand of two dimensions or more.
  bool reshaped = at->shape->bare != value.shape->bare;
  return reshaped || at->operands[0]->shape->rank() > 1 ? Scale::kBlock : Scale::kVector;
}

// One trace: a set of places to look at, each looked at once.
class Trace {
 public:
  Trace(const CallGraph& graph, Contexts& contexts) : graph_(graph), contexts_(contexts) {}

  OriginTracer::Origin Run(const Instruction& value, const Context* context) {
    PrimitiveType own = value.shape->type;
    Push({.instruction = &value, .context = context, .path = {}});
    for (size_t steps = 0; !pending_.empty() && steps < kMostSteps; ++steps) {
      Place place = std::move(pending_.back());
      pending_.pop_back();
      Step(std::move(place));
    }
    if (born_.type == PrimitiveType::kInvalid) born_.type = own;
    return born_;
  }

 private:
  void Push(Place place) {
    const hlo::Shape* shape = ShapeAt(place);
    if (shape == nullptr) return;
    if (shape->IsArray()) {
      if (!IsTracedType(shape->type) && place.narrowest != PrimitiveType::kInvalid)
        return Born(place);
      place.narrowest = Narrower(place.narrowest, shape->type);
      // Nothing narrower is of interest, and constants rounded to 8 bits were asked for in 8 bits.
      if (IsNarrow(place.narrowest)) return Born(place);
    }
    if (seen_.insert(place).second) pending_.push_back(std::move(place));
  }

  void PushOperand(const Place& from, size_t operand, std::vector<int64_t> path) {
    if (operand >= from.instruction->operands.size()) return;
    Place next = from;
    next.instruction = from.instruction->operands[operand];
    next.path = std::move(path);
    Push(std::move(next));
  }

  // The value at `place` is not followed any further.
  void Born(const Place& place) {
    PrimitiveType type = place.narrowest;
    Scale scale = place.scale;
    if (scale != Scale::kNone && !IsNarrow(type)) {
      type = place.before_scale;
      scale = Scale::kNone;
    }
    born_.type = Wider(born_.type, type);
    born_.scale = std::max(born_.scale, scale);
  }

  void Step(Place place) {
    const Instruction& at = *place.instruction;
    switch (at.opcode) {
      case Opcode::kConstant:
        return;  // neutral: loops start from constants, concatenations are padded with them
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kBitcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kReverse:
      case Opcode::kBroadcast:
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kGather:
      case Opcode::kPad:
      case Opcode::kReducePrecision:
      case Opcode::kAllGather:
      case Opcode::kAllToAll:
      case Opcode::kCollectivePermute:
      case Opcode::kCollectiveBroadcast:
        return PushOperand(place, 0, place.path);
      // Of what a start gives, its done takes the result: first for copies, second for collectives.
      case Opcode::kCopyDone:
        return PushOperand(place, 0, {0});
      case Opcode::kAllGatherDone:
      case Opcode::kCollectivePermuteDone:
        return PushOperand(place, 0, {1});
      case Opcode::kCopyStart:
      case Opcode::kAllGatherStart:
      case Opcode::kCollectivePermuteStart:
        return PushOperand(place, 0, {});
      case Opcode::kOptimizationBarrier:
      case Opcode::kAsyncUpdate:
      case Opcode::kDomain:
        return PushOperand(place, 0, place.path);
      case Opcode::kConcatenate:
        for (size_t i = 0; i < at.operands.size(); ++i) PushOperand(place, i, place.path);
        return;
      case Opcode::kDynamicUpdateSlice:
        PushOperand(place, 0, place.path);
        return PushOperand(place, 1, place.path);
      case Opcode::kMultiply:
      case Opcode::kDivide:
        return StepThroughScale(place);
      default:
        return StepThroughStructure(std::move(place));
    }
  }

  void StepThroughScale(const Place& place) {
    const Instruction& at = *place.instruction;
    Scale right = ScaleOf(*at.operands[1]);
    Scale left = at.opcode == Opcode::kMultiply ? ScaleOf(*at.operands[0]) : Scale::kNone;
    bool right_scales = right != Scale::kNone && !at.shape->IsScalar();
    bool left_scales = left != Scale::kNone && !at.shape->IsScalar();
    if (right_scales == left_scales) return Born(place);
    Place scaled = place;
    if (place.scale == Scale::kNone) scaled.before_scale = place.narrowest;
    scaled.scale = std::max(place.scale, right_scales ? right : left);
    scaled.instruction = at.operands[right_scales ? 0 : 1];
    Push(std::move(scaled));
  }

  // Tuples, calls, loops, branches, fusions and parameters.
  void StepThroughStructure(Place place) {
    const Instruction& at = *place.instruction;
    switch (at.opcode) {
      case Opcode::kTuple: {
        if (place.path.empty()) return Born(place);
        auto index = static_cast<size_t>(place.path.front());
        place.path.erase(place.path.begin());
        std::vector<int64_t> path = place.path;
        return PushOperand(place, index, std::move(path));
      }
      case Opcode::kGetTupleElement: {
        std::vector<int64_t> path = place.path;
        path.insert(path.begin(), at.Int(hlo::Field::kTupleIndex));
        return PushOperand(place, 0, std::move(path));
      }
      case Opcode::kWhile:
        PushOperand(place, 0, place.path);
        return PushRoot(place, 0, Via::kWhileBody, 0);
      case Opcode::kConditional:
        for (size_t i = 0; i < at.called.size(); ++i) {
          PushRoot(place, i, Via::kBranch, static_cast<int>(i));
        }
        return;
      case Opcode::kCall:
      case Opcode::kFusion:
        return PushRoot(place, 0, Via::kCall, 0);
      case Opcode::kAsyncDone:
        return StepThroughAsync(place);
      case Opcode::kParameter:
        return StepOutOfParameter(place);
      case Opcode::kCustomCall:
        if (OnlyPlaces(at)) return PushOperand(place, 0, place.path);
        return Born(place);
      default:
        return Born(place);
    }
  }

  void PushRoot(const Place& place, size_t called, Via via, int branch) {
    const Instruction& at = *place.instruction;
    if (called >= at.called.size() || at.called[called]->root == nullptr) return;
    Place next = place;
    next.instruction = at.called[called]->root;
    next.context = contexts_.Enter(place.context, {&at, via, branch});
    Push(std::move(next));
  }

  void StepThroughAsync(const Place& place) {
    const Instruction* start = place.instruction;
    while (start->opcode != Opcode::kAsyncStart && !start->operands.empty())
      start = start->operands[0];
    if (start->opcode != Opcode::kAsyncStart || start->called.empty()) return Born(place);
    Place next = place;
    next.instruction = start;
    PushRoot(next, 0, Via::kAsync, 0);
  }

  void StepOutOfParameter(const Place& place) {
    const Instruction& parameter = *place.instruction;
    if (place.context != nullptr) return StepOut(place, place.context->site, place.context->parent);
    const auto& sites = graph_.AllSites(*parameter.parent);
    if (sites.empty()) return Born(place);
    for (const CallSite& site : sites) StepOut(place, site, nullptr);
  }

  // From a parameter to what the caller at `site` passes for it.
  void StepOut(const Place& place, const CallSite& site, const Context* caller) {
    const Instruction& call = *site.instruction;
    int64_t number = place.instruction->parameter_number();
    Place next = place;
    next.instruction = &call;
    next.context = caller;
    switch (call.opcode) {
      case Opcode::kWhile:
        PushOperand(next, 0, place.path);
        return PushRoot(next, 0, Via::kWhileBody, 0);
      case Opcode::kConditional:
        return PushOperand(next, static_cast<size_t>(site.branch) + 1, place.path);
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kAsyncStart:
        return PushOperand(next, static_cast<size_t>(number), place.path);
      default:
        return Born(place);  // the combiner of a reduce and the like
    }
  }

  const CallGraph& graph_;
  Contexts& contexts_;
  std::vector<Place> pending_;
  std::set<Place> seen_;
  OriginTracer::Origin born_;
};

}  // namespace

const Context* Contexts::Enter(const Context* parent, const CallSite& site) {
  auto [it, is_new] =
      made_.try_emplace(std::make_tuple(parent, site.instruction, site.via, site.branch), nullptr);
  if (is_new) {
    storage_.push_back({parent, site});
    it->second = &storage_.back();
  }
  return it->second;
}

OriginTracer::Origin OriginTracer::Trace(const Instruction& value, const Context* context) {
  return census::Trace(graph_, contexts_).Run(value, context);
}

Ask OriginTracer::TraceAsk(const Kernel& kernel, const Context* context) {
  Ask ask{.known = true};
  for (int side : {0, 1}) {
    Origin origin = Trace(*kernel.operands[side], context);
    ask.types[side] = origin.type;
    ask.scale = std::max(ask.scale, origin.scale);
  }
  return ask;
}

}  // namespace eightfold::census
