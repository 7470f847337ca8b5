#ifndef EIGHTFOLD_NATIVE_HOOKS_H_
#define EIGHTFOLD_NATIVE_HOOKS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pjrt/pass_hook.h"
#include "pjrt/plugin.h"
#include "target/gpu.h"

namespace eightfold::python {

// Passes in the CUDA plugin of this process, until Close() or destruction.
class Hooks {
 public:
  // The fix, for `gpu`, of `extent` "planned" or "all" in the plugin library at `library`, which is
  // loaded. Errors: the plugin takes no passes.
  static Result<Hooks> Fix(const std::string& library, const target::Gpu& gpu,
                           const std::string& extent);
  // Reports on every module with matrix work: a line on standard error, or, where `folder` is not
  // empty, files in it.
  static Result<Hooks> Audit(const std::string& library, const std::optional<target::Gpu>& gpu,
                             const std::string& folder);

  Hooks(Hooks&&) noexcept = default;
  Hooks& operator=(Hooks&&) = delete;

  const pjrt::Plugin& plugin() const { return plugin_; }
  // "GeForce RTX 5070 (sm_120)"; empty where it is not known.
  const std::string& target() const { return target_; }
  // XLA does the rewriting by itself; a fix only hides what cuDNN has no plan for, or nothing.
  bool upstream() const { return upstream_; }
  pjrt::PassHook::Counts counts() const;
  // How many convolutions the fix has put back so far.
  size_t rewritten() const;
  // The first error of a pass; empty: none.
  std::string error() const;
  // The passes are not called any more; waits for calls in flight.
  void Close() { hooks_.clear(); }

 private:
  Hooks() = default;
  static Result<Hooks> Attach(const std::string& library, const std::optional<target::Gpu>& gpu);

  pjrt::Plugin plugin_;
  std::optional<pjrt::Api> api_;
  std::string target_;
  bool upstream_ = false;
  std::shared_ptr<pjrt::Pass> fix_;
  std::vector<pjrt::PassHook> hooks_;
};

}  // namespace eightfold::python

#endif  // EIGHTFOLD_NATIVE_HOOKS_H_
