#include "census/origin.h"

#include <gmock/gmock.h>

#include "modules.h"

namespace eightfold::census {
namespace {

// The type that the left operand of the dot in `body` was born in. The entry's parameters are x8
// (f8e4m3fn), x16 (bf16), x32 (f32) of [8,8], s (a scalar), row ([8]) and blocks ([8,2]); `value`
// is what the dot multiplies.
struct Case {
  std::string name;
  std::string body;  // defines `value`, f32[8,8] or bf16[8,8]
  std::string type;
  std::string computations = "";
  Scale scale = Scale::kNone;
};

std::string Text(const Case& c) {
  return "HloModule m\n" + c.computations + R"(
ENTRY e {
  x8 = f8e4m3fn[8,8] parameter(0)
  x16 = bf16[8,8] parameter(1)
  x32 = f32[8,8] parameter(2)
  s = f32[] parameter(3)
  row = f32[8] parameter(4)
  blocks = f32[8,2] parameter(5)
  p = pred[] parameter(6)
  wide = f32[8,8] convert(x8)
)" + c.body +
         R"(
  ROOT dot = f32[8,8] dot(value, x32), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class OriginTest : public ::testing::TestWithParam<Case> {};

TEST_P(OriginTest, Traces) {
  auto module = Parse(Text(GetParam()));
  ASSERT_NE(module, nullptr);
  CallGraph graph(*module);
  Contexts contexts;
  auto origin = OriginTracer(graph, contexts).Trace(*module->entry->root->operands[0], nullptr);
  EXPECT_EQ(hlo::Name(origin.type), GetParam().type);
  EXPECT_EQ(origin.scale, GetParam().scale);
}

constexpr char kCarry[] = R"(
cond { c = (s32[], f32[8,8]) parameter(0) i = s32[] get-tuple-element(c), index=0 n = s32[] constant(4)
  ROOT lt = pred[] compare(i, n), direction=LT }
keep { c = (s32[], f32[8,8]) parameter(0) i = s32[] get-tuple-element(c), index=0
  v = f32[8,8] get-tuple-element(c), index=1 ROOT t = (s32[], f32[8,8]) tuple(i, v) }
grow { c = (s32[], f32[8,8]) parameter(0) i = s32[] get-tuple-element(c), index=0
  v = f32[8,8] get-tuple-element(c), index=1 w = f32[8,8] add(v, v) ROOT t = (s32[], f32[8,8]) tuple(i, w) }
round { c = (s32[], f32[8,8]) parameter(0) i = s32[] get-tuple-element(c), index=0
  v = f32[8,8] get-tuple-element(c), index=1 n = f8e4m3fn[8,8] convert(v) w = f32[8,8] convert(n)
  ROOT t = (s32[], f32[8,8]) tuple(i, w) }
)";
constexpr char kBranches[] = R"(
left { a = f8e4m3fn[8,8] parameter(0) ROOT r = f32[8,8] convert(a) }
right { a = f8e4m3fn[8,8] parameter(0) ROOT r = f32[8,8] convert(a) }
wide_one { a = f32[8,8] parameter(0) ROOT r = f32[8,8] negate(a) }
)";
constexpr char kCallee[] = R"(
pass { a = f32[8,8] parameter(0) b = f32[8,8] parameter(1) ROOT t = (f32[8,8], f32[8,8]) tuple(b, a) }
)";

