#ifndef EIGHTFOLD_TARGET_FIELDS_H_
#define EIGHTFOLD_TARGET_FIELDS_H_

#include <string>
#include <string_view>

#include "target/gpu.h"

namespace eightfold::target {

// The integer fields of GpuDeviceInfoProto that we know: one table for the catalogue, the reader
// and the writer of target configs. `limit` is the largest value that the proto's type holds.
struct DeviceField {
  std::string_view name;
  int64_t Gpu::*member;
  int64_t limit;
};

inline constexpr int64_t kInt32 = INT32_MAX;
inline constexpr int64_t kInt64 = INT64_MAX;

inline constexpr DeviceField kDeviceFields[] = {
    {"threads_per_block_limit", &Gpu::threads_per_block_limit, kInt32},
    {"threads_per_warp", &Gpu::threads_per_warp, kInt32},
    {"shared_memory_per_block", &Gpu::shared_memory_per_block, kInt32},
    {"shared_memory_per_core", &Gpu::shared_memory_per_core, kInt32},
    {"threads_per_core_limit", &Gpu::threads_per_core_limit, kInt32},
    {"core_count", &Gpu::core_count, kInt32},
    {"fpus_per_core", &Gpu::fpus_per_core, kInt64},
    {"block_dim_limit_x", &Gpu::block_dim_limit_x, kInt64},
    {"block_dim_limit_y", &Gpu::block_dim_limit_y, kInt64},
    {"block_dim_limit_z", &Gpu::block_dim_limit_z, kInt64},
    {"memory_bandwidth", &Gpu::memory_bandwidth, kInt64},
    {"l2_cache_size", &Gpu::l2_cache_size, kInt64},
    {"device_memory_size", &Gpu::device_memory_size, kInt64},
    {"shared_memory_per_block_optin", &Gpu::shared_memory_per_block_optin, kInt32},
    {"registers_per_core_limit", &Gpu::registers_per_core_limit, kInt64},
    {"registers_per_block_limit", &Gpu::registers_per_block_limit, kInt64},
};

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_FIELDS_H_
