#ifndef EIGHTFOLD_PJRT_PASS_HOOK_H_
#define EIGHTFOLD_PJRT_PASS_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "pjrt/api.h"
#include "pjrt/pass.h"

namespace eightfold::pjrt {

// When a plugin runs a registered pass.
enum class Stage : int {
  kPreScheduler = 0,   // after the main optimizations, before convolutions become cuDNN calls
  kPostScheduler = 1,  // the scheduled module: what runs
};

// A pass registered with a plugin's transform extension, for all compiles of this process, until
// the hook is destroyed; other people's passes, such as JAX's, stay as they are. Never lets an
// exception through the plugin; on any error the module goes on unchanged, and the hook's first one
// is printed to standard error.
class PassHook {
 public:
  struct Counts {
    uint64_t calls = 0, changed = 0, failed = 0;
    double seconds = 0;  // spent in the pass, summed over threads
  };

  // Whether the plugin has the extension (jax-cuda*-pjrt 0.10.2 and newer).
  static bool Supported(const Api& api);

  // `name` is for messages; hooks may share one. Passes run in the order in which they were
  // registered, each on what the one before made. Errors: the plugin has no such extension, or
  // refuses.
  static Result<PassHook> Register(const Api& api, std::string name, Stage stage,
                                   std::shared_ptr<Pass> pass);
  PassHook(PassHook&&) noexcept;
  PassHook& operator=(PassHook&&) = delete;
  // From now on the pass is not called any more; waits for calls in flight, so it must not be
  // called from inside the pass. Compiles may be under way.
  ~PassHook();

  Counts counts() const;
  // The first error of the pass.
  std::optional<Error> first_error() const;

 private:
  struct State;
  explicit PassHook(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PASS_HOOK_H_
