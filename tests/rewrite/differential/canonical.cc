#include "canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "hlo/shape.h"

namespace eightfold::differential {
namespace {

using hlo::Attribute;
using hlo::Instruction;
using Json = nlohmann::json;

constexpr std::string_view kGraphTarget = "__cudnn$convForwardGraph";

// "12:[f32]conv();15:[f32]relu(12);" with ids in the order of their appearance.
std::string Renumbered(const std::string& graph) {
  std::string out;
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < graph.size();) {
    // An id starts the graph or follows one of these; digits elsewhere are part of a type.
    const bool starts = i == 0 || graph[i - 1] == ';' || graph[i - 1] == '(' || graph[i - 1] == ',';
    if (!starts || !isdigit(static_cast<unsigned char>(graph[i]))) {
      out += graph[i++];
      continue;
    }
    std::string id;
    while (i < graph.size() && isdigit(static_cast<unsigned char>(graph[i]))) id += graph[i++];
    out += std::to_string(numbers.emplace(id, numbers.size()).first->second);
  }
  return out;
}

// The operations of a serialized graph, each with a digest of what it is applied to, sorted: equal
// for graphs that differ in the order of independent operations only.
std::string Unordered(const std::string& graph) {
  std::map<std::string, std::string> digests;  // by id
  std::vector<std::string> operations;
  std::istringstream items(graph);
  for (std::string item; std::getline(items, item, ';');) {
    const size_t colon = item.find(':'), open = item.find('(');
    if (colon == item.npos || open == item.npos) return graph;
    std::string operation = item.substr(colon + 1, open - colon);
    std::istringstream operands(item.substr(open + 1, item.size() - open - 2));
    for (std::string id; std::getline(operands, id, ',');) operation += digests[id] + ' ';
    const size_t digest = std::hash<std::string>()(operation);
    digests[item.substr(0, colon)] = fmt::format("{:x}", digest & 0xffff'ffff);
    operations.push_back(std::move(operation));
  }
  std::sort(operations.begin(), operations.end());
  return fmt::format("{}", fmt::join(operations, "; "));
}

std::string Hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string BackendConfig(std::string_view stored) {
  Json json = Json::parse(stored, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::string(stored);
  if (auto conv = json.find("cudnn_conv_backend_config"); conv != json.end()) {
    if (auto graph = conv->find("serialized_graph"); graph != conv->end() && graph->is_string()) {
      *graph = Renumbered(graph->get<std::string>());
    }
  }
  return json.dump();
}

// The operand precisions of a PrecisionConfig, without default ones at the end: XLA adds those for
// operands that have none.
std::string Precision(std::string_view wire) {
  const bool packed = wire.size() >= 2 && wire[0] == '\x0a' && size_t(wire[1]) == wire.size() - 2;
  if (!packed) return PrintableBytes(wire);
  wire.remove_prefix(2);
  return PrintableBytes(wire.substr(0, wire.find_last_not_of('\0') + 1));
}

// An instruction without its operands.
std::string Describe(const Instruction& instruction) {
  std::string out =
      fmt::format("{} {}", hlo::ToString(*instruction.shape), Name(instruction.opcode));
  std::vector<std::string> attributes;
  for (const Attribute& attribute : instruction.attributes) {
    const bool scalar = attribute.wire != Attribute::Wire::kBytes;
    const auto field = static_cast<uint32_t>(attribute.field);
    if (scalar && attribute.scalar == 0) continue;
    if (attribute.field == hlo::Field::kPrecisionConfig) {
      attributes.push_back("precision=" + Precision(attribute.bytes));
      continue;
    }
    attributes.push_back(scalar ? fmt::format("{}={}", field, attribute.scalar)
                                : fmt::format("{}={}", field, PrintableBytes(attribute.bytes)));
  }
  std::sort(attributes.begin(), attributes.end());
  for (const std::string& attribute : attributes) out += ' ' + attribute;
  if (!instruction.metadata.empty()) out += " metadata=" + PrintableBytes(instruction.metadata);
  if (!instruction.backend_config.empty()) {
    out += " config=" + BackendConfig(instruction.backend_config);
  }
  return out;
}

// The instructions that the root needs, operands first, in the order of a depth-first walk.
std::vector<const Instruction*> Needed(const hlo::Computation& computation) {
  std::vector<const Instruction*> order;
  std::unordered_map<const Instruction*, bool> done;  // false: on the way
  std::vector<const Instruction*> stack = {computation.root};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    if (auto [seen, is_new] = done.emplace(top, false); !is_new) {
      stack.pop_back();
      if (!seen->second) order.push_back(top);
      seen->second = true;
      continue;
    }
    for (size_t i = top->operands.size(); i-- > 0;) {
      if (!done.contains(top->operands[i])) stack.push_back(top->operands[i]);
    }
  }
  return order;
}

}  // namespace

std::string PrintableBytes(std::string_view bytes) {
  for (char c : bytes) {
    if (c < ' ' || c > '~') return Hex(bytes);
  }
  return std::string(bytes);
}

std::string Canonical(const hlo::Computation& computation) {
  std::string out;
  std::unordered_map<const Instruction*, size_t> numbers;
  for (const Instruction* instruction : Needed(computation)) {
    out += fmt::format("%{} = {} (", numbers.size(), Describe(*instruction));
    for (const Instruction* operand : instruction->operands) {
      out += fmt::format(" %{}", numbers.at(operand));
    }
    out += " )";
    // Only reducers and what the entry calls: not deep.
    for (const hlo::Computation* called : instruction->called) {
      out += " {\n" + Canonical(*called) + "}";
    }
    out += '\n';
    numbers.emplace(instruction, numbers.size());
  }
  return out;
}

std::string SerializedGraph(const hlo::Instruction& call) {
  if (call.custom_call_target() != kGraphTarget) return {};
  Json json = Json::parse(call.backend_config, nullptr, false);
  if (json.is_discarded()) return {};
  return Renumbered(json.value("/cudnn_conv_backend_config/serialized_graph"_json_pointer, ""));
}

std::vector<std::string> SerializedGraphs(const hlo::Module& module) {
  std::vector<std::string> graphs;
  for (const hlo::Computation* computation : module.computations) {
    for (const Instruction* instruction : computation->instructions) {
      if (instruction->custom_call_target() != kGraphTarget) continue;
      graphs.push_back(Unordered(SerializedGraph(*instruction)));
    }
  }
  std::sort(graphs.begin(), graphs.end());
  return graphs;
}

std::vector<std::string> GraphCalls(const hlo::Computation& computation) {
  using hlo::Field;
  std::vector<std::string> calls;
  for (const Instruction* instruction : Needed(computation)) {
    if (instruction->custom_call_target() != kGraphTarget) continue;
    std::string call = hlo::ToString(*instruction->shape) + " (";
    for (const Instruction* operand : instruction->operands) {
      call += ' ' + hlo::ToString(*operand->shape);
    }
    calls.push_back(
        fmt::format("{} ) window={} dims={} groups={},{} precision={} metadata={} graph={}", call,
                    PrintableBytes(instruction->Bytes(Field::kWindow)),
                    PrintableBytes(instruction->Bytes(Field::kConvolutionDimensionNumbers)),
                    std::max<int64_t>(instruction->Int(Field::kFeatureGroupCount), 1),
                    std::max<int64_t>(instruction->Int(Field::kBatchGroupCount), 1),
                    Precision(instruction->Bytes(Field::kPrecisionConfig)),
                    PrintableBytes(instruction->metadata), SerializedGraph(*instruction)));
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

}  // namespace eightfold::differential
