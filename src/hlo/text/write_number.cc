#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

constexpr size_t kBuffer = 64;

// printf's "%.<digits>g".
void AppendG(std::string& out, double value, int digits) {
  char buffer[kBuffer];
  auto [end, error] =
      std::to_chars(buffer, buffer + kBuffer, value, std::chars_format::general, digits);
  out.append(buffer, end);
}

// The shortest decimal digits that are read back as the same value, and the exponent of the first.
struct Shortest {
  char digits[kBuffer];
  int count = 0;
  int exponent = 0;
};

template <class T>
Shortest FindShortest(T magnitude) {
  char buffer[kBuffer];
  auto [end, error] =
      std::to_chars(buffer, buffer + kBuffer, magnitude, std::chars_format::scientific);
  Shortest shortest;
  const char* at = buffer;
  for (; *at != 'e'; ++at) {
    if (*at != '.') shortest.digits[shortest.count++] = *at;
  }
  at += at[1] == '+' ? 2 : 1;
  std::from_chars(at, end, shortest.exponent);
  while (shortest.count > 1 && shortest.digits[shortest.count - 1] == '0') --shortest.count;
  return shortest;
}

// Formats `shortest` as "%.<precision>g" would, which has at least as many digits.
void AppendShortest(std::string& out, const Shortest& shortest, int precision) {
  std::string_view digits(shortest.digits, static_cast<size_t>(shortest.count));
  int exponent = shortest.exponent;
  if (exponent < -4 || exponent >= precision) {
    out += digits[0];
    if (digits.size() > 1) (out += '.') += digits.substr(1);
    out += 'e';
    out += exponent < 0 ? '-' : '+';
    exponent = std::abs(exponent);
    if (exponent < 10) out += '0';
    AppendInt(out, exponent);
  } else if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out += digits;
  } else {
    auto whole = static_cast<size_t>(exponent) + 1;
    out += digits.substr(0, whole);
    if (digits.size() > whole) {
      (out += '.') += digits.substr(whole);
    } else {
      out.append(whole - digits.size(), '0');
    }
  }
}

// The decimal of 9 digits nearest to the value, as "%.9g" rounds, exactly, in 128-bit integers.
// `exponent` is that of its first digit. False for values too large or too small for that; much
// faster than to_chars for the others.
bool FindNine(float magnitude, int exponent, Shortest& nine) {
  constexpr int kDigits = 9;
  constexpr int kMostPower = 44;  // 24 bits of significand times 5^44 fit 128
  constexpr auto kPowersOfFive = [] {
    std::array<unsigned __int128, kMostPower + 1> powers{};
    powers[0] = 1;
    for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 5;
    return powers;
  }();
  int power = kDigits - 1 - exponent;
  if (power < 0 || power > kMostPower) return false;
  int binary = 0;
  auto significand = static_cast<uint32_t>(std::ldexp(std::frexp(magnitude, &binary), 24));
  // value * 10^power = significand * 5^power * 2^shift
  int shift = binary - 24 + power;
  unsigned __int128 product = significand * kPowersOfFive[static_cast<size_t>(power)];
  uint64_t digits = 0;
  if (shift >= 0) {
    digits = static_cast<uint64_t>(product) << shift;
  } else {
    digits = static_cast<uint64_t>(product >> -shift);
    unsigned __int128 rest = product & ((static_cast<unsigned __int128>(1) << -shift) - 1);
    unsigned __int128 half = static_cast<unsigned __int128>(1) << (-shift - 1);
    digits += rest > half || (rest == half && (digits & 1) != 0);
  }
  nine.exponent = exponent;
  auto [end, error] = std::to_chars(nine.digits, nine.digits + kBuffer, digits);
  nine.count = static_cast<int>(end - nine.digits);
  if (nine.count > kDigits) ++nine.exponent;  // rounded up to the next power of ten
  while (nine.count > 1 && nine.digits[nine.count - 1] == '0') --nine.count;
  return true;
}

// A finite value, not zero: `few` digits if they are enough, else `many`.
template <class T>
void AppendRoundTrip(std::string& out, T value, int few, int many) {
  if (std::signbit(value)) out += '-';
  T magnitude = std::abs(value);
  if (std::isnormal(magnitude)) {
    // Decimals of `few` digits lie farther apart than normal values do, so the shortest decimal is
    // the one of `few` digits when it is that short.
    Shortest shortest = FindShortest(magnitude);
    if (shortest.count <= few) return AppendShortest(out, shortest, few);
    if constexpr (std::is_same_v<T, float>) {
      Shortest nine;
      if (FindNine(magnitude, shortest.exponent, nine)) return AppendShortest(out, nine, many);
    }
    return AppendG(out, static_cast<double>(magnitude), many);
  }
  size_t start = out.size();
  AppendG(out, static_cast<double>(magnitude), few);
  T back = 0;
  std::from_chars(out.data() + start, out.data() + out.size(), back);
  if (back == magnitude) return;
  out.resize(start);
  AppendG(out, static_cast<double>(magnitude), many);
}

