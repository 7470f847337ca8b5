#ifndef EIGHTFOLD_DIAGNOSE_LOST_ROUNDING_H_
#define EIGHTFOLD_DIAGNOSE_LOST_ROUNDING_H_

#include <optional>

#include "diagnose/diagnose.h"

namespace eightfold::diagnose {

// EF601, a note: conversions to a narrow float that the program has and the compiled module has
// not, though what they were for is still computed. XLA removes a wide → narrow → wide pair
// (simplify-fp-conversions), so the rounding that was asked for never happens. Nothing without a
// module before.
std::optional<Finding> FindLostRounding(const census::Census& census);

}  // namespace eightfold::diagnose

#endif  // EIGHTFOLD_DIAGNOSE_LOST_ROUNDING_H_
