#ifndef EIGHTFOLD_REPORT_STYLE_H_
#define EIGHTFOLD_REPORT_STYLE_H_

#include <string>
#include <string_view>

namespace eightfold::report {

// The colour of a type class (TypeClass in report.h), the same in every format: FP8 is what one
// wants, f32 is what one pays for.
enum class Tint : uint8_t { kNone, kGreen, kBlue, kRed, kYellow, kDim, kBold };
Tint TintOf(std::string_view type_class);

// `text` in the colour, for a terminal; unchanged when `color` is false.
std::string Paint(std::string_view text, Tint tint, bool color);

// Columns that `text` takes on a terminal: code points, which is right for what reports print.
size_t Columns(std::string_view text);

// `text` broken at spaces into lines of at most `width` columns, each indented by `indent` spaces.
std::string Wrap(std::string_view text, size_t indent, size_t width);

}  // namespace eightfold::report

#endif  // EIGHTFOLD_REPORT_STYLE_H_
