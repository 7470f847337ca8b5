#ifndef EIGHTFOLD_BASE_ARENA_H_
#define EIGHTFOLD_BASE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace eightfold {

// Bump allocator. Everything handed out lives as long as the arena and is never destroyed, so only
// trivially destructible types may live in it. Not thread-safe: one module, one arena, one thread.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* Allocate(size_t bytes, size_t align) {
    uintptr_t at = (next_ + align - 1) & ~(uintptr_t{align} - 1);
    if (at + bytes > end_ || next_ == 0) return Grow(bytes, align);
    next_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }

  template <class T, class... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  // Value-initialised array of `n` elements.
  template <class T>
  std::span<T> NewArray(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* p = static_cast<T*>(Allocate(n * sizeof(T), alignof(T)));
    for (size_t i = 0; i < n; ++i) new (p + i) T{};
    return {p, n};
  }

  template <class T>
  std::span<T> Copy(std::span<const T> from) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from.empty()) return {};
    T* p = static_cast<T*>(Allocate(from.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(p), from.data(), from.size_bytes());
    return {p, from.size()};
  }
  template <class T>
  std::span<T> Copy(const std::vector<T>& from) {
    return Copy(std::span<const T>(from));
  }

  std::string_view Copy(std::string_view from) {
    if (from.empty()) return {};
    char* p = static_cast<char*>(Allocate(from.size(), 1));
    std::memcpy(p, from.data(), from.size());
    return {p, from.size()};
  }

  // Bytes obtained from the system so far.
  size_t footprint() const { return footprint_; }

 private:
  void* Grow(size_t bytes, size_t align);

  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
  size_t block_size_ = size_t{32} << 10;
  size_t footprint_ = 0;
};

}  // namespace eightfold

#endif  // EIGHTFOLD_BASE_ARENA_H_
