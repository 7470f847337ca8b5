// eightfold-worker JOB_FOLDER LIFELINE_FD: see worker.h. The one pass that it can run is the fix.
#include "fix/fix_pass.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  return eightfold::worker::Main(argc, argv, eightfold::fix::MakeFixPass);
}
