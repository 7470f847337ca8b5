#include "rewrite/op_graph.h"

#include "modules.h"

namespace eightfold::rewrite {
namespace {

class OpGraphTest : public testing::Test {
 protected:
  bool Append(std::string_view name, int value, std::vector<int> operands) {
    std::vector<const hlo::Instruction*> pointers;
    for (int i : operands) pointers.push_back(&values_[i]);
    return graph_.Append({name, &values_[value], hlo::PrimitiveType::kF32, pointers});
  }

  hlo::Instruction values_[8];
  OpGraph graph_;
};

TEST_F(OpGraphTest, ListsOperandsInsideTheGraphOnly) {
  EXPECT_TRUE(Append("conv", 0, {}));
  EXPECT_TRUE(Append("add", 1, {0, 7}));
  EXPECT_EQ(graph_.Serialize(), "1:[f32]conv();2:[f32]add(1);");
  EXPECT_TRUE(graph_.IsOrdered());
  graph_.RetypeLast(hlo::PrimitiveType::kF8E5M2);
  graph_.Retype(values_[0], hlo::PrimitiveType::kBF16);
  EXPECT_EQ(graph_.Serialize(), "1:[bf16]conv();2:[f8e5m2]add(1);");
}

TEST_F(OpGraphTest, TakesEachValueOnce) {
  EXPECT_TRUE(Append("conv", 0, {}));
  EXPECT_FALSE(Append("relu", 0, {0}));
  EXPECT_TRUE(graph_.Contains(values_[0], "conv"));
  EXPECT_FALSE(graph_.Contains(values_[0], "relu"));
  EXPECT_FALSE(graph_.Contains(values_[1]));
}

TEST_F(OpGraphTest, PutsAnOperationBeforeItsFirstUse) {
  Append("conv", 0, {});
  Append("scale", 1, {0});
  Append("add", 2, {1, 3});
  Append("relu", 3, {0});
  EXPECT_EQ(graph_.Serialize(), "1:[f32]conv();2:[f32]scale(1);3:[f32]relu(1);4:[f32]add(2,3);");
}

TEST_F(OpGraphTest, MovesWhatItUsesBeforeIt) {
  Append("conv", 0, {});
  Append("add", 2, {0, 3});
  Append("scale", 4, {0});
  Append("relu", 5, {4});
  Append("add", 3, {5, 0});  // goes before 2, and so must 5 and 4
  EXPECT_TRUE(graph_.IsOrdered());
  EXPECT_EQ(graph_.Serialize(),
            "1:[f32]conv();2:[f32]scale(1);3:[f32]relu(2);4:[f32]add(3,1);5:[f32]add(1,4);");
}

TEST_F(OpGraphTest, KnowsWhenItIsNotInOrder) {
  EXPECT_FALSE(graph_.IsOrdered());
  Append("relu", 1, {1});
  EXPECT_FALSE(graph_.IsOrdered());
}

}  // namespace
}  // namespace eightfold::rewrite
