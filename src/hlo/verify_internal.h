#ifndef EIGHTFOLD_HLO_VERIFY_INTERNAL_H_
#define EIGHTFOLD_HLO_VERIFY_INTERNAL_H_

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "hlo/module.h"

// What the files of the verifier share. Every check returns false after the first violation, which
// the Verdict keeps: hot loops pass a bool, not an Error.
namespace eightfold::hlo {

class Verdict {
 public:
  explicit Verdict(const Module& module) : module_(module) {}

  const Module& module() const { return module_; }
  // Always false, so that a check can return it. `where` is found in the source text where the
  // module has one, and named by its place in the proto otherwise.
  bool Fail(const Instruction& where, const std::string& what, std::string next = {});
  bool Fail(const Computation& where, const std::string& what, std::string next = {});
  bool Fail(std::string what, std::string next = {});
  Error TakeError() { return *std::move(error_); }

 private:
  const Module& module_;
  std::optional<Error> error_;
};

// verify_structure.cc: entry, roots, names, ids, operands, calls, cycles, parameter numbers. The
// other checks rely on it: afterwards no pointer is null and every index is right.
bool CheckStructure(Verdict& verdict);
// verify_shapes.cc: every shape by itself, and the shape of each result.
bool CheckShapes(Verdict& verdict);
// verify_calls.cc: parameters and results of the computations that `caller` calls.
bool CheckCalled(Verdict& verdict, const Instruction& caller);
// verify_literal.cc: the literal of a constant against its shape.
bool CheckLiteral(Verdict& verdict, const Instruction& constant);
// verify_module.cc: schedules, the entry layout, aliasing.
bool CheckModule(Verdict& verdict);

// Whether a value of one shape may stand where the other is expected: equal but for layouts, and a
// dynamic dimension fits every size.
bool Compatible(const Shape& a, const Shape& b);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_VERIFY_INTERNAL_H_
