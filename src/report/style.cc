#include "report/style.h"

#include <fmt/format.h>

#include <algorithm>

namespace eightfold::report {

Tint TintOf(std::string_view type_class) {
  if (type_class == "fp8") return Tint::kGreen;
  if (type_class == "bf16" || type_class == "f16") return Tint::kBlue;
  if (type_class == "f32" || type_class == "f64") return Tint::kRed;
  return Tint::kNone;
}

std::string Paint(std::string_view text, Tint tint, bool color) {
  constexpr int kCodes[] = {0, 32, 34, 31, 33, 2, 1};
  if (!color || tint == Tint::kNone) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<int>(tint)], text);
}

size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Wrap(std::string_view text, size_t indent, size_t width) {
  std::string out;
  std::string line(indent, ' ');
  bool empty = true;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!empty && Columns(line) + 1 + Columns(word) > width) {
      out += line + "\n";
      line.assign(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + "\n";
}

}  // namespace eightfold::report
