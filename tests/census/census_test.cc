#include "census/census.h"

#include <gmock/gmock.h>

#include "census/find_kernels.h"
#include "census/flops.h"
#include "modules.h"

namespace eightfold::census {
namespace {

using ::testing::ElementsAre;

// FLOPs of the root of a module's entry, or of the call below a get-tuple-element there.
const hlo::Instruction& Root(const hlo::Module& module) { return *module.entry->root; }

TEST(FlopsTest, ConvolutionsByHand) {
  auto plain = Parse(R"(HloModule m
ENTRY e { x = f32[2,8,8,16] parameter(0) w = f32[3,3,16,32] parameter(1)
  ROOT c = f32[2,8,8,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })");
  EXPECT_EQ(ConvolutionFlops(Root(*plain)), 2.0 * (2 * 8 * 8 * 32) * (3 * 3) * 16);
  auto strided = Parse(R"(HloModule m
ENTRY e { x = f32[2,8,8,16] parameter(0) w = f32[3,3,16,32] parameter(1)
  ROOT c = f32[2,4,4,32] convolution(x, w), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f })");
  EXPECT_EQ(ConvolutionFlops(Root(*strided)), 2.0 * (2 * 4 * 4 * 32) * 9 * 16);
  // Four groups: each output sees 4 of the 16 input channels.
  auto grouped = Parse(R"(HloModule m
ENTRY e { x = f32[2,8,8,16] parameter(0) w = f32[3,3,4,32] parameter(1)
  ROOT c = f32[2,8,8,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4 })");
  EXPECT_EQ(ConvolutionFlops(Root(*grouped)), 2.0 * (2 * 8 * 8 * 32) * 9 * 4);
}

TEST(FlopsTest, BackwardCallsCostAsMuchAsTheirForwardConvolution) {
  double forward = 2.0 * (2 * 8 * 8 * 32) * 9 * 16;
  auto filter = Parse(R"(HloModule m
ENTRY e { x = f32[2,8,8,16] parameter(0) g = f32[2,8,8,32] parameter(1)
  ROOT c = (f32[3,3,16,32], u8[0]) custom-call(x, g), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convBackwardFilter" })");
  EXPECT_EQ(ConvolutionFlops(Root(*filter)), forward);
  auto input = Parse(R"(HloModule m
ENTRY e { g = f32[2,8,8,32] parameter(0) w = f32[3,3,16,32] parameter(1)
  ROOT c = (f32[2,8,8,16], u8[0]) custom-call(g, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convBackwardInput" })");
  EXPECT_EQ(ConvolutionFlops(Root(*input)), forward);
}

TEST(FlopsTest, MatmulsByHand) {
  auto dot = Parse(R"(HloModule m
ENTRY e { x = f32[5,8,16] parameter(0) y = f32[5,16,32] parameter(1)
  ROOT d = f32[5,8,32] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })");
  EXPECT_EQ(DotFlops(Root(*dot)), 2.0 * 5 * 8 * 32 * 16);
  auto call = Parse(R"(HloModule m
ENTRY e { x = f32[8,16] parameter(0) y = f32[16,32] parameter(1)
  ROOT d = (f32[8,32], s8[64]) custom-call(x, y), custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}} })");
  EXPECT_EQ(GemmCallFlops(Root(*call)), 2.0 * 8 * 32 * 16);
  // Groups of rows: every row is multiplied once.
  auto ragged = Parse(R"(HloModule m
ENTRY e { x = f32[12,16] parameter(0) y = f32[3,16,7] parameter(1) n = s32[3] parameter(2)
  ROOT d = f32[12,7] ragged-dot(x, y, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} })");
  EXPECT_EQ(DotFlops(Root(*ragged)), 2.0 * 12 * 7 * 16);
}

TEST(FlopsTest, AttentionIsTwoProductsOrFive) {
  auto flops = [](const std::string& target, const std::string& dims) {
    auto module = Parse(
        R"(HloModule m
ENTRY e { q = bf16[2,128,4,64] parameter(0) k = bf16[2,256,4,64] parameter(1) v = bf16[2,256,4,64] parameter(2)
  ROOT a = (bf16[2,128,4,64], u8[0]) custom-call(q, k, v), custom_call_target=")" +
        target + R"(", backend_config={"cudnn_fmha_backend_config":{")" + dims +
        R"(":{"lhs_contracting_dimensions":["3"]},"intermediate_tensor_shape":{"dimensions":["2","4","128","256"]}}} })");
    return AttentionFlops(Root(*module));
  };
  double product = 2.0 * (2 * 4 * 128 * 256) * 64;
  EXPECT_EQ(flops("__cudnn$fmhaSoftmax", "bmm1_dot_dimension_numbers"), 2 * product);
  EXPECT_EQ(flops("__cudnn$fmhaSoftmaxBackward", "other"), 5 * product);
}

// A program with one FP8 dot, before and after, in as many forms as there are backends.
std::string Program(const std::string& operand_type) {
  return R"(HloModule m
ENTRY e { x = f8e4m3fn[8,8] parameter(0) y = f8e4m3fn[8,8] parameter(1)
  a = )" +
         operand_type + R"([8,8] convert(x)
  b = )" +
         operand_type + R"([8,8] convert(y)
  ROOT d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general"} })";
}

std::string Fusion(const std::string& type, const std::string& fusion) {
  return R"(HloModule m, is_scheduled=true
fused { p = )" +
         type + R"([8,8] parameter(0) q = )" + type + R"([8,8] parameter(1)
  d = f32[8,8] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general"}
  ROOT t = f32[8,8] tanh(d) }
ENTRY e { x = )" +
         type + R"([8,8] parameter(0) y = )" + type + R"([8,8] parameter(1)
  ROOT f = f32[8,8] fusion(x, y), calls=fused, )" +
         fusion + " }";
}

constexpr char kTriton[] =
    R"(kind=kCustom, backend_config={"fusion_backend_config":{"kind":"__triton_nested_gemm_fusion"}})";

TEST(CensusTest, FusionsAreLookedInto) {
  struct {
    std::string fusion;
    Backend backend;
    bool tensor_cores;
  } cases[] = {
      {kTriton, Backend::kTriton, true},
      {R"(kind=kCustom, backend_config={"fusion_backend_config":{"kind":"__cudnn$fusion"}})",
       Backend::kCudnnFusion, true},
      {R"(kind=kCustom, backend_config={"fusion_backend_config":{"kind":"__custom_fusion"}})",
       Backend::kCustomFusion, true},
      {"kind=kLoop", Backend::kLoop, false},
      {"kind=kInput", Backend::kLoop, false},
  };
  for (const auto& c : cases) {
    Census census = TakeCensus(Parse(Program("bf16")), Parse(Fusion("bf16", c.fusion)));
    ASSERT_EQ(census.kernels.size(), 1U);
    const Kernel& kernel = census.kernels[0];
    EXPECT_EQ(kernel.backend, c.backend) << c.fusion;
    EXPECT_EQ(kernel.uses_tensor_cores(), c.tensor_cores);
    EXPECT_EQ(ToString(kernel.runs_in), "bf16");
    EXPECT_EQ(ToString(kernel.ask.types), "f8e4m3fn");
    EXPECT_EQ(kernel.status, Status::kDemoted);
    EXPECT_THAT(kernel.epilogue, ElementsAre("tanh"));
    EXPECT_EQ(kernel.launch->name, "f");
    EXPECT_EQ(kernel.bytes, 2.0 * 64 * 2 + 64 * 4);
  }
}

TEST(CensusTest, UndecidedOnlyWhereTheOtherCandidateRunsInFp8) {
  auto before = Parse(Program("bf16"));
  auto triton = Parse(Fusion("bf16", kTriton));
  auto call = [](const std::string& type) {
    return Parse(R"(HloModule m, is_scheduled=true
ENTRY e { x = )" +
                 type + R"([8,8] parameter(0) y = )" + type + R"([8,8] parameter(1)
  ROOT d = (f32[8,8], s8[64]) custom-call(x, y), custom_call_target="__cublas$lt$matmul$f8", metadata={op_name="jit(f)/dot_general"}, backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}} })");
  };
  Census one = TakeCensus(before, triton);
  EXPECT_TRUE(NeedsOtherCandidate(one));
  AddOtherCandidate(one, *call("bf16"));
  EXPECT_EQ(one.kernels[0].status, Status::kDemoted);
  EXPECT_TRUE(one.kernels[0].without_triton.has_value());
  Census both = TakeCensus(before, triton);
  AddOtherCandidate(both, *call("f8e4m3fn"));
  EXPECT_EQ(both.kernels[0].status, Status::kUndecided);
  EXPECT_EQ(ToString(both.kernels[0].without_triton->runs_in), "f8e4m3fn");
  EXPECT_EQ(both.kernels[0].without_triton->backend, Backend::kCublasLt);
  EXPECT_FALSE(NeedsOtherCandidate(both));
}

