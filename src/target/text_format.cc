#include "target/text_format.h"

#include <fmt/format.h>

#include <algorithm>

namespace eightfold::target {
namespace {

// Deeper than any real target config; keeps a hostile file from building a deep tree.
constexpr size_t kMaxDepth = 64;

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }
int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source), text_(source.bytes()) {}

  Result<std::vector<TextField>> Read();

 private:
  // A message that is still open: where its fields go, what closes it, and where it began.
  struct Open {
    TextField field;
    size_t begin;
    char close;
  };

  void SkipSpace();
  bool At(char c) const { return pos_ < text_.size() && text_[pos_] == c; }
  std::string_view Here() const { return text_.substr(std::min(pos_, text_.size()), 1); }
  tl::unexpected<Error> FailHere(std::string what) const {
    return FailAt(source_, Here(), std::move(what));
  }
  Result<std::string_view> ReadName();
  Result<void> ReadScalar(TextField& field);
  Result<void> ReadString(TextField& field);
  Result<void> ReadEscape(std::string& out);
  Result<void> ReadList(TextField& field);
  Result<void> ReadField();
  Result<void> CloseMessage();
  void Finish(TextField field, size_t begin);

  const Source& source_;
  std::string_view text_;
  size_t pos_ = 0;
  std::vector<TextField> top_;
  std::vector<Open> open_;
};

void Reader::SkipSpace() {
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (c == '#') {
      size_t end = text_.find('\n', pos_);
      pos_ = end == std::string_view::npos ? text_.size() : end;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
      ++pos_;
    } else {
      return;
    }
  }
}

Result<std::string_view> Reader::ReadName() {
  size_t begin = pos_;
  if (At('[')) {  // an extension, or the type of an Any
    size_t end = text_.find_first_of("]\n", pos_);
    if (end == std::string_view::npos || text_[end] != ']') return FailHere("unclosed '['");
    pos_ = end + 1;
  } else if (pos_ < text_.size() && IsWordStart(text_[pos_])) {
    while (pos_ < text_.size() && (IsWordStart(text_[pos_]) || IsDigit(text_[pos_]))) ++pos_;
  } else {
    return FailHere(pos_ < text_.size() ? "expected a field name"
                                        : "the file ends inside a message");
  }
  return text_.substr(begin, pos_ - begin);
}

Result<void> Reader::ReadEscape(std::string& out) {
  static constexpr std::string_view kNames = "abfnrtv\\'\"?";
  static constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"?";
  if (pos_ >= text_.size()) return FailHere("the string does not end");
  char c = text_[pos_];
  if (size_t at = kNames.find(c); at != std::string_view::npos) {
    ++pos_;
    out += kValues[at];
    return {};
  }
  const bool hex = c == 'x' || c == 'X';
  if (hex) ++pos_;
  const size_t first = pos_;
  unsigned value = 0;
  const size_t most = hex ? 2 : 3;
  while (pos_ < text_.size() && pos_ - first < most &&
         (hex ? HexValue(text_[pos_]) >= 0 : IsOctal(text_[pos_]))) {
    value = value * (hex ? 16 : 8) + static_cast<unsigned>(HexValue(text_[pos_++]));
  }
  if (pos_ == first) return FailHere("unknown escape in a string");
  out += static_cast<char>(value);
  return {};
}

Result<void> Reader::ReadString(TextField& field) {
  field.kind = TextField::Kind::kString;
  while (At('"') || At('\'')) {
    const size_t begin = pos_;
    const char quote = text_[pos_++];
    while (!At(quote)) {
      if (pos_ >= text_.size() || text_[pos_] == '\n') {
        return FailAt(source_, text_.substr(begin, 1), "the string that starts here does not end");
      }
      if (text_[pos_] == '\\') {
        ++pos_;
        EF_CHECK_OK(ReadEscape(field.string));
      } else {
        field.string += text_[pos_++];
      }
    }
    ++pos_;
    const size_t end = pos_;
    SkipSpace();
    if (!At('"') && !At('\'')) pos_ = end;
  }
  return {};
}

