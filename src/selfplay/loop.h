#ifndef EIGHTFOLD_SELFPLAY_LOOP_H_
#define EIGHTFOLD_SELFPLAY_LOOP_H_

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "hlo/builder.h"

namespace eightfold::selfplay {

using Values = std::vector<hlo::Instruction*>;

// Adds `while (condition(values)) values = body(values)` to `b` and returns the last values.
// Inside, nothing of the outer computation can be used: what the loop only reads is carried, too,
// and returned by `body` as it came. `name` names the computations in dumps.
Values Loop(hlo::Builder& b, std::string_view name, const Values& init,
            const std::function<hlo::Instruction*(hlo::Builder&, const Values&)>& condition,
            const std::function<Values(hlo::Builder&, const Values&)>& body);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_LOOP_H_
