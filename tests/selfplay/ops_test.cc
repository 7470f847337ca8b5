#include "selfplay/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using ::testing::ElementsAre;

// XLA's GPU compiler (jax-cuda12-pjrt 0.10.2) fails on some selects with a scalar predicate, which
// HLO allows.
TEST(Ops, SelectsNeverHaveAScalarPredicate) {
  hlo::Module module;
  Builder b(module, "main");
  Instruction* condition = b.Parameter(0, b.Array(PrimitiveType::kPred, {}));
  Instruction* x = b.Parameter(1, b.Array(PrimitiveType::kF32, {4, 7}));
  Instruction* chosen = Where(b, condition, x, b.Constant(PrimitiveType::kF32, 0));
  ASSERT_EQ(chosen->opcode, Opcode::kSelect);
  for (const Instruction* operand : chosen->operands) {
    EXPECT_THAT(operand->shape->dims, ElementsAre(4, 7));
  }
}

}  // namespace
}  // namespace eightfold::selfplay
