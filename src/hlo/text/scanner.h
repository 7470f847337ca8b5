#ifndef EIGHTFOLD_HLO_TEXT_SCANNER_H_
#define EIGHTFOLD_HLO_TEXT_SCANNER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/source.h"

namespace eightfold::hlo::text {

enum CharClass : uint8_t {
  kNameChar = 1,
  kNameStart = 2,
  kSpaceChar = 4,
  kDigit = 8,
  kSkipStart = 16,  // white space, or what a comment starts with
};

constexpr std::array<uint8_t, 256> MakeCharClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kNameChar | kNameStart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kNameChar | kNameStart;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameChar | kDigit;
  classes['_'] = kNameChar | kNameStart;
  classes['.'] = classes['-'] = kNameChar;
  classes[' '] = classes['\t'] = classes['\r'] = classes['\n'] = kSpaceChar | kSkipStart;
  classes['/'] = kSkipStart;
  return classes;
}
inline constexpr std::array<uint8_t, 256> kCharClasses = MakeCharClasses();

inline bool Is(char c, CharClass which) {
  return (kCharClasses[static_cast<unsigned char>(c)] & which) != 0;
}

// A cursor over HLO text. Everything that reads returns false after an error; the first error is
// kept and later ones are dropped, so that callers only pass `false` on.
class Scanner {
 public:
  Scanner(const Source& source, Arena& arena)
      : source_(source),
        arena_(arena),
        at_(source.bytes().data()),
        begin_(at_),
        end_(at_ + source.bytes().size()) {}

  // `length` bytes from `from` are underlined. Always false.
  [[gnu::cold, gnu::noinline]] bool Fail(const char* from, size_t length, std::string what,
                                         std::string next = {});
  bool Fail(std::string_view where, std::string what, std::string next = {}) {
    return Fail(where.data(), where.size(), std::move(what), std::move(next));
  }
  // "expected WHAT", at the next token.
  [[gnu::cold, gnu::noinline]] bool Expected(std::string_view what);
  bool failed() const { return error_.has_value(); }
  Error TakeError() { return *std::move(error_); }

  // Whitespace and comments.
  void SkipSpace() {
    if (at_ < end_ && !Is(*at_, kSpaceChar) && *at_ != '/') [[likely]]
      return;
    SkipSpaceSlowly();
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == end_;
  }
  // The next character as it stands, 0 at the end; and the same after white space.
  char Here() const { return at_ < end_ ? *at_ : '\0'; }
  char Peek() {
    SkipSpace();
    return Here();
  }
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  void MoveTo(const char* where) { at_ = where; }

  bool Accept(char c) {
    if (Peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool Expect(char c) { return Accept(c) || ExpectedChar(c); }
  // Accepts `word` when the next token starts with it, whatever follows.
  bool AcceptText(std::string_view word);
  // Accepts the identifier `word` as a whole.
  bool AcceptWord(std::string_view word);

  // Letters, digits, `_ . -`, starting with a letter or `_`; empty when there is none here.
  std::string_view Word() {
    SkipSpace();
    return WordHere();
  }
  std::string_view WordHere() {
    const char* start = at_;
    if (at_ == end_ || !Is(*at_, kNameStart)) return {};
    do {
      ++at_;
    } while (at_ < end_ && Is(*at_, kNameChar));
    return {start, static_cast<size_t>(at_ - start)};
  }
  // A name, with or without `%`; empty when there is none.
  std::string_view Name() {
    if (Peek() != '%') return WordHere();
    const char* start = ++at_;
    while (at_ < end_ && Is(*at_, kNameChar)) ++at_;
    return {start, static_cast<size_t>(at_ - start)};
  }
  bool ReadWord(std::string_view* word, std::string_view what) {
    *word = Word();
    return !word->empty() || Expected(what);
  }

  bool ReadInt(int64_t* value);
  bool ReadInt32(int32_t* value);
  bool ReadBool(bool* value);
  // Any number, also nan and inf (without payload).
  bool ReadDouble(double* value);
  // "…" or '…' with escapes decoded: a view into the source where there are none.
  bool ReadString(std::string_view* value);
  // `{…}` with balanced braces, strings respected; the view includes the braces.
  bool ReadBraced(std::string_view* value);
  // From here through the first `close` outside of quotes; empty when there is none or a comment
  // comes first. Consumes nothing.
  std::string_view QuotedSpan(char close) const;
  // Any of `{[(` up to its partner, strings and comments respected.
  bool SkipBrackets();
  // Up to white space, a comma, a quote or any bracket.
  void SkipPlain();
  // {1,2,3}; or with other brackets.
  bool ReadInts(std::vector<int64_t>* values) { return ReadInts('{', '}', values); }
  bool ReadInts(char open, char close, std::vector<int64_t>* values);
  // Calls `element` for each of the comma-separated elements between `open` and `close`.
  template <class Element>
  bool ReadList(char open, char close, Element element) {
    if (!Expect(open)) return false;
    if (Accept(close)) return true;
    do {
      if (!element()) return false;
    } while (Accept(','));
    return Expect(close);
  }

  Arena& arena() { return arena_; }

 private:
  void SkipSpaceSlowly();
  // The first of these characters from `from` on, or the end.
  const char* FindAnyOf(const char* from, char a, char b, char c, char d) const;
  [[gnu::cold, gnu::noinline]] bool ExpectedChar(char c);
  bool Unescape(const char* from, const char* to, std::string_view* value);
  bool UnescapeOne(const char** from, const char* to, std::string* out);

  const Source& source_;
  Arena& arena_;
  const char* at_;
  const char* begin_;
  const char* end_;
  std::optional<Error> error_;
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_SCANNER_H_