void AppendNan(std::string& out, const FloatFormat& format, uint64_t bits) {
  if ((bits & format.sign_bit()) != 0) out += '-';
  out += "nan";
  if (format.special != FloatFormat::Special::kIeee) return;
  uint64_t payload = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  if (payload == uint64_t{1} << (format.mantissa_bits - 1)) return;
  char buffer[kBuffer];
  auto [end, error] = std::to_chars(buffer, buffer + kBuffer, payload, 16);
  out += "(0x";
  out.append(buffer, end);
  out += ')';
}

// Digits that tell all values of the format apart: C++'s max_digits10.
int EnoughDigits(const FloatFormat& format) {
  constexpr double kLog10Of2 = 0.30102999566398120;
  return static_cast<int>(std::ceil((format.mantissa_bits + 1) * kLog10Of2 + 1));
}

bool NeedsEscape(char c) { return c < 32 || c > 126 || c == '"' || c == '\'' || c == '\\'; }

void AppendEscape(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '"':
    case '\'':
    case '\\':
      (out += '\\') += c;
      return;
    default: {
      auto byte = static_cast<unsigned char>(c);
      out += '\\';
      out += static_cast<char>('0' + (byte >> 6));
      out += static_cast<char>('0' + (byte >> 3 & 7));
      out += static_cast<char>('0' + (byte & 7));
    }
  }
}

// Behind the string that starts at `at`; npos when it does not end.
size_t SkipString(std::string_view value, size_t at) {
  for (++at; at < value.size(); ++at) {
    if (value[at] == '"') return at + 1;
    if (value[at] == '\\' && (++at == value.size() || value[at] == '\n')) break;
  }
  return std::string_view::npos;
}

// One block in balanced braces, strings in it skipped: what the readers take without quotes. Only
// a strict subset, so that everything else is quoted and kept exactly.
bool IsBraceBlock(std::string_view value) {
  if (value.size() < 2 || value.front() != '{' || value.back() != '}') return false;
  int64_t depth = 0;
  for (size_t at = 0; at < value.size();) {
    char c = value[at];
    if (c == '"') {
      at = SkipString(value, at);
      if (at == std::string_view::npos) return false;
      continue;
    }
    if (c == '\0') return false;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return at + 1 == value.size() && wire::IsUtf8(value);
    ++at;
  }
  return false;
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view value) {
  out += '"';
  size_t plain = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!NeedsEscape(value[i])) continue;
    out += value.substr(plain, i - plain);
    AppendEscape(out, value[i]);
    plain = i + 1;
  }
  out += value.substr(plain);
  out += '"';
}

void AppendRawOrQuoted(std::string& out, std::string_view value) {
  if (IsBraceBlock(value)) {
    out += value;
  } else {
    AppendQuoted(out, value);
  }
}

void AppendDouble(std::string& out, double value) {
  if (!std::isfinite(value) || value == 0) return AppendG(out, value, 6);
  AppendRoundTrip(out, value, 6, 17);
}

void AppendFloat(std::string& out, float value) {
  if (!std::isfinite(value) || value == 0) return AppendG(out, static_cast<double>(value), 6);
  AppendRoundTrip(out, value, 6, 9);
}

void AppendFloatBits(std::string& out, const FloatFormat& format, uint64_t bits) {
  if (IsNan(format, bits)) return AppendNan(out, format, bits);
  double value = DecodeFloat(format, bits);
  if (value == 0) {
    out += std::signbit(value) ? "-0.0" : "0";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else if (std::abs(value) < 1e4 && value == std::trunc(value) && format.bits() >= 16) {
    AppendInt(out, static_cast<int64_t>(value));
  } else if (format.bits() == 64) {
    AppendRoundTrip(out, value, 15, 17);
  } else if (format.bits() == 32) {
    AppendRoundTrip(out, static_cast<float>(value), 6, 9);
  } else {
    AppendG(out, value, EnoughDigits(format));
  }
}

void AppendInts(std::string& out, std::span<const int64_t> values) {
  out += '{';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    AppendInt(out, values[i]);
  }
  out += '}';
}

}  // namespace eightfold::hlo::text
