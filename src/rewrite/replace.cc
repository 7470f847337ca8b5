#include "rewrite/replace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rewrite/cudnn_calls.h"

namespace eightfold::rewrite {
namespace {

using hlo::Attribute;
using hlo::Field;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

// What convolution canonicalization writes for a call without activation.
constexpr std::string_view kLegacyConfig =
    R"({"operation_queue_id":"0","cudnn_conv_backend_config":{"activation_mode":"kNone",)"
    R"("conv_result_scale":1,"side_input_scale":0,"leakyrelu_alpha":0},)"
    R"("force_earliest_schedule":false,"reification_cost":[],"device_type":"DEVICE_TYPE_INVALID"})";
constexpr uint64_t kOriginalApi = 1;  // CustomCallApiVersion

const Shape* WithType(hlo::Module& module, const Shape& shape, PrimitiveType type) {
  Shape changed = shape;
  changed.type = type;
  return module.shapes.Intern(changed);
}

// The scratch memory that every cuDNN call returns; its size is settled when a kernel is chosen.
const Shape* Scratch(hlo::Module& module) {
  constexpr int64_t kEmpty[] = {0};
  return module.shapes.ArrayWithDefaultLayout(PrimitiveType::kU8, kEmpty);
}

// Multiplies or divides `value` by the scalar, in the value's own shape whatever the scalar's type:
// it is absorbed at once.
Instruction* Scale(Editor& editor, Instruction& value, const Fp8Operand& operand) {
  Instruction broadcast{.name = "broadcast", .opcode = Opcode::kBroadcast, .shape = value.shape};
  Instruction* scalar = operand.scale;
  broadcast.operands = {&scalar, 1};
  broadcast.metadata = value.metadata;
  Instruction* operands[] = {&value, editor.Add(broadcast)};
  Instruction scaled{.name = operand.divides ? "divide" : "multiply",
                     .opcode = operand.divides ? Opcode::kDivide : Opcode::kMultiply,
                     .shape = value.shape};
  scaled.operands = operands;
  scaled.metadata = value.metadata;
  Instruction* made = editor.Add(scaled);
  editor.ReplaceUses(value, *made);
  return made;
}

// Moves the operands' scales behind the convolution, with which they commute: the input's first.
// The convolution itself may stay for users that the graph leaves out, so it must lose the scales.
std::vector<Instruction*> MoveScales(Editor& editor, const Site& site) {
  std::vector<Instruction*> moved;
  const Fp8Operand* operands[] = {&site.input, &site.filter};
  for (size_t i = 0; i < 2; ++i) {
    const Fp8Operand* operand = operands[i];
    if (operand->scale == nullptr) continue;
    Instruction* scaled = site.conv->operands[i];
    editor.ReplaceOperand(*site.conv, i, *operand->wide);
    moved.push_back(Scale(editor, moved.empty() ? *site.result : *moved.back(), *operand));
    editor.RemoveUnused(*scaled);
  }
  return moved;
}

// A call keeps what it has; from a convolution it gets what canonicalization would copy.
std::vector<Attribute> CallAttributes(const Instruction& conv) {
  std::vector<Attribute> attributes;
  bool is_plain = conv.opcode == Opcode::kConvolution;
  auto is_kept = [&](Field field) {
    if (!is_plain) return field != Field::kCustomCallTarget;
    return field == Field::kWindow || field == Field::kConvolutionDimensionNumbers ||
           field == Field::kFeatureGroupCount || field == Field::kBatchGroupCount ||
           field == Field::kPrecisionConfig;
  };
  for (const Attribute& attribute : conv.attributes) {
    if (is_kept(attribute.field)) attributes.push_back(attribute);
  }
  attributes.push_back(Attribute::Bytes(Field::kCustomCallTarget, kGraphTarget));
  if (is_plain) {
    attributes.push_back(Attribute::Varint(Field::kCustomCallApiVersion, kOriginalApi));
    // That of a convolution over no dimensions may be left out; XLA crashes over a call without.
    if (conv.Find(Field::kWindow) == nullptr)
      attributes.push_back(Attribute::Bytes(Field::kWindow, ""));
  }
  std::ranges::stable_sort(attributes, {}, &Attribute::field);
  return attributes;
}

std::string BackendConfig(const Instruction& conv, const OpGraph& graph) {
  std::string_view legacy =
      conv.opcode == Opcode::kConvolution ? kLegacyConfig : conv.backend_config;
  auto config = nlohmann::ordered_json::parse(legacy, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) config = nlohmann::ordered_json::parse(kLegacyConfig);
  auto& of_conv = config["cudnn_conv_backend_config"];
  if (!of_conv.is_object()) of_conv = nlohmann::ordered_json::object();
  of_conv["serialized_graph"] = graph.Serialize();
  return config.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Instruction* MakeCall(Editor& editor, const Site& site, const Captured& captured) {
  hlo::Module& module = editor.module();
  const Instruction& conv = *site.conv;
  bool is_plain = conv.opcode == Opcode::kConvolution;
  const Shape& tensor = is_plain ? *conv.shape : *conv.shape->tuple[0];
  std::vector<const Shape*> results = {WithType(module, tensor, captured.endpoint->shape->type)};
  for (const Instruction* amax : captured.amaxes) results.push_back(amax->shape);
  results.push_back(is_plain ? Scratch(module) : conv.shape->tuple[1]);
  std::vector<Instruction*> operands = {site.input.value, site.filter.value};
  operands.insert(operands.end(), captured.operands.begin(), captured.operands.end());
  std::vector<Attribute> attributes = CallAttributes(conv);
  Instruction call{
      .name = "cudnn-conv", .opcode = Opcode::kCustomCall, .shape = module.shapes.Tuple(results)};
  call.operands = operands;
  call.metadata = conv.metadata;
  call.backend_config = module.arena.Copy(std::string_view(BackendConfig(conv, captured.graph)));
  call.attributes = attributes;
  return editor.Add(call);
}

// Element `index` of the call takes the place of `old`.
void ReplaceByElement(Editor& editor, Instruction& call, size_t index, Instruction& old) {
  Attribute attribute = Attribute::Varint(Field::kTupleIndex, index);
  Instruction* operand = &call;
  Instruction element{.name = "get-tuple-element",
                      .opcode = Opcode::kGetTupleElement,
                      .shape = call.shape->tuple[index]};
  element.operands = {&operand, 1};
  element.metadata = old.metadata;
  element.attributes = {&attribute, index == 0 ? size_t{0} : size_t{1}};  // defaults are left out
  editor.ReplaceUses(old, *editor.Add(element));
}

Instruction* Convert(Editor& editor, Instruction& value, PrimitiveType type) {
  Instruction convert{.name = "convert",
                      .opcode = Opcode::kConvert,
                      .shape = WithType(editor.module(), *value.shape, type)};
  Instruction* operand = &value;
  convert.operands = {&operand, 1};
  convert.metadata = value.metadata;
  return editor.Add(convert);
}

// Makes a convolution on bare FP8 operands one on wide ones, with the same result.
void Widen(Editor& editor, const Site& site, PrimitiveType wide) {
  Instruction& conv = *site.conv;
  for (size_t i = 0; i < 2; ++i) {
    if (conv.operands[i]->shape->type == wide) continue;
    editor.ReplaceOperand(conv, i, *Convert(editor, *conv.operands[i], wide));
  }
  PrimitiveType type = site.result->shape->type;
  if (!hlo::IsF8(type)) return;
  hlo::Module& module = editor.module();
  site.result->shape = WithType(module, *site.result->shape, wide);
  if (site.result != site.conv) {
    const Shape* results[] = {site.result->shape, conv.shape->tuple[1]};
    conv.shape = module.shapes.Tuple(results);
  }
  editor.ReplaceUses(*site.result, *Convert(editor, *site.result, type));
}

}  // namespace

Replaced ReplaceByGraphCall(Editor& editor, const Site& site, bool exact) {
  std::vector<Instruction*> moved = MoveScales(editor, site);
  Replaced replaced{.call = nullptr, .captured = Capture(editor, exact).Run(*site.result, moved)};
  Captured& captured = replaced.captured;
  replaced.call = MakeCall(editor, site, captured);
  ReplaceByElement(editor, *replaced.call, 0, *captured.endpoint);
  editor.RemoveUnused(*captured.endpoint);
  for (size_t i = 0; i < captured.amaxes.size(); ++i) {
    ReplaceByElement(editor, *replaced.call, i + 1, *captured.amaxes[i]);
    editor.RemoveUnused(*captured.amaxes[i]);
  }
  return replaced;
}

void Hide(Editor& editor, const Site& site) {
  Instruction& conv = *site.conv;
  const Fp8Operand &input = site.input, &filter = site.filter;
  PrimitiveType wide = input.wide != nullptr    ? input.wide->shape->type
                       : filter.wide != nullptr ? filter.wide->shape->type
                                                : PrimitiveType::kF32;
  if (input.wide == nullptr || filter.wide == nullptr) Widen(editor, site, wide);
  for (size_t i = 0; i < 2; ++i) {
    Instruction* operand = conv.operands[i];
    Instruction barrier{
        .name = "opt-barrier", .opcode = Opcode::kOptimizationBarrier, .shape = operand->shape};
    barrier.operands = {&operand, 1};
    barrier.metadata = operand->metadata;
    editor.ReplaceOperand(conv, i, *editor.Add(barrier));
  }
}

}  // namespace eightfold::rewrite