INSTANTIATE_TEST_SUITE_P(
    All, OriginTest,
    ::testing::Values(
        Case{"itself", "  value = f32[8,8] negate(x32)", "f32"},
        Case{"widened", "  value = f32[8,8] copy(wide)", "f8e4m3fn"},
        Case{"widened_twice", "  b = bf16[8,8] convert(x8)\n  value = f32[8,8] convert(b)",
             "f8e4m3fn"},
        Case{"bf16", "  value = f32[8,8] convert(x16)", "bf16"},
        Case{"rounded", "  n = f8e5m2[8,8] convert(x32)\n  value = f32[8,8] convert(n)", "f8e5m2"},
        Case{"rounded_to_bf16_after_f8", "  value = bf16[8,8] convert(wide)", "f8e4m3fn"},
        Case{"moved",
             "  t = f32[8,8] transpose(wide), dimensions={1,0}\n  r = f32[64] reshape(t)\n  s1 = "
             "f32[32] slice(r), "
             "slice={[0:32]}\n  z = f32[] constant(0)\n  q = f32[64] pad(s1, z), padding=0_32\n  "
             "value = f32[8,8] "
             "reshape(q)",
             "f8e4m3fn"},
        Case{"concatenated_with_f8",
             "  a = f32[4,8] slice(wide), slice={[0:4], [0:8]}\n  value = f32[8,8] concatenate(a, "
             "a), dimensions={0}",
             "f8e4m3fn"},
        Case{"concatenated_with_f32",
             "  a = f32[4,8] slice(wide), slice={[0:4], [0:8]}\n  b = f32[4,8] slice(x32), "
             "slice={[0:4], [0:8]}\n"
             "  value = f32[8,8] concatenate(a, b), dimensions={0}",
             "f32"},
        Case{"scaled_by_scalar",
             "  b = f32[8,8] broadcast(s), dimensions={}\n  value = f32[8,8] multiply(wide, b)",
             "f8e4m3fn", "", Scale::kScalar},
        Case{"scale_on_the_left",
             "  b = f32[8,8] broadcast(s), dimensions={}\n  value = f32[8,8] multiply(b, wide)",
             "f8e4m3fn", "", Scale::kScalar},
        Case{"divided",
             "  b = f32[8,8] broadcast(s), dimensions={}\n  value = f32[8,8] divide(wide, b)",
             "f8e4m3fn", "", Scale::kScalar},
        Case{"scalar_divided_by_it",
             "  b = f32[8,8] broadcast(s), dimensions={}\n  value = f32[8,8] divide(b, wide)",
             "f32"},
        Case{"scaled_by_rows",
             "  b = f32[8,8] broadcast(row), dimensions={0}\n  value = f32[8,8] multiply(wide, b)",
             "f8e4m3fn", "", Scale::kVector},
        Case{"scaled_by_blocks",
             "  b = f32[8,2,4] broadcast(blocks), dimensions={0,1}\n  c = f32[8,8] reshape(b)\n  "
             "value = f32[8,8] "
             "multiply(wide, c)",
             "f8e4m3fn", "", Scale::kBlock},
        Case{"f32_scaled_is_f32",
             "  b = f32[8,8] broadcast(s), dimensions={}\n  value = f32[8,8] multiply(x32, b)",
             "f32"},
        Case{"bf16_scaled_in_f32_is_f32",
             "  w = f32[8,8] convert(x16)\n  b = f32[8,8] broadcast(s), dimensions={}\n  value = "
             "f32[8,8] multiply(w, "
             "b)",
             "f32"},
        Case{"product_of_two_arrays", "  value = f32[8,8] multiply(wide, wide)", "f32"},
        Case{"sum", "  value = f32[8,8] add(wide, wide)", "f32"},
        Case{"constant_is_itself",
             "  o = f32[] constant(1)\n  value = f32[8,8] broadcast(o), dimensions={}", "f32"},
        Case{"mask_is_itself",
             "  m = pred[8,8] compare(x32, x32), direction=EQ\n  value = f32[8,8] convert(m)",
             "f32"},
        Case{"int8", "  m = s8[8,8] convert(x32)\n  value = f32[8,8] convert(m)", "s8"},
        Case{"f8_in_bytes",
             "  m = u8[8,8] bitcast-convert(x8)\n  n = f8e4m3fn[8,8] bitcast-convert(m)\n  value = "
             "f32[8,8] convert(n)",
             "f8e4m3fn"},
        Case{"barrier",
             "  t = (f32[8,8], f32[8,8]) tuple(x32, wide)\n  o = (f32[8,8], f32[8,8]) "
             "opt-barrier(t)\n"
             "  value = f32[8,8] get-tuple-element(o), index=1",
             "f8e4m3fn"},
        Case{"sharding_custom_call",
             "  value = f32[8,8] custom-call(wide), custom_call_target=\"Sharding\"", "f8e4m3fn"},
        Case{"other_custom_call", "  value = f32[8,8] custom-call(wide), custom_call_target=\"f\"",
             "f32"},
        Case{"async_all_gather",
             "  g = (f32[8,8], f32[8,8]) all-gather-start(wide), replica_groups={{0}}, "
             "dimensions={0}\n  value = f32[8,8] all-gather-done(g)",
             "f8e4m3fn"},
        Case{"carry_kept",
             "  z = s32[] constant(0)\n  t = (s32[], f32[8,8]) tuple(z, wide)\n  w = (s32[], "
             "f32[8,8]) while(t), "
             "condition=cond, body=keep\n  value = f32[8,8] get-tuple-element(w), index=1",
             "f8e4m3fn", kCarry},
        Case{"carry_grown",
             "  z = s32[] constant(0)\n  t = (s32[], f32[8,8]) tuple(z, wide)\n  w = (s32[], "
             "f32[8,8]) while(t), "
             "condition=cond, body=grow\n  value = f32[8,8] get-tuple-element(w), index=1",
             "f32", kCarry},
        Case{"carry_rounded_from_zeros",
             "  z = s32[] constant(0)\n  o = f32[] constant(0)\n  b = f32[8,8] broadcast(o), "
             "dimensions={}\n  t = "
             "(s32[], f32[8,8]) tuple(z, b)\n  w = (s32[], f32[8,8]) while(t), condition=cond, "
             "body=round\n"
             "  value = f32[8,8] get-tuple-element(w), index=1",
             "f8e4m3fn", kCarry},
        Case{"branches_both_f8",
             "  y = f8e4m3fn[8,8] convert(x32)\n  value = f32[8,8] conditional(p, x8, y), "
             "true_computation=left, "
             "false_computation=right",
             "f8e4m3fn", kBranches},
        Case{"branches_one_f32",
             "  value = f32[8,8] conditional(p, x8, x32), true_computation=left, "
             "false_computation=wide_one",
             "f32", kBranches},
        Case{"call",
             "  c = (f32[8,8], f32[8,8]) call(wide, x32), to_apply=pass\n  value = f32[8,8] "
             "get-tuple-element(c), "
             "index=1",
             "f8e4m3fn", kCallee},
        Case{"call_twice_with_different_values",
             "  c = (f32[8,8], f32[8,8]) call(wide, x32), to_apply=pass\n  d = (f32[8,8], "
             "f32[8,8]) call(x32, x32), "
             "to_apply=pass\n  value = f32[8,8] get-tuple-element(c), index=1",
             "f8e4m3fn", kCallee},
        Case{"fusion",
             "  c = (f32[8,8], f32[8,8]) fusion(wide, x32), kind=kLoop, calls=pass\n  value = "
             "f32[8,8] "
             "get-tuple-element(c), index=1",
             "f8e4m3fn", kCallee}),
    [](const auto& test) { return test.param.name; });

TEST(OriginTest, LongChainsAreFollowed) {
  std::string text =
      "HloModule m\nENTRY e {\n  x = f8e4m3fn[8,8] parameter(0)\n  c0 = f32[8,8] convert(x)\n";
  constexpr int kCopies = 100000;
  for (int i = 1; i <= kCopies; ++i) {
    text += "  c" + std::to_string(i) + " = f32[8,8] copy(c" + std::to_string(i - 1) + ")\n";
  }
  text += "}\n";
  auto module = Parse(text);
  CallGraph graph(*module);
  Contexts contexts;
  auto origin = OriginTracer(graph, contexts).Trace(*module->entry->root, nullptr);
  EXPECT_EQ(origin.type, hlo::PrimitiveType::kF8E4M3FN);
}

}  // namespace
}  // namespace eightfold::census
