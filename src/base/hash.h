#ifndef EIGHTFOLD_BASE_HASH_H_
#define EIGHTFOLD_BASE_HASH_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace eightfold {

inline uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// Hash functor for maps keyed by string views; collisions resolved by the map's own comparison.
struct BytesHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return HashBytes(bytes); }
};

}  // namespace eightfold

#endif  // EIGHTFOLD_BASE_HASH_H_
