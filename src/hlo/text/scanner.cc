#include "hlo/text/scanner.h"

#include <fmt/format.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace eightfold::hlo::text {
namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 63)));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code >> 12) & 63)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 63)));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool Scanner::Fail(const char* from, size_t length, std::string what, std::string next) {
  if (error_) return false;
  Error& error = error_.emplace();
  error.what = std::move(what);
  error.next = std::move(next);
  error.where =
      LocateInText(source_.name(), source_.bytes(), static_cast<size_t>(from - begin_), length);
  return false;
}

bool Scanner::Expected(std::string_view what) {
  SkipSpace();
  if (at_ == end_) return Fail(at_, 1, fmt::format("expected {}, but the text ends here", what));
  const char* start = at_;
  std::string_view word = WordHere();
  if (word.empty()) word = {start, 1};
  at_ = start;
  bool printable = word[0] > 32 && word[0] < 127;
  if (!printable) {
    return Fail(word, fmt::format("expected {}, found byte 0x{:02x}", what,
                                  static_cast<unsigned char>(word[0])));
  }
  return Fail(word, fmt::format("expected {}, found `{}`", what, word.substr(0, 60)));
}

bool Scanner::ExpectedChar(char c) { return Expected(fmt::format("`{}`", c)); }

void Scanner::SkipSpaceSlowly() {
  while (at_ < end_) {
    while (Is(*at_, kSpaceChar)) {
      if (++at_ == end_) return;
    }
    if (*at_ != '/' || end_ - at_ < 2) return;
    if (at_[1] == '/') {
      const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
    } else if (at_[1] == '*') {
      size_t close = std::string_view(at_, static_cast<size_t>(end_ - at_)).find("*/", 2);
      if (close == std::string_view::npos) {
        Fail(at_, 2, "this comment has no end", "close it with */");
        at_ = end_;
        return;
      }
      at_ += close + 2;
    } else {
      return;
    }
  }
}

const char* Scanner::FindAnyOf(const char* from, char a, char b, char c, char d) const {
#if defined(__SSE2__)
  const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b);
  const __m128i cs = _mm_set1_epi8(c), ds = _mm_set1_epi8(d);
  for (; end_ - from >= 16; from += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, as), _mm_cmpeq_epi8(bytes, bs)),
                                _mm_or_si128(_mm_cmpeq_epi8(bytes, cs), _mm_cmpeq_epi8(bytes, ds)));
    auto mask = static_cast<unsigned>(_mm_movemask_epi8(hits));
    if (mask != 0) return from + std::countr_zero(mask);
  }
#endif
  while (from < end_ && *from != a && *from != b && *from != c && *from != d) ++from;
  return from;
}

bool Scanner::AcceptText(std::string_view word) {
  SkipSpace();
  if (static_cast<size_t>(end_ - at_) < word.size() ||
      std::memcmp(at_, word.data(), word.size()) != 0) {
    return false;
  }
  at_ += word.size();
  return true;
}

bool Scanner::AcceptWord(std::string_view word) {
  SkipSpace();
  const char* start = at_;
  if (WordHere() == word) return true;
  at_ = start;
  return false;
}

bool Scanner::ReadInt(int64_t* value) {
  SkipSpace();
  const char* start = at_;
  const char* p = at_;
  bool negative = p < end_ && *p == '-';
  p += negative;
  const char* digits = p;
  uint64_t magnitude = 0;
  bool fits = true;
  for (; p < end_ && Is(*p, kDigit); ++p) {
    auto digit = static_cast<uint64_t>(*p - '0');
    if (p - digits >= 18) {
      fits = fits && !__builtin_mul_overflow(magnitude, uint64_t{10}, &magnitude) &&
             !__builtin_add_overflow(magnitude, digit, &magnitude);
    } else {
      magnitude = magnitude * 10 + digit;
    }
  }
  if (p == digits) return Expected("an integer");
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (!fits || magnitude > kMost + (negative ? 1 : 0)) {
    return Fail(start, static_cast<size_t>(p - start), "this number does not fit 64 bits");
  }
  *value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  at_ = p;
  return true;
}

