#include "base/float_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace eightfold {
namespace {

using Special = FloatFormat::Special;

constexpr int kDoubleMantissa = 52;

// Every format but f8e8m0fnu spends exponent 0 on zero and subnormals.
constexpr int SmallestExponent(const FloatFormat& format) {
  return (format.has_sign ? 1 : 0) - format.bias;
}

// value / 2^shift, to nearest, ties to even.
uint64_t ShiftAndRound(uint64_t value, int shift) {
  if (shift <= 0) return value;
  if (shift > kDoubleMantissa + 2) return 0;
  uint64_t quotient = value >> shift;
  uint64_t rest = value & ((uint64_t{1} << shift) - 1);
  uint64_t half = uint64_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

uint64_t Overflow(const FloatFormat& format, uint64_t sign) {
  switch (format.special) {
    case Special::kIeee:
      return sign | (format.largest() + 1);
    case Special::kNone:
      return sign | format.largest();
    default:
      return NanBits(format, sign != 0);
  }
}

}  // namespace

const FloatFormat* FindFloatFormat(std::string_view name) {
  static constexpr FloatFormat kAll[] = {
      kFloatF64,        kFloatF32,       kFloatF16,      kFloatBF16,          kFloatF8E5M2,
      kFloatF8E4M3,     kFloatF8E3M4,    kFloatF8E4M3FN, kFloatF8E4M3B11FNUZ, kFloatF8E5M2FNUZ,
      kFloatF8E4M3FNUZ, kFloatF8E8M0FNU, kFloatF6E3M2FN, kFloatF6E2M3FN,      kFloatF4E2M1FN};
  const auto* it = std::ranges::find(kAll, name, &FloatFormat::name);
  return it == std::end(kAll) ? nullptr : it;
}

uint64_t NanBits(const FloatFormat& format, bool negative) {
  uint64_t sign = negative ? format.sign_bit() : 0;
  uint64_t all = (uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.special) {
    case Special::kIeee:
      return sign | (format.largest() + 1) | uint64_t{1} << (format.mantissa_bits - 1);
    case Special::kAllOnesNan:
      return sign | all;
    case Special::kMinusZeroNan:
      return format.sign_bit();
    default:
      return negative ? 0 : format.sign_bit();
  }
}

bool IsNan(const FloatFormat& format, uint64_t bits) {
  uint64_t sign = format.sign_bit();
  uint64_t magnitude = bits & ((uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1);
  switch (format.special) {
    case Special::kIeee:
      return magnitude > format.largest() + 1;
    case Special::kAllOnesNan:
      return magnitude > format.largest();
    case Special::kMinusZeroNan:
      return magnitude == 0 && (bits & sign) != 0;
    default:
      return false;
  }
}

double DecodeFloat(const FloatFormat& format, uint64_t bits) {
  if (format.bits() == 64) return std::bit_cast<double>(bits);
  uint64_t magnitude = bits & ((uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1);
  bool negative = (bits & format.sign_bit()) != 0;
  double value = 0;
  if (IsNan(format, bits)) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude > format.largest()) {
    value = std::numeric_limits<double>::infinity();
  } else {
    auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    uint64_t significand = magnitude & ((uint64_t{1} << format.mantissa_bits) - 1);
    if (exponent != 0 || !format.has_sign) significand |= uint64_t{1} << format.mantissa_bits;
    int scale = std::max(exponent - format.bias, SmallestExponent(format)) - format.mantissa_bits;
    value = std::ldexp(static_cast<double>(significand), scale);
  }
  return negative ? -value : value;
}

uint64_t EncodeFloat(const FloatFormat& format, double value) {
  auto bits = std::bit_cast<uint64_t>(value);
  if (format.bits() == 64) return bits;
  bool negative = std::signbit(value);
  if (std::isnan(value)) return NanBits(format, negative);
  if (!format.has_sign && !(value > 0)) return NanBits(format, false);
  uint64_t sign = negative ? format.sign_bit() : 0;
  if (std::isinf(value)) return Overflow(format, sign);
  auto exponent = static_cast<int>(bits >> kDoubleMantissa & 0x7ff);
  uint64_t significand = bits & ((uint64_t{1} << kDoubleMantissa) - 1);
  if (exponent != 0) significand |= uint64_t{1} << kDoubleMantissa;
  exponent = std::max(exponent, 1) - kFloatF64.bias;

  int target = std::max(exponent, SmallestExponent(format));
  uint64_t rounded =
      ShiftAndRound(significand, kDoubleMantissa - format.mantissa_bits + target - exponent);
  // `rounded` holds the leading one of a normal value; adding it as an integer steps the exponent
  // from its base, and carries into it when rounding reached the next power of two.
  uint64_t base = static_cast<uint64_t>(target - SmallestExponent(format)) << format.mantissa_bits;
  uint64_t magnitude = base + rounded;
  if (!format.has_sign) magnitude -= rounded == 0 ? 0 : 1;
  if (magnitude > format.largest()) return Overflow(format, sign);
  if (magnitude == 0 && format.special == Special::kMinusZeroNan) return 0;
  return sign | magnitude;
}

}  // namespace eightfold
