#include "pjrt/client.h"

#include <fmt/format.h>

namespace eightfold::pjrt {
namespace {

using abi::Function;

constexpr std::string_view Name(Platform platform) {
  return platform == Platform::kCpu ? "cpu" : "cuda";
}

// One device: by default the CPU plugin makes four of one processor, each with threads of its own.
abi::NamedValue OneDevice() {
  constexpr std::string_view kName = "cpu_device_count";
  auto option = NewArgs<abi::NamedValue>();
  option.name = kName.data();
  option.name_size = kName.size();
  option.type = abi::kInt64;
  option.int64_value = 1;
  option.value_size = 1;
  return option;
}

Error NoDevice(const Api& api, const Plugin& plugin, Platform platform, const Error& cause) {
  if (platform == Platform::kCpu) {
    return Error{
        .what = fmt::format("plugin {} cannot run programs: {}", plugin.Name(), cause.what),
        .exit_code = ExitCode::kCompiler};
  }
  return Error{.what = fmt::format("plugin {} loaded (PJRT ABI 0.{}) but found no GPU: {}",
                                   plugin.Name(), api.minor_version(), cause.what),
               .next = "check nvidia-smi, CUDA_VISIBLE_DEVICES and libcuda.so.1",
               .exit_code = ExitCode::kCompiler};
}

}  // namespace

Client::State::~State() {
  if (client == nullptr) return;
  auto args = NewArgs<abi::ClientDestroyArgs>();
  args.client = client;
  (void)api.Call(Function::kClientDestroy, args);
}

Result<Client> Client::Create(const Plugin& plugin, Platform platform) {
  EF_TRY(Api api, Api::Load(plugin.path));
  auto state = std::make_shared<State>(api, plugin, platform);
  const abi::NamedValue option = OneDevice();
  auto args = NewArgs<abi::ClientCreateArgs>();
  if (platform == Platform::kCpu) {
    args.options = &option;
    args.num_options = 1;
  }
  if (Result<void> created = api.Call(Function::kClientCreate, args); !created) {
    return Fail(NoDevice(api, plugin, platform, created.error()));
  }
  state->client = args.client;
  EF_CHECK_OK(TakeDevice(*state));
  return Client(std::move(state));
}

Result<void> Client::TakeDevice(State& state) {
  auto name = NewArgs<abi::ClientPlatformNameArgs>();
  name.client = state.client;
  EF_CHECK_OK(state.api.Call(Function::kClientPlatformName, name));
  const std::string_view platform(name.name, name.name_size);
  if (platform != Name(state.platform)) {
    return FailCompiler(fmt::format("plugin {} runs programs on {}, not on {}", state.plugin.Name(),
                                    platform, Name(state.platform)));
  }
  auto devices = NewArgs<abi::ClientAddressableDevicesArgs>();
  devices.client = state.client;
  EF_CHECK_OK(state.api.Call(Function::kClientAddressableDevices, devices));
  if (devices.num_devices == 0) {
    return Fail(NoDevice(state.api, state.plugin, state.platform, {.what = "no device"}));
  }
  state.device = devices.devices[0];
  auto description = NewArgs<abi::DeviceGetDescriptionArgs>();
  description.device = state.device;
  EF_CHECK_OK(state.api.Call(Function::kDeviceGetDescription, description));
  auto kind = NewArgs<abi::DeviceDescriptionKindArgs>();
  kind.description = description.description;
  EF_CHECK_OK(state.api.Call(Function::kDeviceDescriptionKind, kind));
  state.device_kind.assign(kind.kind, kind.kind_size);
  return {};
}

Result<void> Await(const Api& api, abi::Event* event) {
  if (event == nullptr) return {};
  auto args = NewArgs<abi::EventArgs>();
  args.event = event;
  Result<void> done = api.Call(Function::kEventAwait, args);
  (void)api.Call(Function::kEventDestroy, args);
  return done;
}

}  // namespace eightfold::pjrt