bool Scanner::ReadInt32(int32_t* value) {
  SkipSpace();
  const char* start = at_;
  int64_t wide = 0;
  if (!ReadInt(&wide)) return false;
  if (wide != static_cast<int32_t>(wide)) {
    return Fail(start, static_cast<size_t>(at_ - start), "this number does not fit 32 bits");
  }
  *value = static_cast<int32_t>(wide);
  return true;
}

bool Scanner::ReadBool(bool* value) {
  if (AcceptWord("true")) {
    *value = true;
    return true;
  }
  *value = false;
  return AcceptWord("false") || Expected("true or false");
}

bool Scanner::ReadDouble(double* value) {
  SkipSpace();
  const char* start = at_;
  bool negative = at_ < end_ && *at_ == '-';
  const char* digits = at_ + negative;
  bool plausible = digits < end_ && (Is(*digits, kDigit) || *digits == 'i' || *digits == 'n');
  auto [stop, problem] = plausible ? std::from_chars(digits, end_, *value)
                                   : std::from_chars_result{digits, std::errc::invalid_argument};
  if (problem == std::errc::invalid_argument) return Expected("a number");
  if (problem == std::errc::result_out_of_range) {
    // Too small is zero, too large an error; from_chars tells them apart only by the exponent.
    std::string text(digits, stop);
    *value = std::strtod(text.c_str(), nullptr);
    if (std::isinf(*value)) {
      return Fail(start, static_cast<size_t>(stop - start), "this number is too large");
    }
  }
  if (negative) *value = -*value;
  at_ = stop;
  return true;
}

bool Scanner::ReadString(std::string_view* value) {
  char quote = Peek();
  if (quote != '"' && quote != '\'') return Expected("a string in quotes");
  const char* start = at_ + 1;
  const char* from = start;
  bool escaped = false;
  while (true) {
    const auto* close =
        static_cast<const char*>(std::memchr(from, quote, static_cast<size_t>(end_ - from)));
    if (close == nullptr) return Fail(start - 1, 1, "this string has no end");
    const auto* slash =
        static_cast<const char*>(std::memchr(from, '\\', static_cast<size_t>(close - from)));
    if (slash == nullptr) {
      at_ = close + 1;
      if (escaped) return Unescape(start, close, value);
      *value = {start, static_cast<size_t>(close - start)};
      return true;
    }
    escaped = true;
    if (end_ - slash < 2) return Fail(start - 1, 1, "this string has no end");
    from = slash + 2;
  }
}

bool Scanner::Unescape(const char* from, const char* to, std::string_view* value) {
  std::string out;
  out.reserve(static_cast<size_t>(to - from));
  while (from < to) {
    const auto* slash =
        static_cast<const char*>(std::memchr(from, '\\', static_cast<size_t>(to - from)));
    if (slash == nullptr) slash = to;
    out.append(from, slash);
    from = slash;
    if (from < to && !UnescapeOne(&from, to, &out)) return false;
  }
  *value = arena_.Copy(std::string_view(out));
  return true;
}

