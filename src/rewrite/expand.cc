#include "rewrite/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/float_types.h"
#include "hlo/builder.h"
#include "hlo/infer_shape.h"
#include "hlo/literal.h"
#include "rewrite/cudnn_calls.h"
#include "rewrite/editor.h"
#include "rewrite/graph_text.h"

namespace eightfold::rewrite {
namespace {

using hlo::Attribute;
using hlo::Field;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

// What a call is replaced by; made of all calls before any is, so that a bad one changes nothing.
struct Plan {
  Instruction* call = nullptr;
  std::vector<GraphOp> ops;
  size_t tensor = 0;  // the operation whose value the first result is
};

bool IsGraphCall(const Instruction& i) {
  return i.opcode == Opcode::kCustomCall && i.custom_call_target() == kGraphTarget;
}

tl::unexpected<Error> Wrong(const Instruction& call, std::string_view what) {
  return Fail(Error{.what = fmt::format("{} cannot be expanded: {}", call.name, what),
                    .where = hlo::Locate(*call.parent->module, call.name)});
}

const Shape* WithType(hlo::Module& module, const Shape& shape, PrimitiveType type) {
  Shape changed = shape;
  changed.type = type;
  return module.shapes.Intern(changed);
}

// What the call keeps of the convolution that it was.
std::vector<Attribute> ConvAttributes(const Instruction& call) {
  std::vector<Attribute> attributes;
  for (const Attribute& attribute : call.attributes) {
    switch (attribute.field) {
      case Field::kWindow:
      case Field::kConvolutionDimensionNumbers:
      case Field::kFeatureGroupCount:
      case Field::kBatchGroupCount:
      case Field::kPrecisionConfig:
        attributes.push_back(attribute);
        break;
      default:
        break;
    }
  }
  return attributes;
}

// The serialized graph in the call's configuration, which must ask for nothing else besides.
Result<std::string> SerializedGraph(const Instruction& call) {
  const auto config =
      nlohmann::json::parse(call.backend_config, nullptr, /*allow_exceptions=*/false);
  const auto of_conv = config.is_object() ? config.find("cudnn_conv_backend_config") : config.end();
  if (!config.is_object() || of_conv == config.end() || !of_conv->is_object()) {
    return Wrong(call, "its backend_config is not that of a cuDNN convolution");
  }
  const auto is = [&](const char* name, const nlohmann::json& expected) {
    const auto found = of_conv->find(name);
    return found == of_conv->end() || *found == expected;
  };
  if (!is("activation_mode", "kNone") || !is("conv_result_scale", 1) ||
      !is("side_input_scale", 0)) {
    return Wrong(call, "its backend_config has an activation or a scale besides the graph");
  }
  const auto graph = of_conv->find("serialized_graph");
  if (graph == of_conv->end() || !graph->is_string()) {
    return Wrong(call, "its backend_config has no serialized graph");
  }
  return graph->get<std::string>();
}

// The one operation whose value is not used inside the graph, amaxes aside.
Result<size_t> FindTensor(const Instruction& call, const std::vector<GraphOp>& ops) {
  std::vector<char> is_used(ops.size());
  for (const GraphOp& op : ops) {
    if (op.kind == GraphOpKind::kAmax) continue;
    for (size_t operand : op.operands) is_used[operand] = 1;
  }
  size_t tensor = ops.size();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == GraphOpKind::kAmax || is_used[i] != 0) continue;
    if (tensor != ops.size()) {
      return Wrong(call, fmt::format("operations {} and {} of its graph are both results",
                                     ops[tensor].id, ops[i].id));
    }
    tensor = i;
  }
  return tensor;
}

bool IsFloatArray(const Shape& shape) {
  return shape.IsArray() && hlo::IsFloating(shape.type) && shape.dynamic.empty();
}