Result<void> Reader::ReadScalar(TextField& field) {
  if (At('"') || At('\'')) return ReadString(field);
  const size_t begin = pos_;
  if (At('-')) {
    ++pos_;
    SkipSpace();
  }
  const bool number = pos_ < text_.size() && (IsDigit(text_[pos_]) || text_[pos_] == '.');
  const size_t word = pos_;
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    const bool exponent_sign = number && (c == '+' || c == '-') && pos_ > word &&
                               (text_[pos_ - 1] == 'e' || text_[pos_ - 1] == 'E');
    if (!IsWordStart(c) && !IsDigit(c) && c != '.' && !exponent_sign) break;
    ++pos_;
  }
  if (pos_ == word) return FailHere("expected a value");
  field.kind = number ? TextField::Kind::kNumber : TextField::Kind::kIdentifier;
  field.value = text_.substr(begin, pos_ - begin);
  return {};
}

// Lists occur only in fields that we do not know, which are kept as text: it is enough to find the
// end, minding strings and comments.
Result<void> Reader::ReadList(TextField& field) {
  field.kind = TextField::Kind::kList;
  const size_t begin = pos_;
  size_t depth = 0;
  do {
    SkipSpace();
    if (pos_ >= text_.size()) {
      return FailAt(source_, text_.substr(begin, 1), "the list that starts here does not end");
    }
    if (At('"') || At('\'')) {
      TextField ignored;
      EF_CHECK_OK(ReadString(ignored));
      continue;
    }
    if (At('[')) ++depth;
    if (At(']')) --depth;
    ++pos_;
  } while (depth > 0);
  return {};
}

void Reader::Finish(TextField field, size_t begin) {
  field.text = text_.substr(begin, pos_ - begin);
  (open_.empty() ? top_ : open_.back().field.fields).push_back(std::move(field));
  SkipSpace();
  if (At(',') || At(';')) ++pos_;
}

Result<void> Reader::ReadField() {
  const size_t begin = pos_;
  TextField field;
  EF_TRY(field.name, ReadName());
  SkipSpace();
  const bool colon = At(':');
  if (colon) ++pos_;
  SkipSpace();
  if (At('{') || At('<')) {
    if (open_.size() == kMaxDepth) return FailHere("messages are nested too deeply");
    open_.push_back({std::move(field), begin, At('{') ? '}' : '>'});
    ++pos_;
    return {};
  }
  if (At('[')) {
    EF_CHECK_OK(ReadList(field));
  } else {
    if (!colon) return FailHere(fmt::format("expected ':' or '{{' after {}", field.name));
    EF_CHECK_OK(ReadScalar(field));
  }
  Finish(std::move(field), begin);
  return {};
}

Result<void> Reader::CloseMessage() {
  if (!At(open_.back().close)) {
    return FailHere(fmt::format("expected '{}'", open_.back().close));
  }
  ++pos_;
  Open closed = std::move(open_.back());
  open_.pop_back();
  Finish(std::move(closed.field), closed.begin);
  return {};
}

Result<std::vector<TextField>> Reader::Read() {
  for (;;) {
    SkipSpace();
    if (pos_ >= text_.size() && open_.empty()) return std::move(top_);
    if (!open_.empty() && (At('}') || At('>'))) {
      EF_CHECK_OK(CloseMessage());
    } else {
      EF_CHECK_OK(ReadField());
    }
  }
}

}  // namespace

Result<std::vector<TextField>> ParseTextFormat(const Source& source) {
  return Reader(source).Read();
}

tl::unexpected<Error> FailAt(const Source& source, std::string_view at, std::string what,
                             std::string next) {
  const size_t offset =
      at.data() == nullptr ? source.bytes().size() : at.data() - source.bytes().data();
  return Fail(Error{.what = std::move(what),
                    .where = LocateInText(source.name(), source.bytes(), offset, at.size()),
                    .next = std::move(next)});
}

std::string EscapeText(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 32 || byte > 126) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace eightfold::target
