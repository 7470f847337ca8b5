#ifndef EIGHTFOLD_HLO_MODULE_H_
#define EIGHTFOLD_HLO_MODULE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/source.h"
#include "hlo/attribute.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

// The IR. Everything lives in its module's arena, pointers are stable, nothing is destroyed one by
// one. Strings are views into the module's Source where possible, into its arena otherwise.
namespace eightfold::hlo {

struct Computation;
class Module;

struct Instruction {
  std::string_view name;  // without the % of text
  Opcode opcode{};
  uint32_t index = 0;  // position in parent->instructions; for side tables
  const Shape* shape = nullptr;
  Computation* parent = nullptr;
  int64_t id = 0;  // as read; writers choose their own scheme
  std::span<Instruction*> operands;
  // In proto order: while = {body, condition}; select-and-scatter = {select, scatter}; conditional
  // = branches, true first; fusion, call, reduce … = the one computation.
  std::span<Computation*> called;
  std::span<Instruction*> control_predecessors;
  std::string_view metadata;        // OpMetadata in wire form; empty: none. See views.h.
  std::string_view backend_config;  // as stored: usually JSON
  // All other attributes, grouped by field. Fields with a place of their own above are never here.
  std::span<Attribute> attributes;

  const Attribute* Find(Field field) const {
    for (const Attribute& attribute : attributes) {
      if (attribute.field == field && attribute.wire != Attribute::Wire::kText) return &attribute;
    }
    return nullptr;
  }
  // Scalar value of `field`, or `otherwise` when absent.
  int64_t Int(Field field, int64_t otherwise = 0) const {
    const Attribute* found = Find(field);
    return found == nullptr ? otherwise : static_cast<int64_t>(found->scalar);
  }
  // Payload of a string, bytes, packed or message field; "" when absent.
  std::string_view Bytes(Field field) const {
    const Attribute* found = Find(field);
    return found == nullptr ? std::string_view() : found->bytes;
  }
  std::string_view custom_call_target() const { return Bytes(Field::kCustomCallTarget); }
  int64_t parameter_number() const { return Int(Field::kParameterNumber); }
};

struct Computation {
  std::string_view name;
  int64_t id = 0;
  uint32_t index = 0;  // position in module->computations
  Module* module = nullptr;
  std::span<Instruction*> instructions;  // any order in memory; writers order operands first
  Instruction* root = nullptr;
  std::span<Instruction*> parameters;  // by number
  std::span<Instruction*> schedule;    // all instructions in execution order; empty: not scheduled
  bool is_fusion = false;              // called by a fusion
  std::string_view execution_thread;   // "" = main
  std::span<Attribute>
      attributes;  // the other fields of HloComputationProto (Field holds their numbers)
};

// HloModuleProto and HloModuleConfigProto fields that have no place of their own below are kept in
// wire form in `attributes` and `config`, with Field holding the field number of that message.
class Module {
 public:
  Module() : shapes(arena) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Arena arena;
  ShapeTable shapes;
  std::shared_ptr<const Source> source;  // keeps the views alive; null for built modules

  std::string_view name;
  Computation* entry = nullptr;
  std::span<Computation*> computations;  // any order; writers order callees first
  bool is_scheduled = false;
  int64_t replica_count = 1;   // of the config
  int64_t num_partitions = 1;  // of the config
  bool has_config = false;     // read from a HloModuleProtoWithConfig (kept when written again)
  std::vector<Attribute>
      attributes;  // of HloModuleProto: 4 host_program_shape, 8 aliasing, 17 stack frames …
  std::vector<Attribute> config;  // of HloModuleConfigProto, without 4 and 5
  std::vector<Attribute>
      outer;  // of HloProto / HloModuleProtoWithConfig, without the module and config

  // Instruction names that the text reader had to change, by where the new name is: how the source
  // spells them.
  std::unordered_map<const char*, std::string_view> renamed;
  std::string_view InSource(std::string_view its_name) const {
    auto found = renamed.empty() ? renamed.end() : renamed.find(its_name.data());
    return found == renamed.end() ? its_name : found->second;
  }

  const Attribute* Find(uint32_t module_field) const {
    for (const Attribute& attribute : attributes) {
      if (attribute.field == Field{module_field}) return &attribute;
    }
    return nullptr;
  }
};

// Sets index, parent, parameters (by number) of every instruction and index, module of every
// computation, and marks computations called by fusions. Readers and rewrites call it last.
// Parameter numbers that are not 0 … n-1 each once leave null entries for the verifier to report.
void Finish(Module& module);
// The part of it for the instructions of one computation, for readers that have it in the cache.
void FinishInstructions(Module& module, Computation& computation);

// The users of every instruction of one computation: a snapshot, invalid after a rewrite.
class Users {
 public:
  explicit Users(const Computation& computation);
  // In instruction order; an instruction that uses another twice is listed once.
  std::span<Instruction* const> Of(const Instruction& instruction) const {
    return {users_.data() + first_[instruction.index],
            users_.data() + first_[instruction.index + 1]};
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<Instruction*> users_;
};

// Computations so that callees come before their callers, in one pass without recursion.
// Computations that are part of a call cycle are left out: the verifier reports them.
std::vector<Computation*> CalleesFirst(const Module& module);
// Instructions so that operands and control predecessors come before their users, otherwise in the
// given order. Instructions on a cycle are left out.
std::vector<Instruction*> OperandsFirst(const Computation& computation);

// Where `view` (a name, usually) stands in the module's source text; without line when it is not
// part of it.
Location Locate(const Module& module, std::string_view view);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_MODULE_H_
