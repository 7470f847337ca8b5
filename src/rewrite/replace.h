#ifndef EIGHTFOLD_REWRITE_REPLACE_H_
#define EIGHTFOLD_REWRITE_REPLACE_H_

#include "rewrite/capture.h"
#include "rewrite/editor.h"
#include "rewrite/site.h"

namespace eightfold::rewrite {

struct Replaced {
  Instruction* call = nullptr;
  Captured captured;
};

// Puts a graph call in place of a convolution and all that can be absorbed behind it. `exact`: see
// Capture.
Replaced ReplaceByGraphCall(Editor& editor, const Site& site, bool exact);

// Keeps XLA from making a graph call of the convolution: its operands are converted to a wider type
// and then go through an optimization barrier, so that it stays the legacy call that it would be.
void Hide(Editor& editor, const Site& site);

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_REPLACE_H_
