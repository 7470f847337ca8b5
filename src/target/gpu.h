#ifndef EIGHTFOLD_TARGET_GPU_H_
#define EIGHTFOLD_TARGET_GPU_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "target/plugin_version.h"

namespace eightfold::target {

// Peak dense matrix throughput in FLOP/s, without structured sparsity and accumulating in f32.
// Absent where the GPU lacks the type, or (for a user's own target config) where nobody knows.
struct PeakFlops {
  std::optional<double> fp8;
  std::optional<double> bf16;
  std::optional<double> tf32;
  std::optional<double> f32;  // without tensor cores
};

// What the compiler is told about a GPU. Sizes in bytes. 0 means "not said" and is not written.
struct Gpu {
  std::string name;         // what --target takes: "rtx5070"
  std::string title;        // "GeForce RTX 5070"
  std::string description;  // the driver's name for it: "NVIDIA GeForce RTX 5070"

  int64_t compute_capability_major = 0;
  int64_t compute_capability_minor = 0;
  bool accelerated_features = false;  // sm_90a, sm_120a: instructions of this architecture only

  int64_t core_count = 0;  // streaming multiprocessors
  int64_t fpus_per_core = 0;
  int64_t threads_per_block_limit = 0;
  int64_t threads_per_core_limit = 0;
  int64_t threads_per_warp = 0;
  int64_t registers_per_core_limit = 0;
  int64_t registers_per_block_limit = 0;
  int64_t block_dim_limit_x = 0;
  int64_t block_dim_limit_y = 0;
  int64_t block_dim_limit_z = 0;
  int64_t shared_memory_per_block = 0;
  int64_t shared_memory_per_block_optin = 0;
  int64_t shared_memory_per_core = 0;
  int64_t l2_cache_size = 0;
  int64_t device_memory_size = 0;
  int64_t memory_bandwidth = 0;  // bytes per second
  double clock_rate_ghz = 0;     // boost clock

  std::array<int64_t, 3> cudnn_version{};    // {9, 10, 0}
  std::array<int64_t, 3> runtime_version{};  // CUDA, {12, 8, 0}

  PeakFlops peak;
  std::string source;  // the public document that the numbers come from

  // Fields of a user's target config that we do not know, as written, to be handed on untouched.
  std::string extra_device_fields;  // inside gpu_device_info
  std::string extra_fields;         // beside it

  // {12, 0} for sm_120.
  std::array<int, 2> ComputeCapability() const {
    return {static_cast<int>(compute_capability_major), static_cast<int>(compute_capability_minor)};
  }
  // {9, 10, 0}; all 0: not said.
  std::array<int, 3> CudnnVersion() const {
    return {static_cast<int>(cudnn_version[0]), static_cast<int>(cudnn_version[1]),
            static_cast<int>(cudnn_version[2])};
  }
  // FP8 tensor cores came with compute capability 8.9.
  bool HasFp8() const {
    return compute_capability_major > 8 ||
           (compute_capability_major == 8 && compute_capability_minor >= 9);
  }
  // "sm_120"
  std::string Architecture() const;
};

// The text-format GpuTargetConfigProto that `version` of the plugin understands: releases reject
// fields that are newer than they are, and read the cuDNN version from different places.
std::string WriteTargetConfig(const Gpu& gpu, const PluginVersion& version);

}  // namespace eightfold::target

#endif  // EIGHTFOLD_TARGET_GPU_H_
