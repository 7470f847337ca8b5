#include "rewrite/match.h"

#include "modules.h"

namespace eightfold::rewrite {
namespace {

using hlo::Opcode;
using namespace match;

class MatchTest : public testing::Test {
 protected:
  hlo::Instruction* Find(std::string_view name) const {
    for (hlo::Instruction* i : module_->entry->instructions) {
      if (i->name == name) return i;
    }
    ADD_FAILURE() << name;
    return nullptr;
  }

  std::unique_ptr<hlo::Module> module_ = Parse(R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  s = f32[] parameter(1)
  v = f32[4] parameter(2)
  two = bf16[] constant(2)
  three = f32[1,1] constant({{3}})
  minus_zero = f32[] constant(-0)
  list = f32[4] constant({3, 3, 3, 3})
  b = f32[4] broadcast(s), dimensions={}
  vb = f32[4,4] broadcast(v), dimensions={0}
  m = f32[4] multiply(b, x)
  ROOT d = f32[4] divide(x, b)
}
)");
};

TEST_F(MatchTest, OpNeedsItsOpcodeOperandsAndTheirNumber) {
  hlo::Instruction *x = Find("x"), *m = Find("m");
  EXPECT_TRUE(Op(Opcode::kMultiply, Any(), Is(x))(m));
  EXPECT_FALSE(Op(Opcode::kMultiply, Is(x), Any())(m));
  EXPECT_FALSE(Op(Opcode::kDivide, Any(), Is(x))(m));
  EXPECT_FALSE(Op(Opcode::kMultiply, Any())(m));
  EXPECT_FALSE(Op(Opcode::kMultiply, Any(), Is(x), Any())(m));
}

TEST_F(MatchTest, EitherOrderTriesTheOtherOneAndCapturesFromIt) {
  hlo::Instruction *scale = nullptr, *x = Find("x");
  auto scaled = EitherOrder(Opcode::kMultiply, Is(x), Broadcast(Scalar(&scale)));
  EXPECT_TRUE(scaled(Find("m")));
  EXPECT_EQ(scale, Find("s"));
  EXPECT_FALSE(scaled(Find("d")));
}

TEST_F(MatchTest, ScalarHasRankZero) {
  hlo::Instruction* scalar = nullptr;
  EXPECT_TRUE(Broadcast(Scalar(&scalar))(Find("b")));
  EXPECT_FALSE(Broadcast(Scalar(&scalar))(Find("vb")));
}

TEST_F(MatchTest, AsKeepsWhatItsPatternMatched) {
  hlo::Instruction* kept = nullptr;
  EXPECT_FALSE(As(&kept, Op(Opcode::kDivide, Any(), Any()))(Find("m")));
  EXPECT_EQ(kept, nullptr);
  EXPECT_TRUE(As(&kept, Op(Opcode::kMultiply, Any(), Any()))(Find("m")));
  EXPECT_EQ(kept, Find("m"));
}

TEST_F(MatchTest, AnyOfAndWhere) {
  auto pattern = Where(AnyOf(Is(Find("m")), Is(Find("d"))),
                       [](const hlo::Instruction& i) { return i.opcode == Opcode::kDivide; });
  EXPECT_TRUE(pattern(Find("d")));
  EXPECT_FALSE(pattern(Find("m")));
  EXPECT_FALSE(pattern(Find("x")));
}

TEST_F(MatchTest, ConstantsByValueAndRank) {
  EXPECT_TRUE(Constant(2)(Find("two")));
  EXPECT_FALSE(Constant(3)(Find("two")));
  EXPECT_TRUE(One(3)(Find("three")));        // one element of rank 2 …
  EXPECT_FALSE(Constant(3)(Find("three")));  // … which is no scalar
  EXPECT_TRUE(Constant(0)(Find("minus_zero")));
  EXPECT_FALSE(One()(Find("list")));
  EXPECT_FALSE(One()(Find("s")));
}

}  // namespace
}  // namespace eightfold::rewrite
