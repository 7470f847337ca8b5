#include "selfplay/loop.h"

#include <fmt/format.h>

namespace eightfold::selfplay {

using hlo::Builder;
using hlo::Computation;
using hlo::Instruction;

Values Loop(Builder& b, std::string_view name, const Values& init,
            const std::function<Instruction*(Builder&, const Values&)>& condition,
            const std::function<Values(Builder&, const Values&)>& body) {
  Instruction* start = b.Tuple(init);
  // Names are new even when one loop is built several times: the module has grown in between.
  size_t serial = b.module().computations.size();
  Builder test(b.module(), fmt::format("{}.condition.{}", name, serial));
  Computation* tested = test.Build(condition(test, test.Elements(test.Parameter(0, start->shape))));
  Builder step(b.module(), fmt::format("{}.body.{}", name, serial));
  Values next = body(step, step.Elements(step.Parameter(0, start->shape)));
  Computation* stepped = step.Build(step.Tuple(next));
  return b.Elements(b.While(tested, stepped, start));
}

}  // namespace eightfold::selfplay
