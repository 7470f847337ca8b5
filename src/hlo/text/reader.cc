#include "hlo/text/reader.h"

#include <fmt/format.h>

#include "hlo/infer_shape.h"
#include "hlo/text/text.h"

namespace eightfold::hlo {
namespace text {

Reader::Reader(const Source& source, Module& module, int recovery_depth)
    : module_(module),
      recovery_depth_(recovery_depth),
      in_(source, module.arena),
      shapes_(in_, module.shapes),
      attributes_(in_, shapes_) {}

bool Reader::Read() {
  if (in_.AtEnd() && !in_.failed()) return in_.Expected("an HLO module");
  bool has_header = in_.AcceptWord("HloModule");
  if (has_header && !(ReadHeader() && ReadTables())) return false;
  return ReadComputations() && FinishModule();
}

bool Reader::ReadComputations() {
  bool has_header = !module_.name.empty();
  while (!in_.AtEnd()) {
    const char* start = in_.at();
    std::string_view name = in_.Name();
    bool is_entry = name == "ENTRY" && in_.Peek() != '{' && in_.Peek() != '(';
    if (is_entry) name = in_.Name();
    if (name.empty()) return in_.Expected("a computation");
    char next = in_.Peek();
    if (IsTable(name) && next != '{' && next != '(') {
      return in_.Fail(name, fmt::format("the table {} stands in the wrong place", name),
                      "FileNames, FunctionNames, FileLocations and StackFrames follow the header");
    }
    if (!has_header && computations_.empty() && next != '{' && next != '(' && !is_entry) {
      in_.MoveTo(start);
      return ReadLoneInstruction(name);
    }
    if (!ReadComputation(name, is_entry)) return false;
  }
  if (in_.failed()) return false;
  if (computations_.empty()) return in_.Expected("a computation");
  return true;
}

bool Reader::FinishModule() {
  NameMade();
  if (!ResolveComputations()) return false;
  MakeNamesUnique();
  module_.computations = module_.arena.Copy(computations_);
  if (module_.entry == nullptr) module_.entry = computations_.back();
  if (module_.name.empty()) {
    module_.name = module_.arena.Copy(fmt::format("module_{}", module_.entry->name));
  }
  for (uint32_t i = 0; i < computations_.size(); ++i) {
    computations_[i]->index = i;
    computations_[i]->module = &module_;
  }
  for (Instruction* fusion : fusions_) {
    for (Computation* called : fusion->called) called->is_fusion = true;
  }
  if (infer_ && !InferShapes()) return false;
  if (!CheckDeclaredShapes() || !CheckAliasing()) return false;
  FillOperandDefaults();
  if (module_.is_scheduled) Schedule();
  SetLayoutFromEntry();
  return true;
}

bool Reader::ResolveComputations() {
  for (const PendingComputation& pending : pending_computations_) {
    Computation* found = computation_names_.Find(pending.name);
    if (found == nullptr) {
      std::vector<std::string_view> names;
      for (const Computation* computation : computations_) names.push_back(computation->name);
      std::string_view nearest = Nearest(pending.name, names);
      return in_.Fail(pending.name, fmt::format("there is no computation %{}", pending.name),
                      nearest.empty() ? "" : fmt::format("did you mean %{}?", nearest));
    }
    *pending.slot = found;
  }
  return true;
}

// Computations that text has no name for get the one that XLA makes up.
void Reader::NameMade() {
  auto name_all = [this](const std::vector<Computation*>& computations, std::string_view base) {
    size_t number = 0;
    for (Computation* computation : computations) {
      std::string name(base);
      if (number != 0) name = fmt::format("{}.{}", base, number);
      while (computation_names_.Find(name) != nullptr) name = fmt::format("{}.{}", base, ++number);
      ++number;
      computation->name = module_.arena.Copy(std::string_view(name));
      computation_names_.Add(computation);
    }
  };
  name_all(inline_computations_, "_");
  name_all(wrapped_computations_, "async_wrapped");
}

bool Reader::InferShapes() {
  // Instructions on a cycle are in neither order; the verifier reports the cycle, but a shape must
  // not be missing.
  for (Computation* computation : CalleesFirst(module_)) {
    for (Instruction* instruction : OperandsFirst(*computation)) {
      if (instruction->shape != nullptr) continue;
      auto shape = InferShape(module_, *instruction);
      if (!shape) {
        return in_.Fail(instruction->name, shape.error().what,
                        "write the shape: name = f32[2] opcode(…)");
      }
      instruction->shape = *shape;
    }
  }
  for (const Computation* computation : computations_) {
    for (const Instruction* instruction : computation->instructions) {
      if (instruction->shape == nullptr) {
        return in_.Fail(instruction->name,
                        fmt::format("the shape of %{} depends on itself", instruction->name));
      }
    }
  }
  return true;
}

bool Reader::CheckDeclaredShapes() {
  for (const DeclaredShape& declared : declared_shapes_) {
    if (!CheckDeclared(*declared.operand, *declared.shape, declared.where)) return false;
  }
  for (const Signature& signature : signatures_) {
    const Instruction& root = *signature.computation->root;
    if (!Compatible(*signature.result, *root.shape)) {
      return in_.Fail(signature.where,
                      fmt::format("the result of %{} is {}, but its root %{} is {}",
                                  signature.computation->name, ToString(*signature.result, false),
                                  root.name, ToString(*root.shape, false)));
    }
  }
  return true;
}

// The order of the text is the schedule, of every computation that is executed one by one.
void Reader::Schedule() {
  for (Computation* computation : computations_) {
    if (computation->is_fusion) continue;
    computation->schedule =
        module_.arena.Copy(std::span<Instruction* const>(computation->instructions));
  }
}

}  // namespace text

Result<std::unique_ptr<Module>> ReadText(std::shared_ptr<const Source> source) {
  auto module = std::make_unique<Module>();
  module->source = std::move(source);
  text::Reader reader(*module->source, *module);
  if (!reader.Read()) return Fail(reader.TakeError());
  return module;
}

}  // namespace eightfold::hlo
