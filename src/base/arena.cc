#include "base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace eightfold {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Large blocks are made of huge pages where the system has them: a tenth of the page faults.
std::byte* AllocateBlock(size_t* size) {
  if (*size < 2 * kHugePage) return static_cast<std::byte*>(std::malloc(*size));
  *size = (*size + kHugePage - 1) & ~(kHugePage - 1);
  void* block = std::aligned_alloc(kHugePage, *size);
  if (block != nullptr) madvise(block, *size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(block);
}

}  // namespace

void* Arena::Grow(size_t bytes, size_t align) {
  // Blocks double up to 4 MiB: small modules stay small, large ones make few system calls.
  size_t size = std::max(block_size_, bytes + align);
  block_size_ = std::min<size_t>(block_size_ * 2, size_t{4} << 20);
  // Not initialised: touching a block's pages is left to its users.
  std::byte* block = AllocateBlock(&size);
  if (block == nullptr) throw std::bad_alloc();
  blocks_.emplace_back(block);
  footprint_ += size;
  next_ = reinterpret_cast<uintptr_t>(block);
  end_ = next_ + size;
  uintptr_t at = (next_ + align - 1) & ~(uintptr_t{align} - 1);
  next_ = at + bytes;
  return reinterpret_cast<void*>(at);
}

}  // namespace eightfold
