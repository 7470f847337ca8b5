#include "large_module.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

namespace eightfold::bench {
namespace {

using hlo::Attribute;
using hlo::Computation;
using hlo::Instruction;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

class Repeater {
 public:
  explicit Repeater(const Module& from) : from_(from), to_(std::make_unique<Module>()) {}

  std::unique_ptr<Module> Run(int copies) {
    CopyModuleFields();
    for (const Computation* computation : from_.computations) {
      for (const Instruction* instruction : computation->instructions) {
        attributes_[instruction] = CopyAttributes(instruction->attributes);
      }
    }
    size_t each = from_.computations.size();
    to_->computations = to_->arena.NewArray<Computation*>(each * static_cast<size_t>(copies) + 1);
    std::vector<Computation*> entries;
    for (int copy = 0; copy < copies; ++copy) {
      auto part = to_->computations.subspan(static_cast<size_t>(copy) * each, each);
      CopyComputations(part, copy);
      entries.push_back(part[from_.entry->index]);
    }
    to_->entry = MakeEntry(entries);
    to_->computations.back() = to_->entry;
    hlo::Finish(*to_);
    return std::move(to_);
  }

 private:
  // Fields of HloModuleProto that speak of the old entry's parameters and results.
  static bool IsAboutEntry(hlo::Field field) {
    switch (static_cast<uint32_t>(field)) {
      case 4:   // host_program_shape
      case 8:   // input_output_alias
      case 10:  // cross_program_prefetches
      case 12:  // spmd_output_sharding
      case 14:  // spmd_parameters_shardings
      case 18:  // buffer_donor
        return true;
      default:
        return false;
    }
  }

  std::string_view Keep(std::string_view text) { return to_->arena.Copy(text); }

  std::span<Attribute> CopyAttributes(std::span<const Attribute> attributes) {
    std::span<Attribute> copy = to_->arena.Copy(attributes);
    for (Attribute& attribute : copy) attribute.bytes = Keep(attribute.bytes);
    return copy;
  }

  void CopyModuleFields() {
    to_->name = Keep(from_.name);
    to_->is_scheduled = from_.is_scheduled;
    to_->replica_count = from_.replica_count;
    to_->num_partitions = from_.num_partitions;
    for (const Attribute& attribute : CopyAttributes(from_.attributes)) {
      if (!IsAboutEntry(attribute.field)) to_->attributes.push_back(attribute);
    }
  }

  const Shape* Import(const Shape* shape) {
    const Shape*& imported = shapes_[shape];
    if (imported == nullptr) imported = to_->shapes.Import(*shape);
    return imported;
  }

  void CopyComputations(std::span<Computation*> into, int copy) {
    std::string suffix = fmt::format(".r{}", copy);
    std::unordered_map<const Instruction*, Instruction*> made;
    for (Computation*& computation : into) computation = to_->arena.New<Computation>();
    for (const Computation* computation : from_.computations) {
      Computation& target = *into[computation->index];
      target.name = Keep(std::string(computation->name) + suffix);
      target.execution_thread = Keep(computation->execution_thread);
      target.instructions = to_->arena.NewArray<Instruction*>(computation->instructions.size());
      for (const Instruction* instruction : computation->instructions) {
        auto* twin = to_->arena.New<Instruction>();
        made[instruction] = twin;
        target.instructions[instruction->index] = twin;
        twin->name = Keep(std::string(instruction->name) + suffix);
        twin->opcode = instruction->opcode;
        twin->shape = Import(instruction->shape);
        twin->metadata = Keep(instruction->metadata);
        twin->backend_config = Keep(instruction->backend_config);
        twin->attributes = attributes_[instruction];
        twin->called = to_->arena.Copy(std::span<Computation* const>(instruction->called));
        for (Computation*& called : twin->called) called = into[called->index];
      }
    }
    auto twins = [&](std::span<Instruction* const> of) {
      std::span<Instruction*> copies = to_->arena.Copy(of);
      for (Instruction*& instruction : copies) instruction = made.at(instruction);
      return copies;
    };
    for (const Computation* computation : from_.computations) {
      Computation& target = *into[computation->index];
      target.root = made.at(computation->root);
      target.schedule = twins(computation->schedule);
      for (const Instruction* instruction : computation->instructions) {
        made.at(instruction)->operands = twins(instruction->operands);
        made.at(instruction)->control_predecessors = twins(instruction->control_predecessors);
      }
    }
  }

  Computation* MakeEntry(std::span<Computation* const> callees) {
    std::vector<Instruction*> all;
    std::vector<Instruction*> parameters;
    for (const Instruction* parameter : from_.entry->parameters) {
      auto* made = to_->arena.New<Instruction>();
      made->name = Keep(std::string(parameter->name) + ".all");
      made->opcode = Opcode::kParameter;
      made->shape = Import(parameter->shape);
      made->attributes = attributes_[parameter];
      parameters.push_back(made);
    }
    all = parameters;
    std::vector<Instruction*> results;
    std::vector<const Shape*> shapes;
    for (Computation* callee : callees) {
      auto* call = to_->arena.New<Instruction>();
      call->name = Keep(fmt::format("call.r{}", results.size()));
      call->opcode = Opcode::kCall;
      call->shape = callee->root->shape;
      call->operands = to_->arena.Copy(parameters);
      call->called = to_->arena.Copy(std::vector<Computation*>{callee});
      results.push_back(call);
      shapes.push_back(call->shape);
      all.push_back(call);
    }
    auto* root = to_->arena.New<Instruction>();
    root->name = "all.results";
    root->opcode = Opcode::kTuple;
    root->shape = to_->shapes.Tuple(shapes);
    root->operands = to_->arena.Copy(results);
    all.push_back(root);

    auto* entry = to_->arena.New<Computation>();
    entry->name = "repeated";
    entry->instructions = to_->arena.Copy(all);
    entry->root = root;
    if (from_.is_scheduled) entry->schedule = to_->arena.Copy(all);
    return entry;
  }

  const Module& from_;
  std::unique_ptr<Module> to_;
  std::unordered_map<const Shape*, const Shape*> shapes_;
  std::unordered_map<const Instruction*, std::span<Attribute>> attributes_;
};

}  // namespace

std::unique_ptr<Module> Repeat(const Module& module, int copies) {
  return Repeater(module).Run(copies);
}

}  // namespace eightfold::bench
