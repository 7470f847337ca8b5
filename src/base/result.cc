#include "base/result.h"

#include <fmt/format.h>

#include <algorithm>

namespace eightfold {
namespace {

// A line is shown only in part when it is longer than this: HLO has lines of 200 kB.
constexpr size_t kShownColumns = 110;

std::string FormatPlace(const Location& where) {
  std::string place = where.file;
  if (where.line != 0) place += fmt::format(":{}:{}", where.line, where.column);
  if (!where.field_path.empty()) {
    if (!place.empty()) place += ": ";
    place += where.field_path;
  }
  return place;
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  }
  return out;
}

std::string FormatExcerpt(const Location& where) {
  size_t caret = where.column == 0 ? 0 : where.column - 1;
  caret = std::min(caret, where.line_text.size());
  size_t from = caret > kShownColumns / 2 && where.line_text.size() > kShownColumns
                    ? caret - kShownColumns / 2
                    : 0;
  std::string shown = Printable(std::string_view(where.line_text).substr(from, kShownColumns));
  size_t at = caret - from;
  size_t length = std::max<size_t>(
      1, std::min<size_t>(where.length, shown.size() > at ? shown.size() - at : 1));
  return fmt::format("\n  {:>4} | {}\n       | {}^{}", where.line, shown, std::string(at, ' '),
                     std::string(length - 1, '~'));
}

}  // namespace

std::string Error::Format() const {
  std::string place = FormatPlace(where);
  std::string out = "error: ";
  if (!place.empty()) out += place + ": ";
  out += what;
  if (where.line != 0) out += FormatExcerpt(where);
  if (!next.empty()) {
    out += "\n  ";
    for (char c : next) {
      out += c;
      if (c == '\n') out += "  ";
    }
  }
  return out;
}

Location LocateInText(std::string_view file, std::string_view text, size_t offset, size_t length) {
  offset = std::min(offset, text.size());
  size_t begin = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = text.find('\n', offset);
  if (end == std::string_view::npos) end = text.size();
  Location where;
  where.file = file;
  where.line = 1 + static_cast<uint32_t>(std::count(text.begin(), text.begin() + begin, '\n'));
  where.column = static_cast<uint32_t>(offset - begin + 1);
  where.length = static_cast<uint32_t>(std::max<size_t>(1, std::min(length, end - offset)));
  where.line_text = std::string(text.substr(begin, end - begin));
  return where;
}

std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  std::vector<size_t> row;
  for (std::string_view candidate : candidates) {
    row.resize(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t substitution = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({substitution, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace eightfold