// Results and operands against the graph.
Result<void> CheckShapes(const Plan& plan) {
  const Instruction& call = *plan.call;
  const Shape& result = *call.shape;
  const auto is_amax = [](const GraphOp& op) { return op.kind == GraphOpKind::kAmax; };
  const auto amaxes = static_cast<size_t>(std::ranges::count_if(plan.ops, is_amax));
  if (!result.IsTuple() || result.tuple.size() != amaxes + 2) {
    return Wrong(call, fmt::format("its graph makes {} results and scratch memory, its shape is {}",
                                   amaxes + 1, hlo::ToString(result, false)));
  }
  for (size_t i = 0; i <= amaxes; ++i) {
    if (!IsFloatArray(*result.tuple[i]) || (i > 0 && !result.tuple[i]->IsScalar())) {
      return Wrong(
          call, fmt::format("result {} cannot be {}", i, hlo::ToString(*result.tuple[i], false)));
    }
  }
  if (result.tuple.back()->type != PrimitiveType::kU8 || !result.tuple.back()->dynamic.empty()) {
    return Wrong(call, "its last result is no scratch memory");
  }
  const auto externals = static_cast<size_t>(
      std::ranges::count_if(plan.ops, [](const GraphOp& op) { return op.takes_external; }));
  if (call.operands.size() != externals + 2) {
    return Wrong(call, fmt::format("its graph takes {} operands, and it has {}", externals + 2,
                                   call.operands.size()));
  }
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape& operand = *call.operands[i]->shape;
    const bool fits = i < 2 || hlo::ElementCount(operand) == 1 ||
                      std::ranges::equal(operand.dims, result.tuple[0]->dims);
    if (!IsFloatArray(operand) || !fits) {
      return Wrong(call, fmt::format("operand {} cannot be {}", i, hlo::ToString(operand, false)));
    }
  }
  return {};
}

// Whether the convolution of the operands has the dimensions of the result.
Result<void> CheckConvolution(const Instruction& call) {
  std::vector<Attribute> attributes = ConvAttributes(call);
  Shape shapes[] = {*call.operands[0]->shape, *call.operands[1]->shape};
  Instruction converted[2];
  Instruction* operands[2];
  for (size_t i = 0; i < 2; ++i) {
    shapes[i].type = PrimitiveType::kF32;
    converted[i].shape = &shapes[i];
    operands[i] = &converted[i];
  }
  Instruction conv{.opcode = Opcode::kConvolution};
  conv.operands = operands;
  conv.attributes = attributes;
  Result<hlo::InferredShape> inferred = hlo::Infer(conv);
  if (!inferred) return Wrong(call, inferred.error().what);
  if (!std::ranges::equal(inferred->dims, call.shape->tuple[0]->dims)) {
    return Wrong(
        call, fmt::format("its result is {}, its operands make {}",
                          hlo::ToString(*call.shape->tuple[0], false), hlo::ToString(*inferred)));
  }
  return {};
}

Result<Plan> MakePlan(Instruction& call) {
  Plan plan{.call = &call};
  if (call.operands.size() < 2) return Wrong(call, "it has no two operands to convolve");
  EF_TRY(std::string text, SerializedGraph(call));
  Result<std::vector<GraphOp>> ops = ParseGraph(text);
  if (!ops) return Wrong(call, ops.error().what);
  plan.ops = *std::move(ops);
  for (GraphOp& op : plan.ops) op.name = call.parent->module->arena.Copy(op.name);
  EF_TRY(plan.tensor, FindTensor(call, plan.ops));
  EF_CHECK_OK(CheckShapes(plan));
  EF_CHECK_OK(CheckConvolution(call));
  return plan;
}

// The plans of one computation.
Result<std::vector<Plan>> MakePlans(const hlo::Computation& computation) {
  std::vector<Plan> plans;
  std::vector<char> has_control(computation.instructions.size());
  for (const Instruction* i : computation.instructions) {
    for (const Instruction* before : i->control_predecessors) {
      has_control[i->index] = has_control[before->index] = 1;
    }
  }
  for (Instruction* i : computation.instructions) {
    if (!IsGraphCall(*i)) continue;
    if (has_control[i->index] != 0) return Wrong(*i, "it has control dependencies");
    EF_TRY(Plan plan, MakePlan(*i));
    plans.push_back(std::move(plan));
  }
  return plans;
}