TEST(CensusTest, StatusesByWhatWasAskedAndWhatRuns) {
  auto status = [](const std::string& left, const std::string& right, const std::string& runs) {
    auto before = Parse(
        "HloModule m\nENTRY e { x = " + left + "[8,8] parameter(0) y = " + right +
        "[8,8] parameter(1)\n a = f32[8,8] convert(x) b = f32[8,8] convert(y)\n ROOT d = f32[8,8] "
        "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
        "metadata={op_name=\"jit(f)/dot_general\"} }");
    return TakeCensus(before, Parse(Fusion(runs, kTriton))).kernels[0].status;
  };
  EXPECT_EQ(status("f8e4m3fn", "f8e5m2", "f8e4m3fn"), Status::kAsAsked);
  EXPECT_EQ(status("f8e4m3fn", "f8e5m2", "bf16"), Status::kDemoted);
  EXPECT_EQ(status("f8e4m3fn", "bf16", "bf16"), Status::kWeightOnly);
  EXPECT_EQ(status("f8e4m3fn", "f32", "f32"), Status::kWeightOnly);
  // 8-bit weights in a bf16 product that runs in f32: bf16 was lost, too.
  EXPECT_EQ(status("f8e4m3fn", "bf16", "f32"), Status::kF32FromBf16);
  EXPECT_EQ(status("bf16", "bf16", "f32"), Status::kF32FromBf16);
  EXPECT_EQ(status("f16", "f16", "f32"), Status::kF32FromBf16);
  EXPECT_EQ(status("bf16", "bf16", "bf16"), Status::kAsAsked);
  EXPECT_EQ(status("bf16", "f32", "f32"), Status::kAsAsked);
  EXPECT_EQ(status("f32", "f32", "f32"), Status::kAsAsked);
  EXPECT_EQ(status("s8", "s8", "s8"), Status::kAsAsked);
  EXPECT_EQ(status("s8", "s8", "f32"), Status::kIntegerWidened);
  EXPECT_EQ(status("s8", "f8e4m3fn", "bf16"), Status::kIntegerWidened);
  EXPECT_EQ(status("s8", "bf16", "bf16"), Status::kWeightOnly);
}

