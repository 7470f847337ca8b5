#include "hlo/infer_shape.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "hlo/text/text.h"

namespace eightfold::hlo {
namespace {

constexpr std::string_view kComputations = R"(sc {
  a = f32[] parameter(0)
  ROOT n = f32[] negate(a)
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT n = f32[] add(a,b)
}
addb {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT n = f32[] constant(1)
}
ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT n = pred[] compare(a,b), direction=GE
}
id { 
  a = f32[2,3,4]{0,1,2} parameter(0)
  ROOT n = f32[2,3,4]{1,0,2} negate(a)
}
cnd {
  a = f32[2,3,4]{0,1,2} parameter(0)
  ROOT n = pred[] constant(true)
}
argmax {
  a = f32[] parameter(0)
  ai = s32[] parameter(1)
  b = f32[] parameter(2)
  bi = s32[] parameter(3)
  ROOT t = (f32[], s32[]) tuple(a, bi)
}
)";

constexpr std::string_view kParameters = R"(  p = f32[2,3,4]{0,1,2} parameter(0)
  q = f32[2,3,4] parameter(1)
  i = s32[] parameter(2)
  s = f32[] parameter(3)
  pr = pred[2,3,4]{0,2,1} parameter(4)
  x = f32[2,8,8,4]{0,1,2,3} parameter(5)
  k = f32[3,3,4,6] parameter(6)
  v = f32[3]{0} parameter(7)
  tt = (f32[2,3]{0,1}, s32[]) parameter(8)
  si = s32[2,3,4]{0,1,2} parameter(9)
  sp = pred[] parameter(10)
  bt = bf16[2,3,4]{0,1,2} parameter(11)
  m = f32[3,3]{0,1} parameter(12)
  gi = s32[5,1] parameter(13)
  gu = f32[5,3]{0,1} parameter(14)
  dyn = f32[<=6,4] parameter(15)
  c = c64[4,8]{0,1} parameter(16)
  tok = token[] parameter(17)
  rw = f32[2,3,7] parameter(18)
  rs = s32[2] parameter(19)
)";

Result<std::unique_ptr<Module>> Read(std::string_view instruction) {
  std::string text = "HloModule t\n";
  text += kComputations;
  text += "ENTRY e {\n";
  text += kParameters;
  text += "  ROOT result = ";
  text += instruction;
  return ReadText(Source::FromBytes("t.hlo", text + "\n}\n"));
}

struct Case {
  std::string_view instruction;  // without its shape
  std::string_view shape;
};

