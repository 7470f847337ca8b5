#ifndef EIGHTFOLD_PJRT_RUN_JOB_H_
#define EIGHTFOLD_PJRT_RUN_JOB_H_

#include "pjrt/job.h"

namespace eightfold::pjrt {

// Loads the plugin into this process and does what `job` says, leaving the compiled module in
// `folder`. A plugin that aborts takes the process with it; the stage file then says how far it
// got.
Answer RunJob(const path& folder, const Job& job);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_RUN_JOB_H_
