#ifndef EIGHTFOLD_BASE_RESULT_H_
#define EIGHTFOLD_BASE_RESULT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace eightfold {

// The process exit codes of the command-line tool; an error carries the one it leads to.
enum class ExitCode { kClean = 0, kFindings = 1, kInput = 2, kCompiler = 3 };

// Where in an input an error is. For text: line and column (1-based, column in bytes) and the line
// itself, so that the message can show it with a caret. For protos: the path of fields, e.g.
// "computations[3].instructions[12].shape".
struct Location {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 1;  // how many bytes the caret underlines
  std::string line_text;
  std::string field_path;
};

// What went wrong, where, and what to do next. Printed by Format(), in one place for all rooms.
struct Error {
  std::string what;
  Location where = {};
  std::string next = {};  // advice, possibly several lines
  ExitCode exit_code = ExitCode::kInput;

  // "error: FILE:LINE:COL: WHAT", the line with a caret, the advice indented below. No final
  // newline.
  std::string Format() const;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> Fail(std::string what, std::string next = {}) {
  return tl::unexpected<Error>(Error{.what = std::move(what), .next = std::move(next)});
}
inline tl::unexpected<Error> FailCompiler(std::string what, std::string next = {}) {
  return tl::unexpected<Error>(
      Error{.what = std::move(what), .next = std::move(next), .exit_code = ExitCode::kCompiler});
}

// Builds the location of `offset` (into `text`) with line, column and line text filled in.
Location LocateInText(std::string_view file, std::string_view text, size_t offset,
                      size_t length = 1);

// The candidate closest to `word` by edit distance, or "" when nothing is near enough to be meant.
std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// EF_TRY(name, expr): `auto name = *expr`, or returns expr's error from the enclosing function.
#define EF_CONCAT_INNER(a, b) a##b
#define EF_CONCAT(a, b) EF_CONCAT_INNER(a, b)
#define EF_TRY(declaration, expr) EF_TRY_IMPL(declaration, expr, EF_CONCAT(ef_result_, __LINE__))
#define EF_TRY_IMPL(declaration, expr, tmp)                  \
  auto tmp = (expr);                                         \
  if (!tmp) return ::tl::unexpected(std::move(tmp).error()); \
  declaration = *std::move(tmp)
// EF_CHECK_OK(expr): for Result<void>.
#define EF_CHECK_OK(expr)                                    \
  do {                                                       \
    if (auto ef_status = (expr); !ef_status)                 \
      return ::tl::unexpected(std::move(ef_status).error()); \
  } while (0)

}  // namespace eightfold

#endif  // EIGHTFOLD_BASE_RESULT_H_