// The callee's dot runs once for each call, on different types: two kernels after inlining, told
// apart by order.
TEST(CensusTest, EachCallOfAComputationAsksForItsOwn) {
  auto before = Parse(R"hlo(HloModule m
f { a = f32[8,8] parameter(0) ROOT d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="dot_general"} }
ENTRY e { x = f8e4m3fn[8,8] parameter(0) y = f32[8,8] parameter(1) w = f32[8,8] convert(x)
  g = f32[8,8] call(w), to_apply=f, metadata={op_name="jit(g)/jit(f)"}
  h = f32[8,8] call(y), to_apply=f, metadata={op_name="jit(g)/jit(f)"}
  ROOT t = (f32[8,8], f32[8,8]) tuple(g, h)
})hlo");
  std::string dot =
      " = f32[8,8] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"jit(g)/jit(f)/dot_general\"}\n";
  auto after = Parse("HloModule m, is_scheduled=true\nENTRY e { w = f32[8,8] parameter(0)\n  d" +
                     dot + "  e" + dot + "  ROOT t = (f32[8,8], f32[8,8]) tuple(d, e) }");
  Census census = TakeCensus(before, after);
  ASSERT_EQ(census.kernels.size(), 2U);
  EXPECT_EQ(census.kernels[0].status, Status::kDemoted);
  EXPECT_EQ(census.kernels[1].status, Status::kAsAsked);
  EXPECT_TRUE(census.gone.empty());
}

