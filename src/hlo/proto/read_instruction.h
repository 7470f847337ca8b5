#ifndef EIGHTFOLD_HLO_PROTO_READ_INSTRUCTION_H_
#define EIGHTFOLD_HLO_PROTO_READ_INSTRUCTION_H_

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/shape_codec.h"
#include "hlo/wire.h"

namespace eightfold::hlo {

// The ids that an instruction names, as packed lists, to be looked up once all instructions of the
// computation and all computations are known.
struct InstructionLinks {
  std::string_view operands;
  std::string_view control_predecessors;
  std::string_view called;
};

// A message or packed list that may come in pieces; usually it is one, and not copied.
class Joined {
 public:
  void Clear();
  void Append(std::string_view piece);
  // The values of a list field, packed or not.
  void AppendInts(const wire::Cursor& cursor);
  bool IsEmpty() const { return view_.empty() && owned_.empty(); }
  // Stays valid as long as the arena.
  std::string_view Take(Arena& arena) const;

 private:
  std::string_view view_;  // the only piece
  std::string owned_;      // all pieces, when there are several
};

// The field that `cursor` is at, as the IR keeps it.
Attribute ToAttribute(const wire::Cursor& cursor);

// Decodes HloInstructionProto. Throws wire::Damage.
class InstructionReader {
 public:
  explicit InstructionReader(Module& module) : module_(module), shapes_(module.shapes) {}

  // Fills everything but what `links` stand for. `to.name` is set as soon as it is read.
  void Read(std::string_view message, Instruction& to, InstructionLinks& links);

 private:
  void ReadField(const wire::Cursor& cursor, Instruction& to);
  void ReadAttribute(const wire::Cursor& cursor);
  void TidyAttributes();
  Attribute MergeRun(std::span<const Attribute> run, bool as_ints);
  Opcode ReadOpcode(std::string_view name);

  Module& module_;
  ShapeDecoder shapes_;
  Joined shape_, metadata_, called_, operands_, control_predecessors_;  // as read so far
  std::vector<Attribute> attributes_;  // of the instruction being read
  bool tidy_ = true;                   // attributes_ are grouped, in order and of the usual form
  // A direct-mapped cache before FindOpcode: its key is a few bytes of the spelling.
  struct KnownOpcode {
    std::string_view name;
    Opcode opcode{};
  };
  std::array<KnownOpcode, 512> opcodes_{};
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_READ_INSTRUCTION_H_
