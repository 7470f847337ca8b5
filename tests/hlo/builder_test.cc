#include "hlo/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "hlo/verifier.h"
#include "hlo/views.h"

namespace eightfold::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kBF16 = PrimitiveType::kBF16;
constexpr auto kF8 = PrimitiveType::kF8E4M3FN;
constexpr auto kS32 = PrimitiveType::kS32;
constexpr auto kPred = PrimitiveType::kPred;

class BuilderTest : public ::testing::Test {
 protected:
  const Shape* Array(PrimitiveType type, std::vector<int64_t> dims) {
    return module_.shapes.ArrayWithDefaultLayout(type, dims);
  }
  Computation* Reducer(std::string_view name, Opcode opcode) {
    Builder b(module_, name);
    return b.Build(
        b.Binary(opcode, b.Parameter(0, Array(kF32, {})), b.Parameter(1, Array(kF32, {}))));
  }
  void ExpectVerified(Computation* entry) {
    module_.entry = entry;
    auto verdict = Verify(module_);
    EXPECT_TRUE(verdict.has_value()) << verdict.error().Format();
  }
  static std::string Text(const Instruction* instruction) { return ToString(*instruction->shape); }

  Module module_;
};

TEST_F(BuilderTest, ShapesFollowFromOperands) {
  Computation* sum = Reducer("sum", Opcode::kAdd);
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF32, {2, 6}), "x");
  EXPECT_EQ(Text(b.Add(x, x)), "f32[2,6]{1,0}");
  EXPECT_EQ(Text(b.Convert(x, kBF16)), "bf16[2,6]{1,0}");
  EXPECT_EQ(Text(b.Transpose(x, {1, 0})), "f32[6,2]{1,0}");
  EXPECT_EQ(Text(b.Reshape(x, {3, 4})), "f32[3,4]{1,0}");
  EXPECT_EQ(Text(b.Broadcast(x, {5, 2, 6}, {1, 2})), "f32[5,2,6]{2,1,0}");
  EXPECT_EQ(Text(b.Concatenate({x, x}, 1)), "f32[2,12]{1,0}");
  EXPECT_EQ(Text(b.Reduce(x, b.Constant(kF32, 0), {1}, sum)), "f32[2]{0}");
  EXPECT_EQ(Text(b.Compare(x, x, "LT")), "pred[2,6]{1,0}");
  std::vector<PaddingDimension> padding = {{1, 0, 0}, {0, 2, 1}};
  EXPECT_EQ(Text(b.Pad(x, b.Constant(kF32, 0), padding)), "f32[3,13]{1,0}");
  std::vector<SliceRange> ranges = {{0, 1, 1}, {1, 6, 2}};
  EXPECT_EQ(Text(b.Slice(x, ranges)), "f32[1,3]{1,0}");
  ExpectVerified(b.Build(b.Tuple({x, x})));
}

TEST_F(BuilderTest, AnFp8ConvolutionMayReturnAWiderType) {
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF8, {2, 8, 8, 16}));
  Instruction* k = b.Parameter(1, Array(kF8, {3, 3, 16, 32}));
  Window window;
  window.dimensions.assign(2, {.size = 3, .stride = 2, .padding_low = 1, .padding_high = 1});
  ConvolutionDimensions dims{.input_batch = 0,
                             .input_feature = 3,
                             .kernel_input_feature = 2,
                             .kernel_output_feature = 3,
                             .output_batch = 0,
                             .output_feature = 3,
                             .input_spatial = {1, 2},
                             .kernel_spatial = {0, 1},
                             .output_spatial = {1, 2}};
  Instruction* y = b.Conv(x, k, window, dims, kF32);
  EXPECT_EQ(Text(y), "f32[2,4,4,32]{3,2,1,0}");
  ExpectVerified(b.Build(y));
}

TEST_F(BuilderTest, ABatchedDotPutsBatchDimensionsFirst) {
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF8, {7, 3, 5}));
  Instruction* w = b.Parameter(1, Array(kBF16, {5, 4, 3}));
  DotDimensions dims{
      .lhs_contracting = {2}, .rhs_contracting = {0}, .lhs_batch = {1}, .rhs_batch = {2}};
  Instruction* y = b.Dot(x, w, dims);
  EXPECT_EQ(Text(y), "bf16[3,7,4]{2,1,0}");
  ExpectVerified(b.Build(y));
}

TEST_F(BuilderTest, ControlFlowVerifies) {
  Builder condition(module_, "condition");
  Instruction* p = condition.Parameter(
      0, module_.shapes.Tuple(std::vector<const Shape*>{Array(kS32, {}), Array(kF32, {4})}));
  Computation* when = condition.Build(
      condition.Compare(condition.GetTupleElement(p, 0), condition.Constant(kS32, 5), "LT"));
  Builder step(module_, "body");
  Instruction* q = step.Parameter(0, p->shape);
  Instruction* next = step.Add(step.GetTupleElement(q, 0), step.Constant(kS32, 1));
  Instruction* value = step.GetTupleElement(q, 1);
  Computation* body = step.Build(step.Tuple({next, step.Multiply(value, value)}));
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF32, {4}));
  Instruction* loop = b.While(when, body, b.Tuple({b.Constant(kS32, 0), x}));
  EXPECT_EQ(loop->called[0], body);
  EXPECT_EQ(loop->called[1], when);
  ExpectVerified(b.Build(b.GetTupleElement(loop, 1)));
}

