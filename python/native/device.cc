#include "native/device.h"

#include <dlfcn.h>

#include <array>

#include "cli/options.h"

namespace eightfold::python {
namespace {

// The numbers and types below are those of CUDA's and cuDNN's public C interfaces.
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

// A function of a library that JAX may have loaded already, from wherever it found it; null where
// there is none. The library stays loaded.
template <class Function>
Function* Find(std::initializer_list<const char*> libraries, const char* function) {
  for (int already_loaded : {RTLD_NOLOAD, 0}) {
    for (const char* name : libraries) {
      void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | already_loaded);
      if (library == nullptr) continue;
      if (void* symbol = dlsym(library, function)) return reinterpret_cast<Function*>(symbol);
    }
  }
  return nullptr;
}

std::array<int64_t, 3> CudnnVersion() {
  auto* get = Find<size_t()>({"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}, "cudnnGetVersion");
  if (get == nullptr) return {};
  auto version = static_cast<int64_t>(get());
  // 8907 is 8.9.7; from 9 on, 91002 is 9.10.2.
  int64_t major_unit = version >= 90000 ? 10000 : 1000;
  return {version / major_unit, version % major_unit / 100, version % 100};
}

std::array<int64_t, 3> RuntimeVersion() {
  auto* get = Find<int(int*)>({"libcudart.so.12", "libcudart.so.13", "libcudart.so"},
                              "cudaRuntimeGetVersion");
  int version = 0;
  if (get == nullptr || get(&version) != 0) return {};
  return {version / 1000, version % 1000 / 10, 0};  // 12090 is 12.9
}

}  // namespace

std::optional<target::Gpu> DeviceHere() {
  auto* init = Find<int(unsigned)>({"libcuda.so.1"}, "cuInit");
  auto* get = Find<int(int*, int)>({"libcuda.so.1"}, "cuDeviceGet");
  auto* attribute = Find<int(int*, int, int)>({"libcuda.so.1"}, "cuDeviceGetAttribute");
  auto* get_name = Find<int(char*, int, int)>({"libcuda.so.1"}, "cuDeviceGetName");
  int device = 0;
  int major = 0;
  int minor = 0;
  if (init == nullptr || get == nullptr || attribute == nullptr || init(0) != 0 ||
      get(&device, 0) != 0 || attribute(&major, kComputeCapabilityMajor, device) != 0 ||
      attribute(&minor, kComputeCapabilityMinor, device) != 0) {
    return std::nullopt;
  }
  target::Gpu gpu;
  std::array<char, 256> name{};
  if (get_name != nullptr && get_name(name.data(), name.size() - 1, device) == 0) {
    gpu.title = name.data();
  }
  gpu.name = "device";
  gpu.compute_capability_major = major;
  gpu.compute_capability_minor = minor;
  gpu.cudnn_version = CudnnVersion();
  gpu.runtime_version = RuntimeVersion();
  return gpu;
}

Result<std::optional<target::Gpu>> GpuFor(const std::string& name) {
  if (name.empty()) {
    if (auto device = DeviceHere()) return device;
  }
  cli::CompileFlags flags{.target = name};
  return cli::ChosenTarget(flags);
}

}  // namespace eightfold::python
