#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "hlo/proto/detect.h"
#include "hlo/proto/fields.h"
#include "hlo/proto/id_table.h"
#include "hlo/proto/proto.h"
#include "hlo/proto/read_instruction.h"
#include "hlo/verifier.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;
using wire::Damage;

// Reads one file into a module. Calls are resolved at the end, when all computations are known;
// operands at the end of each computation, while it is still in the cache.
class Reader {
 public:
  explicit Reader(std::shared_ptr<const Source> source)
      : module_(std::make_unique<Module>()), instructions_(*module_) {
    module_->source = std::move(source);
  }

  Result<std::unique_ptr<Module>> Run();

 private:
  void ReadOuter(std::string_view bytes, ProtoKind kind);
  void ReadConfig(std::string_view message);
  void ReadModule(std::string_view message);
  void ReadModuleField(const Cursor& cursor);
  void ReadComputation(std::string_view message, Computation& to);
  void ReadInstruction(std::string_view message);
  void ResolveOperands(Computation& to);
  void ResolveCalls();
  std::span<Instruction*> Resolve(std::string_view ids, std::string_view field);
  void ReadSchedule();
  void ReadSequence(std::string_view message, size_t index);
  void ResolveSchedule(Computation& computation);
  void CheckSequence(const Computation& computation);
  void CheckSchedule();
  Error ToError(const Damage& damage) const;

  std::unique_ptr<Module> module_;
  std::unordered_map<int64_t, Computation*> by_id_;
  InstructionReader instructions_;
  std::vector<std::string_view> computation_wires_;
  std::vector<std::string_view> schedules_;
  struct Sequence {
    size_t index;  // in the proto
    Joined ids;
  };
  std::unordered_map<int64_t, Sequence> sequences_;  // by computation id, not yet resolved
  std::vector<bool> seen_;
  int64_t entry_id_ = 0;
  IdTable ids_;
  std::vector<Instruction*> members_;    // of the computation being read
  std::vector<InstructionLinks> links_;  // one per member
  struct Call {
    Instruction* caller;
    std::string_view callees;  // packed ids
  };
  std::vector<Call> calls_;
  const Instruction* current_ = nullptr;  // for messages
};

Result<std::unique_ptr<Module>> Reader::Run() {
  std::string_view bytes = module_->source->bytes();
  std::string file = module_->source->name();
  if (bytes.empty()) return Fail(Error{"the file is empty", {.file = file}});
  auto kind = DetectProto(bytes);
  if (!kind) {
    return Fail(Error{
        .what = "not an HLO proto: no computation with instructions is in it",
        .where = {.file = file},
        .next = "HloModuleProto, HloProto and HloModuleProtoWithConfig are read, serialized in "
                "binary form"});
  }
  try {
    ReadOuter(bytes, *kind);
  } catch (const Damage& damage) {
    return Fail(ToError(damage));
  }
  return std::move(module_);
}

Error Reader::ToError(const Damage& damage) const {
  Error error{.what = damage.what(), .next = damage.next()};
  if (current_ != nullptr && !current_->name.empty()) {
    error.what += fmt::format(" (in instruction {})", current_->name);
  }
  error.where.file = module_->source->name();
  error.where.field_path = damage.path();
  return error;
}

void Reader::ReadOuter(std::string_view bytes, ProtoKind kind) {
  if (kind == ProtoKind::kModule) return ReadModule(bytes);
  std::string_view module;
  for (Cursor cursor(bytes); cursor.Next();) {
    if (cursor.field() == outer_field::kModule) {
      module = wire::Under([] { return "hlo_module"; }, [&] { return cursor.Message(); });
    } else if (cursor.field() == outer_field::kConfig && kind == ProtoKind::kModuleWithConfig) {
      module_->has_config = true;
      wire::Under([] { return "config"; }, [&] { ReadConfig(cursor.Message()); });
    } else {
      module_->outer.push_back(ToAttribute(cursor));
    }
  }
  wire::Under([] { return "hlo_module"; }, [&] { ReadModule(module); });
}

void Reader::ReadConfig(std::string_view message) {
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == config_field::kReplicaCount) {
      module_->replica_count = cursor.Int();
    } else if (cursor.field() == config_field::kNumPartitions) {
      module_->num_partitions = cursor.Int();
    } else {
      module_->config.push_back(ToAttribute(cursor));
    }
  }
}