// Computations (a, b) -> max(a, b), one of each type.
class Maxima {
 public:
  explicit Maxima(hlo::Module& module) : module_(module) {}

  // Before any computation is edited.
  void Prepare(PrimitiveType type) {
    if (made_.contains(type)) return;
    const std::string base = fmt::format("amax_{}", hlo::Name(type));
    std::string name = base;
    const auto is_taken = [this](const std::string& candidate) {
      return std::ranges::any_of(module_.computations, [&](const hlo::Computation* computation) {
        return computation->name == candidate;
      });
    };
    for (int suffix = 1; is_taken(name); ++suffix) name = fmt::format("{}.{}", base, suffix);
    hlo::Builder builder(module_, name);
    const Shape* scalar = module_.shapes.ArrayWithDefaultLayout(type, {});
    Instruction* a = builder.Parameter(0, scalar, name + ".a");
    Instruction* b = builder.Parameter(1, scalar, name + ".b");
    made_[type] = builder.Build(builder.Maximum(a, b));
  }
  hlo::Computation* Of(PrimitiveType type) const { return made_.at(type); }

 private:
  hlo::Module& module_;
  std::map<PrimitiveType, hlo::Computation*> made_;
};

// The type to compute in for values of these types: theirs when it is one, unless it is FP8, in
// which nothing computes.
PrimitiveType ComputeType(const std::vector<PrimitiveType>& types) {
  const auto is_f64 = [](PrimitiveType type) { return type == PrimitiveType::kF64; };
  if (std::ranges::any_of(types, is_f64)) return PrimitiveType::kF64;
  const bool same = std::ranges::all_of(
      types, [&](PrimitiveType type) { return type == types[0] && !hlo::IsF8(type); });
  return same ? types[0] : PrimitiveType::kF32;
}

// Writes the plain HLO of one call.
class Expansion {
 public:
  Expansion(Editor& editor, const Plan& plan, const Maxima& maxima)
      : editor_(editor), plan_(plan), call_(*plan.call), maxima_(maxima) {}

  void Run() {
    const Shape& result = *call_.shape;
    std::vector<Instruction*> amaxes;
    for (const GraphOp& op : plan_.ops) {
      values_.push_back(Round(*Compute(op), op.type, op.name));
      if (op.kind == GraphOpKind::kAmax) amaxes.push_back(values_.back());
    }
    std::vector<Instruction*> results = {
        Round(*values_[plan_.tensor], result.tuple[0]->type, "result")};
    for (size_t i = 0; i < amaxes.size(); ++i) {
      results.push_back(Round(*amaxes[i], result.tuple[i + 1]->type, "amax"));
    }
    ReplaceCall(results);
  }

 private:
  Instruction* Add(Opcode opcode, std::string_view name, const Shape* shape,
                   std::vector<Instruction*> operands, std::vector<Attribute> attributes = {},
                   hlo::Computation* called = nullptr) {
    const std::string full_name = fmt::format("{}.{}", call_.name, name);
    Instruction draft{.name = full_name, .opcode = opcode, .shape = shape};
    draft.operands = operands;
    draft.attributes = attributes;
    draft.metadata = call_.metadata;
    if (called != nullptr) {
      draft.called = module().arena.Copy(std::span<hlo::Computation* const>(&called, 1));
    }
    return editor_.Add(draft);
  }
  hlo::Module& module() { return editor_.module(); }

  Instruction* Convert(Instruction& value, PrimitiveType type) {
    if (value.shape->type == type) return &value;
    return Add(Opcode::kConvert, "convert", WithType(module(), *value.shape, type), {&value});
  }

  Instruction* Scalar(PrimitiveType type, double value) {
    hlo::Module scratch;
    hlo::Builder builder(scratch, "scratch");
    const Instruction* made = builder.Constant(type, value);
    const std::string_view literal = module().arena.Copy(made->Bytes(Field::kLiteral));
    return Add(Opcode::kConstant, "constant", module().shapes.ArrayWithDefaultLayout(type, {}), {},
               {Attribute::Bytes(Field::kLiteral, literal)});
  }

