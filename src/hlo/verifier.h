#ifndef EIGHTFOLD_HLO_VERIFIER_H_
#define EIGHTFOLD_HLO_VERIFIER_H_

#include "base/result.h"
#include "hlo/module.h"

namespace eightfold::hlo {

// Checks what the readers cannot see while reading and the rest of Eightfold relies on: exactly one
// entry and root, unique names and ids, operand counts, called computations that exist and do not
// recurse, no cycles among instructions, and the shapes of the operations that the census reads.
// The first violation is returned, placed in the source text where the module has one.
Result<void> Verify(const Module& module);

// The part of it about one instruction: its shape, and the computations that it calls. Operands and
// called computations must be there and sound.
Result<void> VerifyInstruction(const Module& module, const Instruction& instruction);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_VERIFIER_H_
