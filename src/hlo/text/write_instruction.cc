#include <fmt/format.h>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

std::string_view AsyncSuffix(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAsyncStart:
      return "-start";
    case Opcode::kAsyncUpdate:
      return "-update";
    default:
      return "-done";
  }
}

// Elements of an array that print even when large constants do not.
constexpr int64_t kFewElements = 10;

bool Aliases(const Instruction& instruction) {
  return instruction.Find(Field::kOutputOperandAliasing) != nullptr;
}

bool IsSmallArray(std::string_view literal_wire) {
  Literal literal = Literal::Decode(literal_wire);
  return literal.type() != PrimitiveType::kTuple && literal.size() <= kFewElements;
}

}  // namespace

void Writer::WriteOperands(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kParameter) {
    AppendInt(out_, instruction.parameter_number());
    return;
  }
  if (instruction.opcode == Opcode::kConstant) {
    const Attribute* literal = instruction.Find(Field::kLiteral);
    if (literal == nullptr || (!options_.large_constants && !IsSmallArray(literal->bytes))) {
      out_ += "{...}";
    } else {
      AppendLiteral(out_, literal->bytes);
    }
    return;
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (i != 0) {
      out_ += ", ";
      if (i % 5 == 0) {
        out_ += "/*index=";
        AppendInt(out_, static_cast<int64_t>(i));
        out_ += "*/";
      }
    }
    AppendName(instruction.operands[i]->name);
  }
}

void Writer::WriteInstruction(const Instruction& instruction) {
  AppendName(instruction.name);
  out_ += " = ";
  AppendShape(*instruction.shape);
  out_ += ' ';
  const Instruction* wrapped = Wrapped(instruction);
  if (wrapped != nullptr) {
    (out_ += Name(wrapped->opcode)) += AsyncSuffix(instruction.opcode);
  } else {
    out_ += Name(instruction.opcode);
  }
  out_ += '(';
  WriteOperands(instruction);
  out_ += ')';
  bool is_start = instruction.opcode == Opcode::kAsyncStart;
  // A wrapped operation that aliases says so itself.
  WriteOwnAttributes(instruction, wrapped == nullptr || !Aliases(*wrapped));
  if (wrapped != nullptr && is_start) WriteOwnAttributes(*wrapped);
  WriteCommonAttributes(instruction, is_start ? wrapped : nullptr);
}

void Writer::WriteOwnAttributes(const Instruction& instruction, bool aliasing) {
  const OpcodeInfo& info = Info(instruction.opcode);
  for (TextAttribute attribute : info.attributes) {
    if (attribute == TextAttribute::kOutputToOperandAliasing && !aliasing) continue;
    wire::Under([&] { return std::string(Info(attribute).text); },
                [&] {
                  WriteAttribute(instruction, attribute,
                                 info.required.test(static_cast<size_t>(attribute)));
                });
  }
}

void Writer::WriteCommonAttributes(const Instruction& instruction, const Instruction* wrapped) {
  auto bytes = [&](Field field) {
    std::string_view own = instruction.Bytes(field);
    return own.empty() && wrapped != nullptr ? wrapped->Bytes(field) : own;
  };
  // An empty message is a sharding: {replicated}.
  const Attribute* sharding = instruction.Find(Field::kSharding);
  if (sharding == nullptr && wrapped != nullptr) sharding = wrapped->Find(Field::kSharding);
  if (sharding != nullptr) {
    Begin("sharding");
    AppendSharding(out_, sharding->bytes);
  }
  std::string_view frontend = bytes(Field::kFrontendAttributes);
  if (!frontend.empty()) WriteFrontendAttributes(frontend);
  if (!instruction.control_predecessors.empty()) {
    Begin("control-predecessors");
    out_ += '{';
    for (size_t i = 0; i < instruction.control_predecessors.size(); ++i) {
      if (i != 0) out_ += ", ";
      AppendName(instruction.control_predecessors[i]->name);
    }
    out_ += '}';
  }
  WriteStatistics(bytes(Field::kStatisticsViz));
  WriteResultAccuracy(bytes(Field::kResultAccuracy));
  const Attribute* origin = instruction.Find(Field::kOriginalValue);
  if (origin == nullptr && wrapped != nullptr) origin = wrapped->Find(Field::kOriginalValue);
  if (origin != nullptr) WriteOrigin(origin->bytes);
  for (const Attribute& attribute : instruction.attributes) {
    if (attribute.wire == Attribute::Wire::kText) (out_ += ", ") += attribute.bytes;
  }
  if (options_.metadata && !instruction.metadata.empty()) {
    metadata_.AppendAttribute(out_, instruction.metadata);
  }
  WriteBackendConfig(instruction);
}

void Writer::WriteBackendConfig(const Instruction& instruction) {
  std::string_view config = instruction.backend_config;
  if (const Attribute* payload = instruction.Find(Field::kBackendConfigPayload)) {
    std::string_view resolved = metadata_.Payload(payload->bytes);
    if (!resolved.empty()) config = resolved;
  }
  if (config.empty()) return;
  Begin("backend_config");
  AppendRawOrQuoted(out_, config);
}

}  // namespace eightfold::hlo::text
