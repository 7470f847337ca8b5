#ifndef EIGHTFOLD_HLO_PROTO_NUMBER_H_
#define EIGHTFOLD_HLO_PROTO_NUMBER_H_

#include <cstdint>
#include <vector>

#include "hlo/proto/proto.h"

namespace eightfold::hlo {

// What a written module numbers its parts with, and the order that it writes them in.
struct Numbering {
  std::vector<const Computation*> computations;  // callees first
  std::vector<int64_t> computation_ids;          // by Computation::index
  std::vector<size_t> first;                     // by Computation::index, into instruction_ids
  std::vector<int64_t> instruction_ids;

  int64_t Of(const Computation& computation) const { return computation_ids[computation.index]; }
  int64_t Of(const Instruction& instruction) const {
    return instruction_ids[first[instruction.parent->index] + instruction.index];
  }
};
// Fails for call cycles, for ids that kKeep would repeat and for more than 2^31 instructions.
Result<Numbering> Number(const Module& module, IdScheme scheme);

// The instructions with operands and control predecessors first. Fails for cycles and for operands
// in other computations.
Result<std::vector<const Instruction*>> WritingOrder(const Computation& computation);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_NUMBER_H_
