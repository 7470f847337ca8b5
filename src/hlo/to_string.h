#ifndef EIGHTFOLD_HLO_TO_STRING_H_
#define EIGHTFOLD_HLO_TO_STRING_H_

#include <cstdint>
#include <string>

#include "hlo/shape.h"

namespace eightfold::hlo {

// ToString of shape.h, onto the end of `out`.
void AppendShape(std::string& out, const Shape& shape, bool with_layout);
// Decimal.
void AppendInt(std::string& out, int64_t value);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_TO_STRING_H_