  Instruction* Broadcast(Instruction& scalar, const Shape& like) {
    if (like.IsScalar()) return &scalar;
    return Add(Opcode::kBroadcast, "broadcast", WithType(module(), like, scalar.shape->type),
               {&scalar});
  }

  // `value` in `type`; to FP8, and from what has more values than that, saturating.
  Instruction* Round(Instruction& value, PrimitiveType type, std::string_view name) {
    const PrimitiveType from = value.shape->type;
    if (from == type || !hlo::IsF8(type) || hlo::IsF8(from)) return Convert(value, type);
    const FloatFormat& format = *hlo::FloatFormatOf(type);
    const double largest = DecodeFloat(format, format.largest());
    const auto bound = [&](double limit) { return Broadcast(*Scalar(from, limit), *value.shape); };
    Instruction* clamp = Add(Opcode::kClamp, fmt::format("{}.clamp", name), value.shape,
                             {bound(-largest), &value, bound(largest)});
    return Convert(*clamp, type);
  }

  Instruction* Compute(const GraphOp& op) {
    if (op.kind == GraphOpKind::kConv) return Convolve();
    std::vector<Instruction*> operands;
    std::vector<PrimitiveType> types;
    for (size_t operand : op.operands) operands.push_back(values_[operand]);
    if (op.takes_external) operands.push_back(call_.operands[next_external_++]);
    for (const Instruction* operand : operands) types.push_back(operand->shape->type);
    if (!hlo::IsF8(op.type)) types.push_back(op.type);
    const PrimitiveType type = ComputeType(types);
    for (Instruction*& operand : operands) operand = Convert(*Whole(*operand), type);
    if (op.kind == GraphOpKind::kAmax) return Amax(*operands[0]);
    const Shape* shape = operands[0]->shape;
    const auto binary = [&](Opcode opcode) {
      return Add(opcode, op.name, shape, {operands[0], operands[1]});
    };
    switch (op.kind) {
      case GraphOpKind::kAdd:
        return binary(Opcode::kAdd);
      case GraphOpKind::kScale:
        return binary(Opcode::kMultiply);
      case GraphOpKind::kInvscale:
        return binary(Opcode::kDivide);
      case GraphOpKind::kMin:
        return binary(Opcode::kMinimum);
      case GraphOpKind::kMax:
        return binary(Opcode::kMaximum);
      case GraphOpKind::kElu:
        return Elu(*operands[0]);
      default:
        return Add(Opcode::kMaximum, op.name, shape,
                   {operands[0], Broadcast(*Scalar(type, 0), *shape)});
    }
  }

  Instruction* Convolve() {
    Instruction* input = Convert(*call_.operands[0], PrimitiveType::kF32);
    Instruction* filter = Convert(*call_.operands[1], PrimitiveType::kF32);
    return Add(Opcode::kConvolution, "conv", Tensor(PrimitiveType::kF32), {input, filter},
               ConvAttributes(call_));
  }

  // The call's tensor, of another type.
  const Shape* Tensor(PrimitiveType type) {
    return WithType(module(), *call_.shape->tuple[0], type);
  }

  // An operand in the tensor's dimensions: one element becomes all of them.
  Instruction* Whole(Instruction& operand) {
    const Shape& shape = *operand.shape;
    const Shape* tensor = Tensor(shape.type);
    if (std::ranges::equal(shape.dims, tensor->dims)) return &operand;
    Instruction* scalar = &operand;
    if (!shape.IsScalar()) {
      scalar = Add(Opcode::kReshape, "reshape",
                   module().shapes.ArrayWithDefaultLayout(shape.type, {}), {&operand});
    }
    return Broadcast(*scalar, *tensor);
  }

