#ifndef EIGHTFOLD_HLO_INFER_SHAPE_H_
#define EIGHTFOLD_HLO_INFER_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "hlo/module.h"

namespace eightfold::hlo {

// The result shape of `instruction`, from its operands, attributes and called computations (their
// roots must have shapes already). Layouts are those that XLA's text parser gives to an instruction
// whose shape is left out: mostly the first operand's, the default one for operations that move
// data. Errors say what does not fit together, or that the shape of such an operation cannot be
// known (convert, reshape, broadcast, constant, custom-call …); they carry no location.
Result<const Shape*> InferShape(Module& module, const Instruction& instruction);

// A shape that belongs to no module yet: what the verifier compares without interning anything.
struct InferredShape {
  const Shape* whole = nullptr;  // exactly this shape; nothing below counts
  PrimitiveType type = PrimitiveType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<bool> dynamic;            // as in Shape: empty or one per dimension
  const Shape* layout_from = nullptr;   // a shape of the same rank whose layout this takes, or …
  std::vector<int64_t> minor_to_major;  // … this one, or, when empty, the default layout
  std::vector<InferredShape> elements;  // of a tuple
};

// Whether the shape of `instruction` follows from its operands and attributes at all.
bool IsInferable(Opcode opcode);
// As InferShape, without a module. Checks the operand count and that nothing is null first.
Result<InferredShape> Infer(const Instruction& instruction);
std::string ToString(const InferredShape& shape);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_INFER_SHAPE_H_