TEST(CensusTest, ClonesShareAnAskAndAmbiguousOnesAreNotGuessed) {
  std::string named =
      ", lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"jit(g)/dot_general\"}\n";
  auto one = Parse(
      "HloModule m\nENTRY e { x = f8e4m3fn[8,8] parameter(0) w = f32[8,8] convert(x)\n  ROOT d = "
      "f32[8,8] dot(w, w)" +
      named + "}");
  auto two = Parse(
      "HloModule m\nENTRY e { x = f8e4m3fn[8,8] parameter(0) y = f32[8,8] parameter(1) w = "
      "f32[8,8] convert(x)\n  d = f32[8,8] dot(w, w)" +
      named + "  f = f32[8,8] dot(y, y)" + named + "  ROOT t = (f32[8,8], f32[8,8]) tuple(d, f) }");
  auto after = Parse(
      "HloModule m, is_scheduled=true\nENTRY e { w = f32[8,8] parameter(0)\n  a = f32[8,8] dot(w, "
      "w)" +
      named + "  b = f32[8,8] dot(w, w)" + named + "  c = f32[8,8] dot(w, w)" + named +
      "  ROOT t = (f32[8,8], f32[8,8], f32[8,8]) tuple(a, b, c) }");
  for (const Kernel& kernel : TakeCensus(one, after).kernels)
    EXPECT_EQ(kernel.status, Status::kDemoted);
  for (const Kernel& kernel : TakeCensus(two, after).kernels)
    EXPECT_EQ(kernel.status, Status::kUnmatched);
}

// Several layers written on one line look alike; which is which shows in what they run in.
TEST(CensusTest, KernelsThatLookAlikeArePairedByWhatTheyCanBe) {
  std::string named =
      ", lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"jit(g)/dot_general\"}\n";
  auto before = Parse(
      "HloModule m\nENTRY e { x = f8e4m3fn[8,8] parameter(0) y = bf16[8,8] parameter(1)\n  a = "
      "f32[8,8] dot(x, x)" +
      named + "  b = f32[8,8] dot(y, y)" + named + "  ROOT t = (f32[8,8], f32[8,8]) tuple(a, b) }");
  auto statuses = [&](const std::string& first, const std::string& second) {
    auto after =
        Parse("HloModule m, is_scheduled=true\nENTRY e { x = " + first + "[8,8] parameter(0) y = " +
              second + "[8,8] parameter(1)\n  a = f32[8,8] dot(x, x)" + named +
              "  b = f32[8,8] dot(y, y)" + named + "  ROOT t = (f32[8,8], f32[8,8]) tuple(a, b) }");
    std::vector<Status> found;
    for (const Kernel& kernel : TakeCensus(before, after).kernels) {
      found.push_back(kernel.status);
    }
    return found;
  };
  EXPECT_THAT(statuses("f8e4m3fn", "bf16"), ElementsAre(Status::kAsAsked, Status::kAsAsked));
  EXPECT_THAT(statuses("bf16", "f8e4m3fn"), ElementsAre(Status::kAsAsked, Status::kAsAsked));
  EXPECT_THAT(statuses("bf16", "f32"), ElementsAre(Status::kAsAsked, Status::kDemoted));
}

// XLA folds the transpose behind a weight gradient into the dot, and gives it the transpose's name.
TEST(CensusTest, FoldedOperationsAreFoundByTheirSource) {
  std::string tables = R"(
FileNames
1 "f.py"

FunctionNames
1 "g"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

)";
  auto before = Parse("HloModule m\n" + tables +
                      R"(ENTRY e { x = f8e4m3fn[8,8] parameter(0) w = bf16[8,8] convert(x)
  d = bf16[8,8] dot(w, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general" stack_frame_id=1}
  ROOT t = bf16[8,8] transpose(d), dimensions={1,0}, metadata={op_name="jit(f)/transpose" stack_frame_id=1} })");
  auto after =
      Parse("HloModule m, is_scheduled=true\n" + tables + R"(ENTRY e { w = bf16[8,8] parameter(0)
  ROOT d = bf16[8,8] dot(w, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/transpose" stack_frame_id=1} })");
  Census census = TakeCensus(before, after);
  ASSERT_EQ(census.kernels.size(), 1U);
  EXPECT_EQ(census.kernels[0].status, Status::kDemoted);
}

