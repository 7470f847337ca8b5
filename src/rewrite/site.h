#ifndef EIGHTFOLD_REWRITE_SITE_H_
#define EIGHTFOLD_REWRITE_SITE_H_

#include <optional>
#include <string>

#include "rewrite/editor.h"

namespace eightfold::rewrite {

// An operand of a convolution that is FP8: bare, converted, or converted and scaled.
struct Fp8Operand {
  Instruction* value = nullptr;  // the FP8 value
  Instruction* wide = nullptr;   // its conversion; null when bare
  Instruction* scale = nullptr;  // the scalar; null when not scaled
  bool divides = false;          // by the scale
};
std::optional<Fp8Operand> MatchFp8Operand(Instruction& operand);

// An FP8 convolution that a graph call can replace.
struct Site {
  Instruction* result = nullptr;  // the tensor: the convolution, or element 0 of the legacy call
  Instruction* conv = nullptr;    // the `convolution` or the legacy call
  Fp8Operand input, filter;
};

// What was found where a convolution is.
struct Finding {
  std::optional<Site> site;
  // Without a site, for a convolution on FP8 values: which condition failed, and where.
  const Instruction* conv = nullptr;
  const Instruction* at = nullptr;
  std::string condition;
};

// Looks at `i`: a site when it is the result of a forward convolution on two FP8 operands that
// nothing else keeps from being replaced. Everything but convolutions gives an empty finding.
Finding FindSite(const Editor& editor, Instruction& i);
// What a call would do to a convolution that asks for another type: it multiplies FP8 values as
// they are and adds in f32.
enum class TypeConflict {
  kNone,
  kInexact,  // f64. XLA makes a call of it; hidden, it runs as it is
  kInteger,  // XLA makes a call of it, where fractions count; hidden, it would not even compile
  kNoCall,   // neither XLA nor anyone makes a call of it
};
struct TypeFinding {
  TypeConflict conflict = TypeConflict::kNone;
  const Instruction* at = nullptr;
  std::string condition;
};
// The worst that the types of operands and result lead to.
TypeFinding CheckTypes(const Site& site);
// Whether `i` is what FindSite looks at: for finding out cheaply that there is nothing to do.
bool IsConvolution(const Instruction& i);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_SITE_H_
