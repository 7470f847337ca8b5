#include "pjrt/buffer.h"

#include <fmt/format.h>

namespace eightfold::pjrt {
namespace {

using abi::Function;

void Destroy(const Client& client, abi::Buffer* handle) {
  if (handle == nullptr) return;
  auto args = NewArgs<abi::BufferDestroyArgs>();
  args.buffer = handle;
  (void)client.api().Call(Function::kBufferDestroy, args);
}

Result<void> Check(const ArrayShape& shape, size_t bytes) {
  // The plugin aborts the process for types that it does not know.
  if (AbiType(shape.type) == 0) {
    return Fail(fmt::format("arrays of {} cannot be passed to programs", hlo::Name(shape.type)));
  }
  int64_t elements = 1;
  for (int64_t dim : shape.dims) {
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements) || elements >> 56 != 0) {
      return Fail(fmt::format("{} is not a shape that an array can have", ToString(shape)));
    }
  }
  if (shape.bytes() != bytes) {
    return Fail(
        fmt::format("{} takes {} bytes; there are {}", ToString(shape), shape.bytes(), bytes));
  }
  return {};
}

}  // namespace

Result<Buffer> Buffer::FromHost(const Client& client, const ArrayShape& shape,
                                std::span<const std::byte> bytes) {
  EF_CHECK_OK(Check(shape, bytes.size()));
  auto args = NewArgs<abi::BufferFromHostBufferArgs>();
  args.client = client.handle();
  args.data = bytes.data();
  args.type = AbiType(shape.type);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.semantics = abi::kOnlyDuringCall;
  args.device = client.device();
  EF_CHECK_OK(client.api().Call(Function::kClientBufferFromHostBuffer, args));
  Buffer buffer(client, shape, args.buffer);
  EF_CHECK_OK(pjrt::Await(client.api(), args.done_with_host_buffer));
  return buffer;
}

Result<Buffer> Buffer::Adopt(const Client& client, abi::Buffer* handle) {
  Buffer buffer(client, {}, handle);
  auto type = NewArgs<abi::BufferElementTypeArgs>();
  type.buffer = handle;
  EF_CHECK_OK(client.api().Call(Function::kBufferElementType, type));
  buffer.shape_.type = TypeFromAbi(type.type);
  auto dims = NewArgs<abi::BufferDimensionsArgs>();
  dims.buffer = handle;
  EF_CHECK_OK(client.api().Call(Function::kBufferDimensions, dims));
  buffer.shape_.dims.assign(dims.dims, dims.dims + dims.num_dims);
  return buffer;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  Destroy(client_, handle_);
  client_ = other.client_;
  shape_ = std::move(other.shape_);
  handle_ = std::exchange(other.handle_, nullptr);
  return *this;
}

Buffer::~Buffer() { Destroy(client_, handle_); }

Result<void> Buffer::Await() const {
  auto args = NewArgs<abi::BufferReadyEventArgs>();
  args.buffer = handle_;
  EF_CHECK_OK(client_.api().Call(Function::kBufferReadyEvent, args));
  return pjrt::Await(client_.api(), args.event);
}

Result<void> Buffer::ToHost(std::span<std::byte> destination) const {
  EF_CHECK_OK(Check(shape_, destination.size()));
  // Without a layout the plugin would copy in the device's order.
  std::vector<int64_t> minor_to_major(shape_.dims.size());
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    minor_to_major[i] = static_cast<int64_t>(minor_to_major.size() - 1 - i);
  }
  auto layout = NewArgs<abi::MemoryLayout>();
  layout.tiled = NewArgs<abi::TiledLayout>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  auto args = NewArgs<abi::BufferToHostBufferArgs>();
  args.buffer = handle_;
  args.host_layout = &layout;
  std::byte nothing{};  // a null destination asks for the size
  args.destination = destination.empty() ? &nothing : destination.data();
  args.destination_size = destination.size();
  EF_CHECK_OK(client_.api().Call(Function::kBufferToHostBuffer, args));
  return pjrt::Await(client_.api(), args.event);
}

Result<bool> Buffer::IsDeleted() const {
  auto args = NewArgs<abi::BufferIsDeletedArgs>();
  args.buffer = handle_;
  EF_CHECK_OK(client_.api().Call(Function::kBufferIsDeleted, args));
  return args.is_deleted;
}

}  // namespace eightfold::pjrt
