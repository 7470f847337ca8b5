#include "hlo/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "hlo/builder.h"

namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kF32 = PrimitiveType::kF32;

const Shape* Scalar(Module& module) { return module.shapes.ArrayWithDefaultLayout(kF32, {}); }

// Where each of `order` stands; every instruction must be there once.
std::vector<size_t> Positions(const std::vector<Instruction*>& order) {
  std::vector<size_t> positions(order.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) positions[order[i]->index] = i;
  EXPECT_EQ(std::ranges::count(positions, order.size()), 0);
  return positions;
}

TEST(ModuleTest, FinishNumbersEverythingAndSortsParameters) {
  Module module;
  Builder b(module, "main");
  Instruction* second = b.Parameter(1, Scalar(module), "y");
  Instruction* first = b.Parameter(0, Scalar(module), "x");
  Computation* main = b.Build(b.Add(first, second));
  EXPECT_THAT(main->parameters, ElementsAre(first, second));
  for (uint32_t i = 0; i < main->instructions.size(); ++i) {
    EXPECT_EQ(main->instructions[i]->index, i);
    EXPECT_EQ(main->instructions[i]->parent, main);
  }
  EXPECT_EQ(main->module, &module);
}

TEST(ModuleTest, FinishMarksFusedComputations) {
  Module module;
  Builder fused(module, "fused");
  Computation* inner = fused.Build(fused.Parameter(0, Scalar(module)));
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, Scalar(module));
  Computation* main = b.Build(b.Fusion("kLoop", inner, {x}));
  EXPECT_TRUE(inner->is_fusion);
  EXPECT_FALSE(main->is_fusion);
}

TEST(ModuleTest, AMissingParameterNumberLeavesAHole) {
  Module module;
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, Scalar(module));
  Instruction* z = b.Parameter(7, Scalar(module));
  Computation* main = b.Build(b.Add(x, z));
  EXPECT_THAT(main->parameters, ElementsAre(x, nullptr));
}

TEST(ModuleTest, UsersAreListedOncePerUserInInstructionOrder) {
  Module module;
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, Scalar(module));
  Instruction* doubled = b.Add(x, x);
  Instruction* product = b.Multiply(doubled, x);
  Computation* main = b.Build(product);
  Users users(*main);
  EXPECT_THAT(users.Of(*x), ElementsAre(doubled, product));
  EXPECT_THAT(users.Of(*doubled), ElementsAre(product));
  EXPECT_THAT(users.Of(*product), IsEmpty());
}

TEST(ModuleTest, CalleesComeFirstWhateverTheOrder) {
  Module module;
  std::vector<Computation*> made;
  for (std::string_view name : {"a", "b", "c"}) {
    Builder b(module, name);
    Instruction* x = b.Parameter(0, Scalar(module));
    made.push_back(b.Build(made.empty() ? x : b.Call(made.back(), {x})));
  }
  std::ranges::reverse(module.computations);
  Finish(module);
  EXPECT_THAT(CalleesFirst(module), ElementsAre(made[0], made[1], made[2]));
}

TEST(ModuleTest, ComputationsOfACallCycleAreLeftOut) {
  Module module;
  Builder a(module, "a");
  Computation* ca = a.Build(a.Parameter(0, Scalar(module)));
  Builder b(module, "b");
  Instruction* call = b.Call(ca, {b.Parameter(0, Scalar(module))});
  Computation* cb = b.Build(call);
  Builder alone(module, "alone");
  Computation* free = alone.Build(alone.Parameter(0, Scalar(module)));
  call->called[0] = cb;
  EXPECT_THAT(CalleesFirst(module), ElementsAre(ca, free));
}

TEST(ModuleTest, ADeepChainIsOrderedWithoutRecursion) {
  constexpr int kDepth = 100'000;
  Module module;
  Builder b(module, "main");
  Instruction* at = b.Parameter(0, Scalar(module));
  for (int i = 0; i < kDepth; ++i) at = b.Unary(Opcode::kNegate, at);
  Computation* main = b.Build(at);
  // Users before operands: the worst order to start from.
  std::ranges::reverse(main->instructions);
  Finish(module);
  std::vector<Instruction*> order = OperandsFirst(*main);
  ASSERT_EQ(order.size(), kDepth + 1);
  std::vector<size_t> positions = Positions(order);
  for (const Instruction* instruction : main->instructions) {
    for (const Instruction* operand : instruction->operands) {
      EXPECT_LT(positions[operand->index], positions[instruction->index]);
    }
  }
}

TEST(ModuleTest, DeepCallChainsAreOrderedWithoutRecursion) {
  constexpr size_t kDepth = 20'000;
  Module module;
  std::vector<Computation*> computations;
  for (size_t i = 0; i < kDepth; ++i) {
    auto* call = module.arena.New<Instruction>();
    call->opcode = Opcode::kCall;
    call->shape = Scalar(module);
    auto* computation = module.arena.New<Computation>();
    computation->root = call;
    computation->instructions = module.arena.Copy(std::vector<Instruction*>{call});
    // Callers before callees.
    if (i != 0) {
      Instruction* caller = computations.back()->root;
      caller->called = module.arena.Copy(std::vector<Computation*>{computation});
    }
    computations.push_back(computation);
  }
  module.computations = module.arena.Copy(computations);
  Finish(module);
  std::ranges::reverse(computations);
  EXPECT_EQ(CalleesFirst(module), computations);
}

TEST(ModuleTest, ControlPredecessorsComeFirstToo) {
  Module module;
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, Scalar(module));
  Instruction* early = b.Unary(Opcode::kNegate, x);
  Instruction* late = b.Unary(Opcode::kAbs, x);
  early->control_predecessors = module.arena.Copy(std::vector<Instruction*>{late});
  Computation* main = b.Build(b.Add(early, late));
  EXPECT_THAT(OperandsFirst(*main), ElementsAre(x, late, early, main->root));
}

TEST(ModuleTest, InstructionsOnAndBehindACycleAreLeftOut) {
  Module module;
  Builder b(module, "main");
  Instruction* x = b.Parameter(0, Scalar(module));
  Instruction* a = b.Unary(Opcode::kNegate, x);
  Instruction* c = b.Unary(Opcode::kNegate, a);
  Instruction* behind = b.Unary(Opcode::kAbs, c);
  Computation* main = b.Build(behind);
  a->operands[0] = c;
  EXPECT_THAT(OperandsFirst(*main), ElementsAre(x));
}

TEST(ModuleTest, LocateFindsNamesInTheText) {
  Module module;
  module.source = Source::FromBytes("m.hlo", "HloModule m\nENTRY e {\n  ROOT x = f32[]\n");
  std::string_view text = module.source->bytes();
  Location where = Locate(module, text.substr(text.find("x ="), 1));
  EXPECT_EQ(where.file, "m.hlo");
  EXPECT_EQ(where.line, 3);
  EXPECT_EQ(where.column, 8);
  EXPECT_EQ(Locate(module, "elsewhere").line, 0);
  module.source = nullptr;
  EXPECT_EQ(Locate(module, "x").file, "");
}

}  // namespace
}  // namespace eightfold::hlo
