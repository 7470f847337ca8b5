#include <fmt/format.h>

#include <algorithm>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace text {
namespace {

// Async operations that have opcodes of their own: all-reduce-start is not an async-start that
// wraps an all-reduce.
bool HasOwnAsyncOpcodes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kCollectivePermute:
    case Opcode::kCopy:
    case Opcode::kSend:
    case Opcode::kRecv:
      return true;
    default:
      return false;
  }
}

// The one operation of a computation that is nothing but parameters, in order, and that operation;
// null for other computations.
const Instruction* OnlyOperation(const Computation& computation) {
  const Instruction* root = computation.root;
  if (root == nullptr || root->opcode == Opcode::kParameter ||
      computation.instructions.size() != computation.parameters.size() + 1 ||
      !std::ranges::equal(root->operands, computation.parameters)) {
    return nullptr;
  }
  return HasOwnAsyncOpcodes(root->opcode) ? nullptr : root;
}

// Whether writing one of them for both loses nothing that matters: the metadata of the wrapped
// operation does get lost, as in XLA's text.
bool SameOrEmpty(std::string_view inner, std::string_view outer) {
  return inner.empty() || inner == outer;
}

bool SameOrEmptyAliasing(const Instruction& inner, const Instruction& outer) {
  auto aliasing = [](const Instruction& instruction) {
    std::vector<std::string_view> payloads;
    for (const Attribute& attribute : instruction.attributes) {
      if (attribute.field == Field::kOutputOperandAliasing) payloads.push_back(attribute.bytes);
    }
    return payloads;
  };
  std::vector<std::string_view> outer_payloads = aliasing(outer);
  return outer_payloads.empty() || aliasing(inner).empty() || aliasing(inner) == outer_payloads;
}

bool FitsSugar(const Instruction& start, const Instruction& wrapped) {
  return SameOrEmpty(wrapped.backend_config, start.backend_config) &&
         SameOrEmptyAliasing(wrapped, start) && wrapped.control_predecessors.empty();
}

}  // namespace

Writer::Writer(const Module& module, const TextOptions& options)
    : module_(module),
      options_(options),
      metadata_(module),
      sugar_(module.computations.size()),
      shapes_(arena_),
      shape_decoder_(shapes_) {
  // A wrapped computation disappears when all its callers are async-starts that can do without it.
  std::vector<bool> needed(module.computations.size());
  for (const Computation* computation : module.computations) {
    for (const Instruction* caller : computation->instructions) {
      for (const Computation* called : caller->called) {
        bool is_async = caller->opcode == Opcode::kAsyncStart ||
                        caller->opcode == Opcode::kAsyncUpdate ||
                        caller->opcode == Opcode::kAsyncDone;
        const Instruction* wrapped = is_async ? OnlyOperation(*called) : nullptr;
        if (wrapped == nullptr ||
            (caller->opcode == Opcode::kAsyncStart && !FitsSugar(*caller, *wrapped))) {
          needed[called->index] = true;
        } else if (caller->opcode == Opcode::kAsyncStart) {
          sugar_[called->index] = true;
        }
      }
    }
  }
  for (size_t i = 0; i < needed.size(); ++i) sugar_[i] = sugar_[i] && !needed[i];
}

const Instruction* Writer::Wrapped(const Instruction& instruction) const {
  const Instruction* start = &instruction;
  // -done and -update lead back to their -start; in a damaged module perhaps to themselves.
  for (size_t steps = 0;
       start->opcode == Opcode::kAsyncDone || start->opcode == Opcode::kAsyncUpdate; ++steps) {
    if (start->operands.empty() || steps > start->parent->instructions.size()) return nullptr;
    start = start->operands[0];
  }
  if (start->opcode != Opcode::kAsyncStart || start->called.size() != 1) return nullptr;
  const Computation& computation = *start->called[0];
  return IsSugar(computation) ? computation.root : nullptr;
}

bool Writer::IsSugar(const Computation& computation) const { return sugar_[computation.index]; }

void Writer::AppendShape(const Shape& shape) {
  auto [it, is_new] = printed_shapes_.try_emplace(&shape);
  Printed& printed = it->second;
  if (is_new) {
    printed.at = out_.size();
    hlo::AppendShape(out_, shape, /*with_layout=*/true);
    printed.size = out_.size() - printed.at;
    return;
  }
  size_t at = out_.size();
  out_.resize(at + printed.size);
  std::copy_n(out_.data() + printed.at, printed.size, out_.data() + at);
}

void Writer::AppendWireShape(std::string_view wire, bool with_layout) {
  hlo::AppendShape(out_, *shape_decoder_.Decode(wire), with_layout);
}

void Writer::WriteComputation(const Computation& computation) {
  if (computation.instructions.empty()) throw wire::Damage("has no instructions");
  const Instruction* root =
      computation.root != nullptr ? computation.root : computation.instructions.back();
  if (&computation == module_.entry) out_ += "ENTRY ";
  AppendName(computation.name);
  out_ += " (";
  bool first = true;
  for (const Instruction* parameter : computation.parameters) {
    if (parameter == nullptr) continue;
    if (!first) out_ += ", ";
    first = false;
    (out_ += parameter->name) += ": ";
    hlo::AppendShape(out_, *parameter->shape, /*with_layout=*/false);
  }
  out_ += ") -> ";
  hlo::AppendShape(out_, *root->shape, /*with_layout=*/false);
  out_ += " {\n";
  auto write = [&](const Instruction& instruction) {
    out_ += &instruction == root ? "  ROOT " : "  ";
    wire::Under([&] { return fmt::format("%{}", instruction.name); },
                [&] { WriteInstruction(instruction); });
    out_ += '\n';
  };
  if (module_.is_scheduled && !computation.schedule.empty()) {
    for (const Instruction* instruction : computation.schedule) write(*instruction);
  } else {
    for (const Instruction* instruction : PrintingOrder(computation)) write(*instruction);
  }
  out_ += '}';
  if (!computation.execution_thread.empty() && computation.execution_thread != "main") {
    out_ += ", execution_thread=";
    AppendQuoted(out_, computation.execution_thread);
  }
}

Result<std::string> Writer::Write() {
  try {
    if (module_.source != nullptr) out_.reserve(module_.source->bytes().size());
    WriteHeader();
    for (const Computation* computation : PrintingOrder(module_)) {
      if (IsSugar(*computation)) continue;
      wire::Under([&] { return fmt::format("%{}", computation->name); },
                  [&] { WriteComputation(*computation); });
      out_ += "\n\n";
    }
  } catch (const wire::Damage& damage) {
    return Fail(Error{.what = fmt::format("cannot be written as text: {}", damage.what()),
                      .where = {.file = module_.source ? module_.source->name() : "",
                                .field_path = damage.path()},
                      .next = damage.next()});
  }
  return std::move(out_);
}

}  // namespace text

Result<std::string> WriteText(const Module& module, const TextOptions& options) {
  return text::Writer(module, options).Write();
}

}  // namespace eightfold::hlo
