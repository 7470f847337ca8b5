#ifndef EIGHTFOLD_PJRT_BUFFER_H_
#define EIGHTFOLD_PJRT_BUFFER_H_

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pjrt/array.h"
#include "pjrt/client.h"

namespace eightfold::pjrt {

// An array on a device. Its contents may still be on their way: what reads them waits.
class Buffer {
 public:
  // Copies `bytes` (dense, row-major) to the device; they may be changed afterwards. Errors: a size
  // that is not shape.bytes(), a type or dimensions that cannot be, no memory.
  static Result<Buffer> FromHost(const Client& client, const ArrayShape& shape,
                                 std::span<const std::byte> bytes);
  // The same for values whose C++ type has the size of `shape`'s elements.
  template <class T>
  static Result<Buffer> FromHost(const Client& client, const ArrayShape& shape,
                                 const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return FromHost(client, shape, std::as_bytes(std::span(values)));
  }
  // Takes over a buffer that a program returned.
  static Result<Buffer> Adopt(const Client& client, abi::Buffer* handle);

  Buffer(Buffer&& other) noexcept
      : client_(std::move(other.client_)),
        shape_(std::move(other.shape_)),
        handle_(std::exchange(other.handle_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  const Client& client() const { return client_; }
  const ArrayShape& shape() const { return shape_; }
  abi::Buffer* handle() const { return handle_; }

  // Waits until the contents are there. The error is that of the program that computes them.
  Result<void> Await() const;
  // Waits, then copies the contents, dense and row-major, to `destination`, whose size must be
  // shape().bytes().
  Result<void> ToHost(std::span<std::byte> destination) const;
  template <class T>
  Result<std::vector<T>> ToHost() const {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    std::vector<T> values(shape_.bytes() / sizeof(T));
    EF_CHECK_OK(ToHost(std::as_writable_bytes(std::span(values))));
    return values;
  }
  // Whether a program that it was given to has taken its memory (donation).
  Result<bool> IsDeleted() const;

 private:
  Buffer(const Client& client, ArrayShape shape, abi::Buffer* handle)
      : client_(client), shape_(std::move(shape)), handle_(handle) {}

  Client client_;
  ArrayShape shape_;
  abi::Buffer* handle_;
};

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_BUFFER_H_