void Reader::ReadModule(std::string_view message) {
  for (Cursor cursor(message); cursor.Next();) ReadModuleField(cursor);
  module_->computations = module_->arena.NewArray<Computation*>(computation_wires_.size());
  by_id_.reserve(computation_wires_.size());
  wire::Under([] { return "schedule"; }, [&] { ReadSchedule(); });
  for (uint32_t i = 0; i < computation_wires_.size(); ++i) {
    auto* computation = module_->arena.New<Computation>();
    computation->index = i;
    computation->module = module_.get();
    module_->computations[i] = computation;
    wire::Under([&] { return fmt::format("computations[{}]", i); },
                [&] { ReadComputation(computation_wires_[i], *computation); });
    ResolveSchedule(*computation);
  }
  CheckSchedule();
  ResolveCalls();
  auto entry = by_id_.find(entry_id_);
  if (entry == by_id_.end()) {
    Damage damage(fmt::format("{} is the id of no computation", entry_id_));
    damage.Prepend("entry_computation_id");
    throw damage;
  }
  module_->entry = entry->second;
}

void Reader::ReadModuleField(const Cursor& cursor) {
  switch (cursor.field()) {
    case module_field::kName:
      module_->name = wire::Under([] { return "name"; }, [&] { return cursor.String(); });
      break;
    case module_field::kEntryComputationName:
      wire::Under([] { return "entry_computation_name"; }, [&] { cursor.String(); });
      break;
    case module_field::kComputations:
      computation_wires_.push_back(
          wire::Under([&] { return fmt::format("computations[{}]", computation_wires_.size()); },
                      [&] { return cursor.Message(); }));
      break;
    case module_field::kEntryComputationId:
      entry_id_ = wire::Under([] { return "entry_computation_id"; }, [&] { return cursor.Int(); });
      break;
    case module_field::kSchedule:
      module_->is_scheduled = true;
      schedules_.push_back(
          wire::Under([] { return "schedule"; }, [&] { return cursor.Message(); }));
      break;
    default:
      module_->attributes.push_back(ToAttribute(cursor));
  }
}

void Reader::ReadComputation(std::string_view message, Computation& to) {
  members_.clear();
  links_.clear();
  std::vector<Attribute> attributes;
  int64_t root_id = 0;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case computation_field::kInstructions:
        wire::Under([&] { return fmt::format("instructions[{}]", members_.size() - 1); },
                    [&] { ReadInstruction(cursor.Message()); });
        break;
      case computation_field::kName:
        to.name = wire::Under([] { return "name"; }, [&] { return cursor.String(); });
        break;
      case computation_field::kId:
        to.id = wire::Under([] { return "id"; }, [&] { return cursor.Int(); });
        break;
      case computation_field::kRootId:
        root_id = wire::Under([] { return "root_id"; }, [&] { return cursor.Int(); });
        break;
      case computation_field::kIsFusionComputation:
        break;  // follows from the callers
      case computation_field::kExecutionThread:
        to.execution_thread =
            wire::Under([] { return "execution_thread"; }, [&] { return cursor.String(); });
        break;
      default:
        attributes.push_back(ToAttribute(cursor));
    }
  }
  to.attributes = module_->arena.Copy(attributes);
  to.instructions = module_->arena.Copy(members_);
  if (to.instructions.empty()) throw Damage("has no instructions");
  if (!by_id_.emplace(to.id, &to).second) {
    throw Damage(fmt::format("has the id {} of an earlier computation", to.id));
  }
  FinishInstructions(*module_, to);
  ResolveOperands(to);
  to.root = ids_.Find(root_id);
  if (to.root == nullptr) {
    throw Damage(
        fmt::format("the root's id {} is the id of no instruction in {}", root_id, to.name));
  }
}

void Reader::ReadInstruction(std::string_view message) {
  auto* instruction = module_->arena.New<Instruction>();
  current_ = instruction;
  members_.push_back(instruction);
  instructions_.Read(message, *instruction, links_.emplace_back());
  current_ = nullptr;
}

void Reader::ResolveOperands(Computation& to) {
  ids_.Build(to.instructions);
  for (size_t i = 0; i < to.instructions.size(); ++i) {
    Instruction& instruction = *to.instructions[i];
    current_ = &instruction;
    wire::Under([&] { return fmt::format("instructions[{}]", i); },
                [&] {
                  instruction.operands = Resolve(links_[i].operands, "operand_ids");
                  instruction.control_predecessors =
                      Resolve(links_[i].control_predecessors, "control_predecessor_ids");
                });
    if (!links_[i].called.empty()) calls_.push_back({&instruction, links_[i].called});
  }
  current_ = nullptr;
}