// What jaxlib 0.10.2 prints for each after reading it without a shape.
constexpr Case kAsXla[] = {
    {"negate(p)", "f32[2,3,4]{0,1,2}"},
    {"add(p,q)", "f32[2,3,4]{0,1,2}"},
    {"add(q,p)", "f32[2,3,4]{2,1,0}"},
    {"compare(p,q), direction=EQ", "pred[2,3,4]{0,1,2}"},
    {"select(pr,p,q)", "f32[2,3,4]{0,2,1}"},
    {"select(sp,p,q)", "f32[2,3,4]{0,1,2}"},
    {"clamp(s,p,s)", "f32[2,3,4]{0,1,2}"},
    {"clamp(q,p,q)", "f32[2,3,4]{0,1,2}"},
    {"copy(p)", "f32[2,3,4]{0,1,2}"},
    {"dot(m,m), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[3,3]{1,0}"},
    {"convolution(x,k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
     "f32[2,8,8,6]{3,2,1,0}"},
    {"transpose(p), dimensions={2,0,1}", "f32[4,2,3]{1,2,0}"},
    {"reverse(p), dimensions={0}", "f32[2,3,4]{0,1,2}"},
    {"concatenate(p,q), dimensions={1}", "f32[2,6,4]{2,1,0}"},
    {"pad(p,s), padding=0_1x0_0x1_1", "f32[3,3,6]{2,1,0}"},
    {"reduce(p,s), dimensions={1}, to_apply=add", "f32[2,4]{1,0}"},
    {"reduce(p,si,s,i), dimensions={1}, to_apply=argmax", "(f32[2,4]{1,0}, s32[2,4]{1,0})"},
    {"reduce-window(x,s), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=add",
     "f32[2,4,4,4]{3,2,1,0}"},
    {"tuple(p,q)", "(f32[2,3,4]{0,1,2}, f32[2,3,4]{2,1,0})"},
    {"get-tuple-element(tt), index=0", "f32[2,3]{0,1}"},
    {"while(p), condition=cnd, body=id", "f32[2,3,4]{0,1,2}"},
    {"call(p), to_apply=id", "f32[2,3,4]{1,0,2}"},
    {"conditional(sp,p,p), true_computation=id, false_computation=id", "f32[2,3,4]{1,0,2}"},
    {"map(p), dimensions={0,1,2}, to_apply=sc", "f32[2,3,4]{2,1,0}"},
    {"gather(m,gi), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,3}",
     "f32[5,3]{1,0}"},
    {"scatter(m,gi,gu), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
     "f32[3,3]{0,1}"},
    {"select-and-scatter(x,x,s), window={size=1x1x1x1}, select=ge, scatter=add",
     "f32[2,8,8,4]{0,1,2,3}"},
    {"sort(v), dimensions={0}, to_apply=ge", "f32[3]{0}"},
    {"sort(v,v), dimensions={0}, to_apply=ge", "(f32[3]{0}, f32[3]{0})"},
    {"topk(v), k=2, largest=true", "(f32[2]{0}, s32[2]{0})"},
    {"fft(c), fft_type=FFT, fft_length={8}", "c64[4,8]{0,1}"},
    {"fft(gu), fft_type=RFFT, fft_length={3}", "c64[5,2]{0,1}"},
    {"cholesky(m)", "f32[3,3]{0,1}"},
    {"triangular-solve(m,m), left_side=true, transpose_a=NO_TRANSPOSE", "f32[3,3]{0,1}"},
    {"replica-id()", "u32[]"},
    {"partition-id()", "u32[]"},
    {"batch-norm-inference(p,v,v,v,v), epsilon=1, feature_index=1", "f32[2,3,4]{0,1,2}"},
    {"batch-norm-training(p,v,v), epsilon=1, feature_index=1",
     "(f32[2,3,4]{0,1,2}, f32[3]{0}, f32[3]{0})"},
    {"batch-norm-grad(p,v,v,v,p), epsilon=1, feature_index=1",
     "(f32[2,3,4]{0,1,2}, f32[3]{0}, f32[3]{0})"},
    {"complex(p,q)", "c64[2,3,4]{0,1,2}"},
    {"real(c)", "f32[4,8]{0,1}"},
    {"imag(c)", "f32[4,8]{0,1}"},
    {"real(p)", "f32[2,3,4]{0,1,2}"},
    {"abs(c)", "f32[4,8]{0,1}"},
    {"is-finite(p)", "pred[2,3,4]{0,1,2}"},
    {"after-all(tok)", "token[]"},
    {"add-dependency(p,tok)", "f32[2,3,4]{0,1,2}"},
    {"domain(p), domain={kind=\"sharding\", entry={maximal device=0}, exit={maximal device=1}}",
     "f32[2,3,4]{0,1,2}"},
    {"get-dimension-size(dyn), dimensions={0}", "s32[]"},
    {"set-dimension-size(p,i), dimensions={0}", "f32[<=2,3,4]{0,1,2}"},
    {"popcnt(si)", "s32[2,3,4]{0,1,2}"},
    {"not(si)", "s32[2,3,4]{0,1,2}"},
    {"scaled-dot(m,m,m,m), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[3,3]{1,0}"},
    {"add(p,bt)", "f32[2,3,4]{0,1,2}"},
    {"add(bt,p)", "f32[2,3,4]{0,1,2}"},
    {"select(pr,p,bt)", "f32[2,3,4]{0,2,1}"},
    {"concatenate(p,bt), dimensions={1}", "f32[2,6,4]{2,1,0}"},
    {"negate(dyn)", "f32[<=6,4]{1,0}"},
    {"add(dyn,dyn)", "f32[<=6,4]{1,0}"},
    {"reduce(bt,s), dimensions={1}, to_apply=add", "f32[2,4]{1,0}"},
    {"reduce-window(x,s), window={size=1x3x3x1 stride=1x3x3x1 pad=0_0x3_3x3_3x0_0 "
     "lhs_dilate=1x2x2x1 rhs_dilate=1x2x2x1 rhs_reversal=0x1x1x0}, to_apply=add",
     "f32[2,6,6,4]{3,2,1,0}"},
    {"gather(m,gi), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,2}",
     "f32[5,2]{1,0}"},
    {"dot(bt,p), lhs_contracting_dims={1,2}, rhs_contracting_dims={1,2}", "f32[2,2]{1,0}"},
    {"dot(p,q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={2}",
     "f32[2,3,3]{2,1,0}"},
    {"convolution(x,k), window={size=3x3 stride=2x1 pad=0_1x2_2 lhs_dilate=1x2 rhs_dilate=2x1}, "
     "dim_labels=b01f_01io->b01f",
     "f32[2,3,17,6]{3,2,1,0}"},
    {"convolution(x,k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->fb01",
     "f32[6,2,8,8]{3,2,1,0}"},
    {"convolution(x,x), window={size=8x8 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
     "f32[3,3,4,4]{3,2,1,0}"},
    {"sort(p,q), dimensions={1}, to_apply=ge", "(f32[2,3,4]{0,1,2}, f32[2,3,4]{2,1,0})"},
    {"conditional(i,p,p), branch_computations={id,id}", "f32[2,3,4]{1,0,2}"},
    {"set-dimension-size(p,i), dimensions={2}", "f32[2,3,<=4]{0,1,2}"},
    {"pad(p,s), padding=0_1_1x0_0_0x1_-2_3", "f32[4,3,12]{2,1,0}"},
    {"pad(bt,s), padding=0_1x0_0x1_1", "f32[3,3,6]{2,1,0}"},
};

