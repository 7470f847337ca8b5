#ifndef EIGHTFOLD_WORKER_WORKER_H_
#define EIGHTFOLD_WORKER_WORKER_H_

#include "pjrt/pass.h"

namespace eightfold::worker {

// The program eightfold-worker JOB_FOLDER LIFELINE_FD: runs one job of pjrt::Compile (see job.h) in
// a process of its own, since plugins abort on some inputs. Two processes: this one, which never
// loads a plugin, supervises the one that does. It enforces the limits, and when the lifeline pipe
// closes, which happens even if the parent is killed, it kills the other and removes the folder.
// `make_pass` knows the passes that a CompileRequest may ask for. Returns the exit status.
int Main(int argc, char** argv, const pjrt::MakePass& make_pass);

}  // namespace eightfold::worker

#endif  // EIGHTFOLD_WORKER_WORKER_H_
