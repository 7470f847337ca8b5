#ifndef EIGHTFOLD_BASE_FLOAT_TYPES_H_
#define EIGHTFOLD_BASE_FLOAT_TYPES_H_

#include <cstdint>
#include <string_view>

namespace eightfold {

// How a binary floating-point type of at most 64 bits spends its bits: [sign] exponent mantissa.
struct FloatFormat {
  // What the type does instead of, or besides, IEEE's "top exponent = infinity and NaNs".
  enum class Special : uint8_t {
    kIeee,          // infinities and NaNs as in IEEE 754
    kAllOnesNan,    // no infinity; NaN has every exponent and mantissa bit set (the "fn" types)
    kMinusZeroNan,  // no infinity, no -0; NaN is what would be -0 (the "fnuz" types)
    kNone,          // finite values only: too large saturates, NaN becomes a zero
  };
  std::string_view name;  // XLA's spelling: "f8e4m3fn"
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special = Special::kIeee;
  // false: no sign and no zero, the exponent alone (f8e8m0fnu).
  bool has_sign = true;

  constexpr int bits() const { return has_sign + exponent_bits + mantissa_bits; }
  // Magnitude bits of the largest finite value and of NaN.
  constexpr uint64_t largest() const {
    uint64_t all = (uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
    switch (special) {
      case Special::kIeee:
        return (((uint64_t{1} << exponent_bits) - 1) << mantissa_bits) - 1;
      case Special::kAllOnesNan:
        return all - 1;
      default:
        return all;
    }
  }
  constexpr uint64_t sign_bit() const {
    return has_sign ? uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  }
};

inline constexpr FloatFormat kFloatF64 = {"f64", 11, 52, 1023};
inline constexpr FloatFormat kFloatF32 = {"f32", 8, 23, 127};
inline constexpr FloatFormat kFloatF16 = {"f16", 5, 10, 15};
inline constexpr FloatFormat kFloatBF16 = {"bf16", 8, 7, 127};
inline constexpr FloatFormat kFloatF8E5M2 = {"f8e5m2", 5, 2, 15};
inline constexpr FloatFormat kFloatF8E4M3 = {"f8e4m3", 4, 3, 7};
inline constexpr FloatFormat kFloatF8E3M4 = {"f8e3m4", 3, 4, 3};
inline constexpr FloatFormat kFloatF8E4M3FN = {"f8e4m3fn", 4, 3, 7,
                                               FloatFormat::Special::kAllOnesNan};
inline constexpr FloatFormat kFloatF8E4M3B11FNUZ = {"f8e4m3b11fnuz", 4, 3, 11,
                                                    FloatFormat::Special::kMinusZeroNan};
inline constexpr FloatFormat kFloatF8E5M2FNUZ = {"f8e5m2fnuz", 5, 2, 16,
                                                 FloatFormat::Special::kMinusZeroNan};
inline constexpr FloatFormat kFloatF8E4M3FNUZ = {"f8e4m3fnuz", 4, 3, 8,
                                                 FloatFormat::Special::kMinusZeroNan};
inline constexpr FloatFormat kFloatF8E8M0FNU = {
    "f8e8m0fnu", 8, 0, 127, FloatFormat::Special::kAllOnesNan, false};
inline constexpr FloatFormat kFloatF6E3M2FN = {"f6e3m2fn", 3, 2, 3, FloatFormat::Special::kNone};
inline constexpr FloatFormat kFloatF6E2M3FN = {"f6e2m3fn", 2, 3, 1, FloatFormat::Special::kNone};
inline constexpr FloatFormat kFloatF4E2M1FN = {"f4e2m1fn", 2, 1, 1, FloatFormat::Special::kNone};

// The format called `name` by XLA ("f8e4m3fn", "bf16", "f64"); null for anything else.
const FloatFormat* FindFloatFormat(std::string_view name);

// The value of the low bits of `bits`; exact. NaNs come back quiet, with their sign.
double DecodeFloat(const FloatFormat& format, uint64_t bits);
// Rounds to nearest, ties to even (the significand's last bit). Too large becomes infinity, NaN
// or the largest value, whichever the format has first. Zero and negative values have no place in
// f8e8m0fnu and become NaN.
uint64_t EncodeFloat(const FloatFormat& format, double value);

bool IsNan(const FloatFormat& format, uint64_t bits);
// The NaN that EncodeFloat makes. A format without NaN has a zero of the opposite sign instead, as
// ml_dtypes does.
uint64_t NanBits(const FloatFormat& format, bool negative);

}  // namespace eightfold

#endif  // EIGHTFOLD_BASE_FLOAT_TYPES_H_