TEST_F(BuilderTest, BranchesAndFusionsVerify) {
  auto unary = [&](std::string_view name, Opcode opcode) {
    Builder b(module_, name);
    return b.Build(b.Unary(opcode, b.Parameter(0, Array(kF32, {4}))));
  };
  Computation* branches[] = {unary("negated", Opcode::kNegate), unary("absolute", Opcode::kAbs)};
  Computation* fused = unary("fused", Opcode::kExp);
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF32, {4}));
  Instruction* arguments[] = {x, x};
  Instruction* chosen = b.Conditional(b.Parameter(1, Array(kPred, {})), branches, arguments);
  ExpectVerified(b.Build(b.Fusion("kLoop", fused, {chosen})));
  EXPECT_TRUE(fused->is_fusion);
}

TEST_F(BuilderTest, OperandsThatDoNotFitThrowWithTheReason) {
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF32, {2, 6}));
  Instruction* y = b.Parameter(1, Array(kS32, {2, 6}));
  auto what = [](const std::string& text) {
    return Throws<std::logic_error>(Property(&std::logic_error::what, HasSubstr(text)));
  };
  EXPECT_THAT([&] { b.Add(x, y); }, what("add of f32[2,6] and s32[2,6]"));
  EXPECT_THAT([&] { b.Reshape(x, {5}); },
              what("reshape of (f32[2,6]) cannot be f32[5]: the number of elements stays"));
  EXPECT_THAT([&] { b.GetTupleElement(x, 0); }, what("not a tuple"));
  Builder other(module_, "other");
  EXPECT_THAT([&] { other.Build(x); }, what("root is not an instruction of this computation"));
}

TEST_F(BuilderTest, WhatTheVerifierRefusesIsRefusedAtTheCall) {
  Builder b(module_, "main");
  Instruction* x = b.Parameter(0, Array(kF32, {2, 6}));
  auto what = [](const std::string& text) {
    return Throws<std::logic_error>(Property(&std::logic_error::what, HasSubstr(text)));
  };
  EXPECT_THAT([&] { b.Add(x, b.Convert(x, kBF16)); }, what("float operands must be of one type"));
  EXPECT_THAT([&] { b.Broadcast(x, {3, 6}, {0, 1}); }, what("do not map it"));
  EXPECT_THAT([&] { b.Compare(x, x, "LESS"); }, what("direction \"LESS\""));
  EXPECT_THAT([&] { b.Reduce(x, b.Constant(kF32, 0), {1}, b.AddReducer(kS32)); },
              what("of other types"));
  std::vector<int64_t> dims = {3};
  std::vector<double> two = {1, 2};
  EXPECT_THAT([&] { b.ConstantArray(kF32, dims, two); }, what("2 elements"));
  EXPECT_THAT([&] { b.BitcastConvert(x, PrimitiveType::kF64); }, what("bitcast-convert"));
  std::vector<int64_t> sizes = {1, 1};
  EXPECT_THAT([&] { b.Gather(x, b.Iota(kS32, {4}, 0), {.offset = {0}}, sizes); }, what("gather"));
}

TEST_F(BuilderTest, ReducersAreMadeOncePerModule) {
  Builder b(module_, "main");
  Computation* sum = b.AddReducer(kF32);
  EXPECT_EQ(b.AddReducer(kF32), sum);
  EXPECT_NE(b.MaxReducer(kF32), sum);
  EXPECT_NE(b.AddReducer(kBF16), sum);
  EXPECT_EQ(Builder(module_, "other").AddReducer(kF32), sum);
  ExpectVerified(b.Build(b.Parameter(0, Array(kF32, {2}))));
}

TEST_F(BuilderTest, NamesAreUniqueInTheModule) {
  Builder a(module_, "a");
  Instruction* first = a.Constant(kF32, 1);
  Instruction* second = a.Constant(kF32, 1);
  a.Build(first);
  Builder b(module_, "b");
  EXPECT_NE(first->name, second->name);
  EXPECT_NE(b.Constant(kF32, 1)->name, first->name);
}

TEST_F(BuilderTest, ScopesNameWhatIsMadeInThem) {
  Builder b(module_, "main");
  auto made = [&] { return std::string(DecodeMetadata(b.Constant(kF32, 1)->metadata).op_name); };
  EXPECT_EQ(made(), "");
  {
    Builder::Scope outer(b, "network");
    EXPECT_EQ(made(), "network");
    {
      Builder::Scope inner(b, "block0");
      EXPECT_EQ(made(), "network/block0");
    }
    EXPECT_EQ(made(), "network");
  }
  EXPECT_EQ(made(), "");
}

}  // namespace
}  // namespace eightfold::hlo
