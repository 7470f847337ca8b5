#ifndef EIGHTFOLD_TARGET_TEXT_FORMAT_H_
#define EIGHTFOLD_TARGET_TEXT_FORMAT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source.h"

namespace eightfold::target {

// One `name: value` or `name { … }` of a protobuf text format file, without a schema. Views point
// into the source.
struct TextField {
  enum class Kind { kNumber, kIdentifier, kString, kMessage, kList };

  std::string_view name;
  std::string_view text;   // the whole field as written, name included
  std::string_view value;  // a number or identifier, sign included; strings are in `string`
  Kind kind = Kind::kMessage;
  std::string string;             // a string's bytes, escapes resolved, adjacent parts joined
  std::vector<TextField> fields;  // of a message
};

// The fields of the outermost message in `source`. Errors carry line and column.
Result<std::vector<TextField>> ParseTextFormat(const Source& source);

// The error `what` at the place of `at`, which points into `source`.
tl::unexpected<Error> FailAt(const Source& source, std::string_view at, std::string what,
                             std::string next = {});

// `text` with quotes, backslashes and unprintable bytes escaped for a text-format string.
std::string EscapeText(std::string_view text);

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_TEXT_FORMAT_H_
