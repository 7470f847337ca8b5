// Feeds base/float_types to float_types_oracle_test.py, in binary over standard input and output.
//   decode FORMAT             every bit pattern, in order -> doubles (the format has at most 16
//   bits) encode FORMAT <doubles    doubles -> uint32 patterns
#include <cstdio>
#include <cstring>

#include "base/float_types.h"

int main(int argc, char** argv) {
  using namespace eightfold;
  const FloatFormat* format = argc == 3 ? FindFloatFormat(argv[2]) : nullptr;
  if (format == nullptr) return 2;
  if (std::strcmp(argv[1], "decode") == 0) {
    for (uint32_t bits = 0; bits < (1u << format->bits()); ++bits) {
      double value = DecodeFloat(*format, bits);
      std::fwrite(&value, sizeof value, 1, stdout);
    }
    return 0;
  }
  double value = 0;
  while (std::fread(&value, sizeof value, 1, stdin) == 1) {
    auto bits = static_cast<uint32_t>(EncodeFloat(*format, value));
    std::fwrite(&bits, sizeof bits, 1, stdout);
  }
  return 0;
}
