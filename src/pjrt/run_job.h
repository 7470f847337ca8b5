#ifndef EIGHTFOLD_PJRT_RUN_JOB_H_
#define EIGHTFOLD_PJRT_RUN_JOB_H_

#include "pjrt/job.h"
#include "pjrt/pass.h"

namespace eightfold::pjrt {

// Loads the plugin into this process and does what `job` says, leaving the compiled module in
// `folder`. A plugin that aborts takes the process with it; the stage file then says how far it
// got. `make_pass` makes the pass that the job describes, if it does.
Answer RunJob(const path& folder, const Job& job, const MakePass& make_pass);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_RUN_JOB_H_