void Reader::ResolveCalls() {
  for (const Call& call : calls_) {
    Instruction& instruction = *call.caller;
    instruction.called = module_->arena.NewArray<Computation*>(wire::CountInts(call.callees));
    const char* at = call.callees.data();
    const char* end = at + call.callees.size();
    for (size_t i = 0; i < instruction.called.size(); ++i) {
      auto id = static_cast<int64_t>(wire::Varint(at, end));
      auto found = by_id_.find(id);
      if (found != by_id_.end()) {
        instruction.called[i] = found->second;
        found->second->is_fusion |= instruction.opcode == Opcode::kFusion;
        continue;
      }
      current_ = &instruction;
      Damage damage(fmt::format("{} is the id of no computation", id));
      damage.Prepend(fmt::format("computations[{}].instructions[{}].called_computation_ids[{}]",
                                 instruction.parent->index, instruction.index, i));
      throw damage;
    }
  }
}

std::span<Instruction*> Reader::Resolve(std::string_view ids, std::string_view field) {
  std::span<Instruction*> found = module_->arena.NewArray<Instruction*>(wire::CountInts(ids));
  const char* at = ids.data();
  const char* end = at + ids.size();
  for (Instruction*& instruction : found) {
    auto id = static_cast<int64_t>(wire::Varint(at, end));
    instruction = ids_.Find(id);
    if (instruction == nullptr) {
      Damage damage(fmt::format("{} is the id of no instruction in the computation", id));
      damage.Prepend(fmt::format("{}[{}]", field, &instruction - found.data()));
      throw damage;
    }
  }
  return found;
}

void Reader::ReadSchedule() {
  size_t index = 0;
  for (std::string_view schedule : schedules_) {
    for (Cursor cursor(schedule); cursor.Next();) {
      if (cursor.field() != schedule_field::kSequences) continue;
      wire::Under([&] { return fmt::format("sequences[{}]", index); },
                  [&] { ReadSequence(cursor.Message(), index); });
      ++index;
    }
  }
}

void Reader::ReadSequence(std::string_view message, size_t index) {
  int64_t key = 0;
  Sequence sequence{index};
  for (Cursor entry(message); entry.Next();) {
    if (entry.field() == schedule_field::kKey) key = entry.Int();
    if (entry.field() != schedule_field::kValue) continue;
    for (Cursor value(entry.Message()); value.Next();) {
      if (value.field() == schedule_field::kInstructionIds) sequence.ids.AppendInts(value);
    }
  }
  sequences_.insert_or_assign(key, std::move(sequence));
}

// Takes the sequence of a computation whose ids are in ids_.
void Reader::ResolveSchedule(Computation& computation) {
  auto found = sequences_.find(computation.id);
  if (found == sequences_.end()) return;
  const Sequence& sequence = found->second;
  wire::Under([&] { return fmt::format("schedule.sequences[{}]", sequence.index); },
              [&] {
                computation.schedule =
                    Resolve(sequence.ids.Take(module_->arena), "value.instruction_ids");
                CheckSequence(computation);
              });
  sequences_.erase(found);
}

void Reader::CheckSequence(const Computation& computation) {
  seen_.assign(computation.instructions.size(), false);
  for (const Instruction* instruction : computation.schedule) {
    if (seen_[instruction->index]) {
      throw Damage(fmt::format("{} of {} is in it twice", instruction->name, computation.name));
    }
    seen_[instruction->index] = true;
  }
  if (computation.schedule.size() != computation.instructions.size()) {
    throw Damage(fmt::format("it has {} of the {} instructions of {}", computation.schedule.size(),
                             computation.instructions.size(), computation.name));
  }
}

// No sequence may be left over.
void Reader::CheckSchedule() {
  if (sequences_.empty()) return;
  const auto& [key, sequence] = *sequences_.begin();
  Damage damage(fmt::format("its key {} is the id of no computation", key));
  damage.Prepend(fmt::format("schedule.sequences[{}]", sequence.index));
  throw damage;
}

}  // namespace

Result<std::unique_ptr<Module>> ReadProto(std::shared_ptr<const Source> source) {
  return Reader(std::move(source)).Run();
}

Result<std::unique_ptr<Module>> ReadVerifiedProto(std::string bytes, std::string name) {
  EF_TRY(std::unique_ptr<Module> module,
         ReadProto(Source::FromBytes(std::move(name), std::move(bytes))));
  EF_CHECK_OK(Verify(*module));
  return module;
}

}  // namespace eightfold::hlo
