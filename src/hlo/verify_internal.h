#ifndef EIGHTFOLD_HLO_VERIFY_INTERNAL_H_
#define EIGHTFOLD_HLO_VERIFY_INTERNAL_H_

#include <array>
#include <cstdint>
#include <memory>
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
class StructureCheck {
 public:
  explicit StructureCheck(Verdict& verdict);
  ~StructureCheck();
  // The computations as such: before anything else.
  bool CheckModule();
  // `callees_first` is whether all that `computation` calls stands before it in the module.
  bool CheckComputation(const Computation& computation, bool* callees_first);
  // Whether calls lead back to their start. Needed when some `callees_first` was false.
  bool CheckCallCycles();

 private:
  struct Sets;
  Verdict& verdict_;
  std::unique_ptr<Sets> sets_;
};
// verify_shapes.cc: every shape by itself, and the shape of each result. What the computation calls
// must have been through StructureCheck too.
class ShapeCheck {
 public:
  explicit ShapeCheck(Verdict& verdict) : verdict_(verdict) {}
  bool CheckComputation(const Computation& computation);
  bool CheckInstruction(const Instruction& instruction);

 private:
  // Whether `shape` was found to be well-formed lately. A module has few distinct shapes, so most
  // lookups hit; a miss only checks once more.
  bool IsKnown(const Shape* shape) {
    const Shape*& slot = known_[(reinterpret_cast<uintptr_t>(shape) >> 4) % known_.size()];
    if (slot == shape) return true;
    slot = shape;
    return false;
  }

  Verdict& verdict_;
  std::array<const Shape*, 4096> known_{};
};
// verify_calls.cc: parameters and results of the computations that `caller` calls.
bool CheckCalled(Verdict& verdict, const Instruction& caller);
// verify_literal.cc: the literal of a constant against its shape.
bool CheckLiteral(Verdict& verdict, const Instruction& constant);
// verify_module.cc: schedules; the entry layout and aliasing.
bool CheckSchedule(Verdict& verdict, const Computation& computation);
bool CheckModuleFields(Verdict& verdict);

// Whether a value of one shape may stand where the other is expected: equal but for layouts, and a
// dynamic dimension fits every size.
bool Compatible(const Shape& a, const Shape& b);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_VERIFY_INTERNAL_H_