bool Scanner::UnescapeOne(const char** from, const char* to, std::string* out) {
  const char* start = *from;
  const char* p = start + 1;
  auto bad = [&](std::string what) {
    return Fail(start, static_cast<size_t>(std::max(p, start + 2) - start), std::move(what));
  };
  constexpr std::string_view kLetters = "ntr\\\"'?abfv";
  constexpr std::string_view kMeant = "\n\t\r\\\"'?\a\b\f\v";
  uint32_t code = 0;
  if (size_t simple = kLetters.find(*p); simple != std::string_view::npos) {
    out->push_back(kMeant[simple]);
    ++p;
  } else if (*p >= '0' && *p <= '7') {
    for (int i = 0; i < 3 && p < to && *p >= '0' && *p <= '7'; ++i, ++p) {
      code = code * 8 + static_cast<uint32_t>(*p - '0');
    }
    if (code > 255) return bad("this octal escape is larger than a byte");
    out->push_back(static_cast<char>(code));
  } else if (*p == 'x' || *p == 'u' || *p == 'U') {
    ptrdiff_t digits = *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    const char* first = ++p;
    for (; p < to && HexDigit(*p) >= 0 && (digits == 0 || p - first < digits); ++p) {
      if (code >= 1u << 24) return bad("this escape is too large");
      code = code * 16 + static_cast<uint32_t>(HexDigit(*p));
    }
    if (p == first || (digits != 0 && p - first != digits)) {
      return bad("this escape has too few hexadecimal digits");
    }
    if (digits == 0 && code > 255) return bad("this hexadecimal escape is larger than a byte");
    if (digits != 0 && (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))) {
      return bad("this escape is not a Unicode character");
    }
    if (digits == 0) {
      out->push_back(static_cast<char>(code));
    } else {
      AppendUtf8(code, out);
    }
  } else {
    return bad("this escape is not known");
  }
  *from = p;
  return true;
}

bool Scanner::ReadBraced(std::string_view* value) {
  if (Peek() != '{') return Expected("`{`");
  const char* start = at_;
  size_t depth = 0;
  for (const char* p = at_; (p = FindAnyOf(p, '{', '}', '"', '"')) < end_; ++p) {
    if (*p == '{') {
      ++depth;
    } else if (*p == '}') {
      if (--depth != 0) continue;
      at_ = p + 1;
      *value = {start, static_cast<size_t>(at_ - start)};
      return true;
    } else {
      for (++p; (p = FindAnyOf(p, '"', '\\', '"', '"')) < end_ && *p == '\\'; p += 2) {
      }
      if (p >= end_) break;
    }
  }
  return Fail(start, 1, "this brace is never closed");
}

std::string_view Scanner::QuotedSpan(char close) const {
  for (const char* p = at_; (p = FindAnyOf(p, close, '"', '\'', '/')) < end_; ++p) {
    if (*p == close) return {at_, static_cast<size_t>(p + 1 - at_)};
    if (*p == '/') break;  // a comment, which may hold anything
    char quote = *p;
    for (++p; (p = FindAnyOf(p, quote, '\\', quote, quote)) < end_ && *p == '\\'; p += 2) {
    }
    if (p >= end_) break;
  }
  return {};
}

bool Scanner::SkipBrackets() {
  const char* start = at_;
  std::string open;
  do {
    SkipSpace();
    char c = Here();
    std::string_view ignored;
    if (at_ == end_) return Fail(start, 1, fmt::format("this `{}` is never closed", *start));
    if (c == '"' || c == '\'') {
      if (!ReadString(&ignored)) return false;
      continue;
    }
    ++at_;
    if (c == '{' || c == '[' || c == '(') {
      open.push_back(c == '(' ? ')' : static_cast<char>(c + 2));
    } else if (c == '}' || c == ']' || c == ')') {
      if (c != open.back()) {
        return Fail(at_ - 1, 1, fmt::format("expected `{}`, found `{}`", open.back(), c));
      }
      open.pop_back();
    }
  } while (!open.empty());
  return true;
}

void Scanner::SkipPlain() {
  constexpr std::string_view kStops = ",\"'{}[]()";
  while (at_<end_&& static_cast<unsigned char>(*at_)> ' ' &&
         kStops.find(*at_) == std::string_view::npos) {
    ++at_;
  }
}

bool Scanner::ReadInts(char open, char close, std::vector<int64_t>* values) {
  values->clear();
  return ReadList(open, close, [&] {
    int64_t value = 0;
    if (!ReadInt(&value)) return false;
    values->push_back(value);
    return true;
  });
}

}  // namespace eightfold::hlo::text