TEST(CensusTest, ProgramThatIsNotCompiledIsNotJudged) {
  Census census = TakeCensus(nullptr, Parse(Program("bf16")));
  ASSERT_EQ(census.kernels.size(), 1U);
  EXPECT_EQ(census.kernels[0].status, Status::kAsAsked);
  EXPECT_EQ(ToString(census.kernels[0].ask.types), "f8e4m3fn");
}

TEST(CensusTest, WhatIsNotInTheCompiledModuleIsListed) {
  auto after = Parse("HloModule m, is_scheduled=true\nENTRY e { ROOT x = f32[8,8] parameter(0) }");
  Census census = TakeCensus(Parse(Program("f32")), after);
  ASSERT_EQ(census.gone.size(), 1U);
  EXPECT_EQ(census.gone[0].op_name, "jit(f)/dot_general");
  EXPECT_EQ(ToString(census.gone[0].ask.types), "f8e4m3fn");
}

TEST(CensusTest, WithoutAModuleBeforeAsksAreInferred) {
  auto after = Parse(R"(HloModule m, is_scheduled=true
fused { p = f8e4m3fn[8,8] parameter(0) q = f8e4m3fn[8,8] parameter(1)
  a = bf16[8,8] convert(p) b = bf16[8,8] convert(q)
  ROOT d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY e { x = f8e4m3fn[8,8] parameter(0) y = f8e4m3fn[8,8] parameter(1)
  ROOT f = f32[8,8] fusion(x, y), calls=fused, kind=kCustom })");
  Census census = TakeCensus(nullptr, after);
  ASSERT_EQ(census.kernels.size(), 1U);
  EXPECT_TRUE(census.kernels[0].ask.inferred);
  EXPECT_EQ(census.kernels[0].status, Status::kDemoted);
}

TEST(CensusTest, MatmulThatBecameMultiplyAndReduceIsAKernel) {
  std::string reduce = R"(HloModule m, is_scheduled=true
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
fused { x = f32[8,16] parameter(0) y = f32[16] parameter(1)
  b = f32[8,16] broadcast(y), dimensions={1}
  m = f32[8,16] multiply(x, b), metadata={op_name="jit(f)/dot_general"}
  z = f32[] constant(0)
  ROOT r = f32[8] reduce(m, z), dimensions={1}, to_apply=add, metadata={op_name="NAME"} }
ENTRY e { x = f32[8,16] parameter(0) y = f32[16] parameter(1)
  ROOT f = f32[8] fusion(x, y), kind=kInput, calls=fused })";
  std::string other = reduce;
  reduce.replace(reduce.find("NAME"), 4, "jit(f)/dot_general");
  other.replace(other.find("NAME"), 4, "jit(f)/reduce_sum");
  Census census = TakeCensus(nullptr, Parse(reduce));
  ASSERT_EQ(census.kernels.size(), 1U);
  EXPECT_EQ(census.kernels[0].backend, Backend::kReduce);
  EXPECT_EQ(census.kernels[0].flops, 2.0 * 8 * 16);
  EXPECT_TRUE(TakeCensus(nullptr, Parse(other)).kernels.empty());
}

// 2^40 ways to the dot: they are not walked one by one, and it is still matched.
TEST(CensusTest, ExponentiallyManyWaysEnd) {
  std::string text = R"(HloModule m
f0 { p = f32[8,8] parameter(0) ROOT d = f32[8,8] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="dot_general"} }
)";
  for (int i = 1; i <= 40; ++i) {
    std::string callee = "f" + std::to_string(i - 1);
    text += "f" + std::to_string(i) +
            " { p = f32[8,8] parameter(0) a = f32[8,8] call(p), to_apply=" + callee +
            " ROOT b = f32[8,8] call(a), to_apply=" + callee + " }\n";
  }
  text += "ENTRY e { p = f32[8,8] parameter(0) ROOT r = f32[8,8] call(p), to_apply=f40 }\n";
  auto module = Parse(text);
  Census census = TakeCensus(module, module);
  EXPECT_TRUE(census.reached_too_often);
  ASSERT_EQ(census.kernels.size(), 1U);
  EXPECT_EQ(census.kernels[0].status, Status::kAsAsked);
}

}  // namespace
}  // namespace eightfold::census