  Instruction* Elu(Instruction& value) {
    Instruction* zero = Broadcast(*Scalar(value.shape->type, 0), *value.shape);
    const Shape* pred = WithType(module(), *value.shape, PrimitiveType::kPred);
    Instruction* positive = Add(Opcode::kCompare, "positive", pred, {&value, zero},
                                {Attribute::Bytes(Field::kComparisonDirection, "GT"),
                                 Attribute::Bytes(Field::kComparisonType, "FLOAT")});
    Instruction* below = Add(Opcode::kExpm1, "expm1", value.shape, {&value});
    return Add(Opcode::kSelect, "elu", value.shape, {positive, &value, below});
  }

  Instruction* Amax(Instruction& value) {
    const PrimitiveType type = value.shape->type;
    Instruction* absolute = Add(Opcode::kAbs, "abs", value.shape, {&value});
    std::vector<int64_t> all(value.shape->rank());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    const std::string_view dimensions = module().arena.Copy(hlo::EncodeInts(all));
    return Add(Opcode::kReduce, "amax", module().shapes.ArrayWithDefaultLayout(type, {}),
               {absolute, Scalar(type, 0)}, {Attribute::Bytes(Field::kDimensions, dimensions)},
               maxima_.Of(type));
  }

  // Elements of the call become `results`; whatever else uses it gets a tuple of them all.
  void ReplaceCall(std::vector<Instruction*> results) {
    const std::vector<Instruction*> users = editor_.Users(call_);
    for (Instruction* user : users) {
      if (user->opcode != Opcode::kGetTupleElement || editor_.IsPinned(*user)) continue;
      const auto index = static_cast<size_t>(user->Int(Field::kTupleIndex));
      if (index >= results.size() || results[index]->shape->bare != user->shape->bare) continue;
      editor_.ReplaceUses(*user, *results[index]);
      editor_.RemoveUnused(*user);
    }
    if (!editor_.Users(call_).empty() || editor_.IsRoot(call_)) {
      const Shape& scratch = *call_.shape->tuple.back();
      results.push_back(Broadcast(*Scalar(PrimitiveType::kU8, 0), scratch));
      editor_.ReplaceUses(call_, *Add(Opcode::kTuple, "results", call_.shape, results));
    }
    editor_.RemoveUnused(call_);
  }

  Editor& editor_;
  const Plan& plan_;
  Instruction& call_;
  const Maxima& maxima_;
  std::vector<Instruction*> values_;  // of the operations so far
  size_t next_external_ = 2;
};

// The type in which `op`, an amax, is computed.
PrimitiveType AmaxType(const Plan& plan, const GraphOp& op) {
  std::vector<PrimitiveType> types = {plan.ops[op.operands[0]].type};
  if (!hlo::IsF8(op.type)) types.push_back(op.type);
  return ComputeType(types);
}

void Unschedule(hlo::Module& module) {
  if (!module.is_scheduled) return;
  module.is_scheduled = false;
  for (hlo::Computation* computation : module.computations) computation->schedule = {};
}

}  // namespace

Result<int> Expand(hlo::Module& module) {
  std::vector<std::vector<Plan>> plans;
  size_t count = 0;
  for (const hlo::Computation* computation : module.computations) {
    EF_TRY(std::vector<Plan> of_computation, MakePlans(*computation));
    count += of_computation.size();
    plans.push_back(std::move(of_computation));
  }
  if (count == 0) return 0;
  Maxima maxima(module);
  for (const std::vector<Plan>& of_computation : plans) {
    for (const Plan& plan : of_computation) {
      for (const GraphOp& op : plan.ops) {
        if (op.kind == GraphOpKind::kAmax) maxima.Prepare(AmaxType(plan, op));
      }
    }
  }
  Names names(module);
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].empty()) continue;
    Editor editor(*module.computations[i], names);
    for (const Plan& plan : plans[i]) Expansion(editor, plan, maxima).Run();
    editor.Commit();
  }
  Unschedule(module);
  hlo::Finish(module);
  return static_cast<int>(count);
}

}  // namespace eightfold::rewrite
