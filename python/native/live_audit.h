#ifndef EIGHTFOLD_NATIVE_LIVE_AUDIT_H_
#define EIGHTFOLD_NATIVE_LIVE_AUDIT_H_

#include <memory>
#include <optional>
#include <string>

#include "pjrt/pass.h"
#include "pjrt/plugin.h"
#include "target/gpu.h"

namespace eightfold::python {

// Two passes that change nothing: one keeps each module as it comes before scheduling, which says
// what was asked for; the other finds it again by name when the scheduled module comes, which is
// what runs, and reports. Modules without matrix work, and those that the compiler makes on the
// side, are passed over.
struct LiveAudit {
  std::shared_ptr<pjrt::Pass> before;
  std::shared_ptr<pjrt::Pass> after;
};

// Reports go to standard error, one line for each module, or into `folder` where it is not empty:
// NAME.json, and NAME.txt for people, with numbers where names repeat.
LiveAudit MakeLiveAudit(const pjrt::Plugin& plugin, const std::optional<target::Gpu>& gpu,
                        const std::string& folder);

}  // namespace eightfold::python

#endif  // EIGHTFOLD_NATIVE_LIVE_AUDIT_H_
