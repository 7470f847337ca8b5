#include "base/arena.h"

#include <algorithm>

namespace eightfold {

void* Arena::Grow(size_t bytes, size_t align) {
  // Blocks double up to 4 MiB: small modules stay small, large ones make few system calls.
  size_t size = std::max(block_size_, bytes + align);
  block_size_ = std::min<size_t>(block_size_ * 2, size_t{4} << 20);
  // new[] without initialisation: touching a block's pages is left to its users.
  blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size])});
  footprint_ += size;
  next_ = reinterpret_cast<uintptr_t>(blocks_.back().data.get());
  end_ = next_ + size;
  uintptr_t at = (next_ + align - 1) & ~(uintptr_t{align} - 1);
  next_ = at + bytes;
  return reinterpret_cast<void*>(at);
}

}  // namespace eightfold
