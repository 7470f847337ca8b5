#ifndef EIGHTFOLD_PJRT_CLIENT_H_
#define EIGHTFOLD_PJRT_CLIENT_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "pjrt/abi_execute.h"
#include "pjrt/api.h"
#include "pjrt/plugin.h"

namespace eightfold::pjrt {

enum class Platform { kCpu, kCuda };

// One device of a plugin loaded into this process, ready to run programs. Copies share it; it lives
// until the last copy, buffer and executable of it is gone. Thread-safe.
//
// An unknown flag in XLA_FLAGS makes plugins end the process when the first program is compiled.
class Client {
 public:
  // Loads the plugin and takes its first device. Errors: the plugin does not load, is for another
  // platform, or has no device (the CUDA plugin on a machine without GPU loads and says so here).
  static Result<Client> Create(const Plugin& plugin, Platform platform);

  const Api& api() const { return state_->api; }
  const Plugin& plugin() const { return state_->plugin; }
  Platform platform() const { return state_->platform; }
  // What the plugin calls the device: "NVIDIA H200", "cpu".
  const std::string& device_kind() const { return state_->device_kind; }

  abi::Client* handle() const { return state_->client; }
  abi::Device* device() const { return state_->device; }
  bool operator==(const Client& other) const { return state_ == other.state_; }

 private:
  struct State {
    State(Api the_api, Plugin the_plugin, Platform the_platform)
        : api(the_api), plugin(std::move(the_plugin)), platform(the_platform) {}
    ~State();
    Api api;
    Plugin plugin;
    Platform platform;
    abi::Client* client = nullptr;
    abi::Device* device = nullptr;
    std::string device_kind;
  };
  explicit Client(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  static Result<void> TakeDevice(State& state);

  std::shared_ptr<const State> state_;
};

// Waits for `event` and destroys it. The error is that of the work it stands for.
Result<void> Await(const Api& api, abi::Event* event);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_CLIENT_H_