// XLA wants these shapes written; they follow all the same. Worked out by hand.
constexpr Case kBeyondXla[] = {
    {"slice(p), slice={[0:1], [0:3:2], [1:3]}", "f32[1,2,2]{2,1,0}"},
    {"dynamic-slice(p, i, i, i), dynamic_slice_sizes={1,1,2}", "f32[1,1,2]{2,1,0}"},
    {"dynamic-update-slice(p, q, i, i, i)", "f32[2,3,4]{0,1,2}"},
    {"all-reduce(p), to_apply=add", "f32[2,3,4]{0,1,2}"},
    {"all-reduce(p, q), to_apply=add", "(f32[2,3,4]{0,1,2}, f32[2,3,4]{2,1,0})"},
    {"collective-permute(p), source_target_pairs={{0,1}}", "f32[2,3,4]{0,1,2}"},
    {"opt-barrier(tt)", "(f32[2,3]{0,1}, s32[])"},
    {"fusion(p), kind=kLoop, calls=id", "f32[2,3,4]{1,0,2}"},
    {"reduce-precision(p), exponent_bits=5, mantissa_bits=10", "f32[2,3,4]{0,1,2}"},
    {"ragged-dot(m, rw, rs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "f32[3,7]{1,0}"},
    {"ragged-dot(m, m, rs), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={0}",
     "f32[2,3,3]{2,1,0}"},
};

constexpr std::string_view kNotInferable[] = {
    "convert(p)",
    "bitcast(p)",
    "bitcast-convert(p)",
    "reshape(p)",
    "constant(3)",
    "iota(), iota_dimension=0",
    "custom-call(p), custom_call_target=\"a\"",
    "rng(s, s), distribution=rng_uniform",
    "parameter(20)",
};

struct Wrong {
  std::string_view instruction;
  std::string_view what;  // part of the message
};

constexpr Wrong kWrong[] = {
    {"add(p, si)", "add of f32[2,3,4] and s32[2,3,4]"},
    {"add(p, s)", "operands of an elementwise operation have one shape"},
    {"negate(tt)", "not an array"},
    {"and(p, p)", "and does not take f32"},
    {"not(p)", "not does not take f32"},
    {"exponential(si)", "exponential does not take s32"},
    {"clamp(q, s, q)", "clamp of f32[] with the bound f32[2,3,4]"},
    {"select(p, p, p)", "it takes a pred"},
    {"compare(p, si), direction=EQ", "compare of f32[2,3,4] and s32[2,3,4]"},
    {"complex(p, bt)", "two f32 or two f64"},
    {"get-tuple-element(tt), index=2", "index 2 of a tuple of 2 elements"},
    {"transpose(p), dimensions={0,1,1}", "not a permutation"},
    {"reverse(p), dimensions={3}", "not distinct dimensions"},
    {"concatenate(p, m), dimensions={0}", "concatenate of f32[2,3,4] and f32[3,3]"},
    {"concatenate(p, p), dimensions={7}", "needs one dimension of it"},
    {"pad(p, p), padding=0_1x0_0x1_1", "padding value is a scalar"},
    {"pad(p, s), padding=0_-9x0_0x1_1", "impossible size"},
    {"slice(p), slice={[0:9], [0:3], [0:4]}", "slice [0:9:1] of dimension 0"},
    {"dynamic-slice(p, i), dynamic_slice_sizes={1,1,2}", "start index for each of 3"},
    {"dynamic-slice(p, i, i, i), dynamic_slice_sizes={3,1,2}", "dynamic_slice_sizes={3,1,2}"},
    {"dynamic-update-slice(m, p, i, i)", "no larger"},
    {"dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "rhs dimensions {1}"},
    {"dot(m, gu), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "contracts lhs dimension 1 of f32[3,3] with rhs dimension 0 of f32[5,3]"},
    {"dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={}", "as many contracting"},
    {"convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2",
     "4 input features in 2 groups"},
    {"convolution(x, k), window={size=2x3}, dim_labels=b01f_01io->b01f", "window size 2"},
    {"convolution(x, k), window={size=3}, dim_labels=b01f_01io->b01f", "window has 1 dimensions"},
    {"reduce(p, s), dimensions={3}, to_apply=add", "not distinct dimensions"},
    {"reduce(p, s), dimensions={0}, to_apply=argmax", "a computation of 2 results"},
    {"reduce-window(p, s), window={size=3x3}, to_apply=add", "a window of 2 dimensions"},
    {"select-and-scatter(x, p, s), window={size=1x1x1x1}, select=ge, scatter=add",
     "the window makes f32[2,8,8,4]"},
    {"gather(m, gi), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,4}",
     "slice_sizes={1,4}"},
    {"sort(p), dimensions={3}, to_apply=ge", "needs one dimension of it"},
    {"topk(v), k=4, largest=true", "topk of f32[3] with k=4"},
    {"fft(p), fft_type=FFT, fft_length={4}", "the type or the last dimensions"},
    {"batch-norm-inference(p, v, v, v, v), epsilon=1, feature_index=0", "operand 1"},
    {"map(p), dimensions={0,1,2}, to_apply=argmax", "not a scalar"},
};

TEST(InferShapeTest, OmittedShapesAreThoseThatXlaFillsIn) {
  for (const Case& c : kAsXla) {
    auto module = Read(c.instruction);
    ASSERT_TRUE(module.has_value()) << module.error().Format();
    EXPECT_EQ(ToString(*(*module)->entry->root->shape), c.shape) << c.instruction;
  }
}

TEST(InferShapeTest, SomeShapesFollowThatXlaWantsWritten) {
  for (const Case& c : kBeyondXla) {
    auto module = Read(c.instruction);
    ASSERT_TRUE(module.has_value()) << module.error().Format();
    EXPECT_EQ(ToString(*(*module)->entry->root->shape), c.shape) << c.instruction;
  }
}

TEST(InferShapeTest, ShapesThatDoNotFollowMustBeWritten) {
  for (std::string_view instruction : kNotInferable) {
    auto module = Read(instruction);
    ASSERT_FALSE(module.has_value()) << instruction;
    EXPECT_NE(module.error().Format().find("shape"), std::string::npos) << module.error().Format();
  }
}

TEST(InferShapeTest, OperandsThatDoNotFitAreNamedInTheMessage) {
  for (const Wrong& wrong : kWrong) {
    auto module = Read(wrong.instruction);
    ASSERT_FALSE(module.has_value()) << wrong.instruction;
    EXPECT_NE(module.error().what.find(wrong.what), std::string::npos)
        << wrong.instruction << ": " << module.error().Format();
  }
}

// Every line doubles the tuple: 2^64 leaves in a page of text.
TEST(InferShapeTest, TuplesThatDoubleInEveryStepAreRefused) {
  std::string text = "HloModule t\nENTRY e {\n  t0 = f32[] parameter(0)\n";
  for (int i = 1; i <= 64; ++i) {
    std::string last = "t" + std::to_string(i - 1);
    text += "  t" + std::to_string(i) + " = tuple(" + last + ", " + last + ")\n";
  }
  auto module = ReadText(Source::FromBytes("t.hlo", text + "}\n"));
  ASSERT_FALSE(module.has_value());
  EXPECT_NE(module.error().what.find("a tuple of more than 65536 arrays"), std::string::npos)
      << module.error().Format();
}

}  // namespace
}  // namespace eightfold::hlo
