#ifndef EIGHTFOLD_FIX_STACK_FRAMES_H_
#define EIGHTFOLD_FIX_STACK_FRAMES_H_

#include "hlo/module.h"

namespace eightfold::fix {

// Makes each stack frame of `module` the parent of the next, for handing it back to a plugin.
//
// A plugin (seen from 0.10.2 to 0.12.0.1) that takes a module back renumbers the frames that its
// instructions name in the order of their first use, parents first, and then goes on with the
// numbers of the new module and the table of the old one: every instruction is said to come from
// somewhere else. In one chain, parents first is the order of the table, so that the numbers stay
// what they are; and the table goes on as it was.
void ChainStackFrames(hlo::Module& module);

}  // namespace eightfold::fix

#endif  // EIGHTFOLD_FIX_STACK_FRAMES_H_
