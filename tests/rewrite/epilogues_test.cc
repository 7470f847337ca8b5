// Each row of the table of absorbed operations, and what keeps them out. The graphs and operand
// orders are those that stock 0.10.2 and 0.12.0.1 write for the same modules.
#include "rewrite/epilogues.h"

#include "modules.h"

namespace eightfold::rewrite {
namespace {

constexpr std::string_view kConv = "  c = $T convolution(cx, cw), CONV\n";

struct Case {
  std::string body;      // behind the convolution c
  std::string graph;     // the serialized graph
  std::string operands;  // of the call
  std::string miss;      // a part of the near miss's condition; "": no near miss
};

class Absorbing : public testing::Test {
 protected:
  void Check(const Case& expected, Extent extent = Extent::kPlanned) {
    SCOPED_TRACE(expected.body);
    module_ = Parse(WithPrelude(std::string(kConv) + expected.body));
    result_ = Rewrite(*module_, Options(extent));
    ASSERT_EQ(result_.rewritten.size(), 1u);
    const hlo::Instruction* call = GraphCall(*module_);
    EXPECT_EQ(Graph(call), expected.graph);
    EXPECT_EQ(Operands(call), expected.operands);
    if (expected.miss.empty()) {
      EXPECT_TRUE(result_.near_misses.empty()) << result_.near_misses[0].condition;
    } else {
      ASSERT_FALSE(result_.near_misses.empty());
      EXPECT_NE(result_.near_misses[0].condition.find(expected.miss), std::string::npos)
          << result_.near_misses[0].condition;
      EXPECT_FALSE(result_.near_misses[0].left_alone);
    }
    EXPECT_EQ(Count(*module_, " convolution("), 0);
  }
  // The tuple that the call returns.
  std::string ResultType() const { return hlo::ToString(*GraphCall(*module_)->shape, false); }

  std::unique_ptr<hlo::Module> module_;
  ConvGraphResult result_;
};

TEST_F(Absorbing, Add) {
  Check({"  ROOT y = $T add(c, t)\n", "1:[f32]conv();2:[f32]add(1);", "x w t", ""});
  Check({"  ROOT y = $T add(t, c)\n", "1:[f32]conv();2:[f32]add(1);", "x w t", ""});
  EXPECT_EQ(result_.rewritten[0].ops, std::vector<std::string>{"add"});
  EXPECT_EQ(result_.rewritten[0].convolution, "c");
  EXPECT_EQ(result_.rewritten[0].computation, "main");
}

TEST_F(Absorbing, AddOfAValueInsideTheGraph) {
  Check({"  d = $T multiply(c, bs)\n  ROOT y = $T add(c, d)\n",
         "1:[f32]conv();2:[f32]scale(1);3:[f32]add(2,1);", "x w s", ""});
}

// XLA computes the convolution twice there, once as a legacy call.
TEST_F(Absorbing, NotAddOfAValueToItself) {
  Check({"  d = $T add(c, t)\n  ROOT y = $T add(d, d)\n", "1:[f32]conv();2:[f32]add(1);", "x w t",
         "adds a value to itself"});
}

TEST_F(Absorbing, Scale) {
  Check({"  ROOT y = $T multiply(c, bs)\n", "1:[f32]conv();2:[f32]scale(1);", "x w s", ""});
  Check({"  ROOT y = $T multiply(bs, c)\n", "1:[f32]conv();2:[f32]scale(1);", "x w s", ""});
  Check({"  ROOT y = $T multiply(c, t)\n", "1:[f32]conv();", "x w", ""});
  Check(
      {"  v = f32[16] parameter(6)\n  bv = $T broadcast(v), dimensions={3}\n"
       "  ROOT y = $T multiply(c, bv)\n",
       "1:[f32]conv();", "x w", "not the broadcast of a scalar"});
}

TEST_F(Absorbing, InverseScale) {
  Check({"  ROOT y = $T divide(c, bs)\n", "1:[f32]conv();2:[f32]invscale(1);", "x w s", ""});
  Check({"  ROOT y = $T divide(bs, c)\n", "1:[f32]conv();", "x w", ""});
}

TEST_F(Absorbing, Relu) {
  Check({"  ROOT y = $T maximum(c, b0)\n", "1:[f32]conv();2:[f32]relu(1);", "x w", ""});
  Check({"  ROOT y = $T maximum(b0, c)\n", "1:[f32]conv();2:[f32]relu(1);", "x w", ""});
  Check({"  ROOT y = $T maximum(c, b6)\n", "1:[f32]conv();", "x w", "broadcast 0"});
}

TEST_F(Absorbing, Relu6) {
  Check({"  ROOT y = $T clamp(b0, c, b6)\n", "1:[f32]conv();2:[f32]relu(1);3:[f32]min(2);",
         "x w b6", ""});
  // Its bounds stand for values of the graph, so they may serve nothing else.
  Check({"  d = $T add(t, b0)\n  e = $T clamp(b0, c, b6)\n  ROOT y = ($T, $T) tuple(d, e)\n",
         "1:[f32]conv();", "x w", "serve something else"});
}

TEST_F(Absorbing, Elu) {
  std::string body =
      "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
      "  e = $T exponential-minus-one(c)\n  ROOT y = $T select(p, c, e)\n";
  Check({body, "1:[f32]conv();2:[f32]elu(1);", "x w", ""});
  body.replace(body.find("GT"), 2, "GE");
  Check({body, "1:[f32]conv();", "x w", ""});
}

TEST_F(Absorbing, NotEluWhosePartsServeSomethingElse) {
  Check(
      {"  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
       "  e = $T exponential-minus-one(c)\n  y = $T select(p, c, e)\n"
       "  ROOT z = ($T, $T) tuple(y, e)\n",
       "1:[f32]conv();", "x w", "serve something else"});
}

// XLA absorbs such an ELU, and computes the convolution once more for the exponential: without the
// scale, which stands behind it now.
TEST(EpiloguesTest, ConvolutionThatStaysLosesItsScale) {
  auto module =
      Parse(WithPrelude("  sx = $T multiply(cx, bs)\n  c = $T convolution(sx, cw), CONV\n"
                        "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
                        "  e = $T exponential-minus-one(c)\n  y = $T select(p, c, e)\n"
                        "  ROOT z = ($T, $T) tuple(y, e)\n"));
  Rewrite(*module, Options(Extent::kAll));
  EXPECT_EQ(Graph(GraphCall(*module)), "1:[f32]conv();2:[f32]scale(1);3:[f32]elu(2);");
  EXPECT_EQ(Count(*module, " convolution(%cx, %cw)"), 1) << Print(*module);
  EXPECT_EQ(Count(*module, " multiply("), 1) << Print(*module);
}

TEST_F(Absorbing, LeakyRelu) {
  std::string body =
      "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
      "  slope = f32[] constant(0.25)\n  bl = $T broadcast(slope), dimensions={}\n"
      "  e = $T multiply(c, bl)\n  y = $T select(p, c, e)\n  ROOT z = $T add(y, t)\n";
  Check({body, "1:[f32]conv();2:[f32]min(1);3:[f32]scale(2);4:[f32]max(3,1);5:[f32]add(4);",
         "x w b0 slope t", ""});
  // The slope must be a constant.
  body.replace(body.find("slope = f32[] constant(0.25)"), 28, "slope = f32[] parameter(6)");
  Check({body, "1:[f32]conv();", "x w", "some of its 3 uses"});
}

// max(2 · min(v, 0), v) is v for a negative v, and not 2 · v. XLA absorbs it all the same.
TEST_F(Absorbing, NotLeakyReluWhoseSlopeIsAboveOne) {
  std::string body =
      "  p = pred[2,6,6,16] compare(c, b0), direction=GT\n"
      "  slope = f32[] constant(2)\n  bl = $T broadcast(slope), dimensions={}\n"
      "  e = $T multiply(c, bl)\n  ROOT y = $T select(p, c, e)\n";
  Check({body, "1:[f32]conv();", "x w", "slope is above 1"});
  Check({body, "1:[f32]conv();2:[f32]min(1);3:[f32]scale(2);4:[f32]max(3,1);", "x w b0 slope", ""},
        Extent::kAll);
}

TEST_F(Absorbing, SaturatingConversion) {
  Check({"  d = $T clamp(lo, c, hi)\n  ROOT y = f8e4m3fn[2,6,6,16] convert(d)\n",
         "1:[f8e4m3fn]conv();", "x w", ""});
  EXPECT_EQ(ResultType(), "(f8e4m3fn[2,6,6,16], u8[0])");
  Check(
      {"  d = $T multiply(c, bs)\n  e = $T clamp(lo, d, hi)\n"
       "  ROOT y = f8e4m3fn[2,6,6,16] convert(e)\n",
       "1:[f32]conv();2:[f8e4m3fn]scale(1);", "x w s", ""});
  EXPECT_EQ(result_.rewritten[0].ops, (std::vector<std::string>{"scale", "f8e4m3fn"}));
  Check(
      {"  f = f32[] constant(57344)\n  g = f32[] constant(-57344)\n"
       "  bf = $T broadcast(f), dimensions={}\n  bg = $T broadcast(g), dimensions={}\n"
       "  d = $T clamp(bg, c, bf)\n  ROOT y = f8e5m2[2,6,6,16] convert(d)\n",
       "1:[f8e5m2]conv();", "x w", ""});
}

TEST_F(Absorbing, NotConversionsThatDoNotSaturateInTheTypesRange) {
  Check({"  ROOT y = f8e4m3fn[2,6,6,16] convert(c)\n", "1:[f32]conv();", "x w", "not saturate"});
  // e4m3's range, e5m2's type.
  Check({"  d = $T clamp(lo, c, hi)\n  ROOT y = f8e5m2[2,6,6,16] convert(d)\n", "1:[f32]conv();",
         "x w", "±57344"});
  // The clamped values serve something else, too.
  Check(
      {"  d = $T clamp(lo, c, hi)\n  e = f8e4m3fn[2,6,6,16] convert(d)\n"
       "  ROOT y = (f8e4m3fn[2,6,6,16], $T) tuple(e, d)\n",
       "1:[f32]conv();", "x w", ""});
}

// XLA goes on, with operations that list nothing to read.
TEST_F(Absorbing, NothingBehindAConversion) {
  std::string body =
      "  d = $T clamp(lo, c, hi)\n  q = f8e4m3fn[2,6,6,16] convert(d)\n"
      "  u = f8e4m3fn[2,6,6,16] parameter(6)\n  ROOT y = f8e4m3fn[2,6,6,16] add(q, u)\n";
  Check({body, "1:[f8e4m3fn]conv();", "x w", "with which a graph ends"});
  Check({body, "1:[f8e4m3fn]conv();2:[f8e4m3fn]add();", "x w u", ""}, Extent::kAll);
  // What moves it or makes it wider again is no loss.
  Check(
      {"  d = $T clamp(lo, c, hi)\n  q = f8e4m3fn[2,6,6,16] convert(d)\n"
       "  ROOT y = $T convert(q)\n",
       "1:[f8e4m3fn]conv();", "x w", ""});
}

constexpr std::string_view kQuantize =
    "  k = $T clamp(lo, d, hi)\n  q = f8e4m3fn[2,6,6,16] convert(k)\n";
constexpr std::string_view kAmax =
    "  ab = $T abs(d)\n  am = f32[] reduce(ab, zero), dimensions={0,1,2,3}, to_apply=max\n";
constexpr std::string_view kBoth = "  ROOT y = (f8e4m3fn[2,6,6,16], f32[]) tuple(q, am)\n";

// As delayed scaling has it: the largest value, and what is scaled by an earlier one.
TEST_F(Absorbing, AmaxOfAnAbsoluteValue) {
  std::string amax =
      "  ab = $T abs(c)\n  am = f32[] reduce(ab, zero), dimensions={0,1,2,3}, to_apply=max\n";
  std::string quantize = "  d = $T multiply(c, bs)\n" + std::string(kQuantize), both(kBoth);
  Check(
      {amax + quantize + both, "1:[f32]conv();2:[f32]amax(1);3:[f8e4m3fn]scale(1);", "x w s", ""});
  EXPECT_EQ(ResultType(), "(f8e4m3fn[2,6,6,16], f32[], u8[0])");
  EXPECT_EQ(Count(*module_, "index=1"), 1);
  Check(
      {quantize + amax + both, "1:[f32]conv();2:[f8e4m3fn]scale(1);3:[f32]amax(1);", "x w s", ""});
}

// In the call it would be the maximum of what the conversion has cut off at 448.
TEST_F(Absorbing, NotAnAmaxOfWhatIsConverted) {
  std::string scaled = "  d = $T multiply(c, bs)\n";
  std::string quantize(kQuantize), amax(kAmax), both(kBoth);
  std::string refused = "1:[f32]conv();2:[f32]scale(1);", why = "would read it rounded to f8e4m3fn";
  Check({scaled + quantize + amax + both, refused, "x w s", why});
  Check({scaled + amax + quantize + both, refused, "x w s", why});
  std::string relu =
      "  r = $T maximum(d, b0)\n"
      "  am = f32[] reduce(r, zero), dimensions={0,1,2,3}, to_apply=max\n";
  Check({scaled + relu + quantize + both, refused, "x w s", why});
  // XLA gives the FP8 type to whatever comes last in the list, perhaps the amax.
  Check({scaled + quantize + amax + both, "1:[f32]conv();2:[f8e4m3fn]scale(1);3:[f32]amax(2);",
         "x w s", ""},
        Extent::kAll);
  Check({scaled + amax + quantize + both, "1:[f32]conv();2:[f32]scale(1);3:[f8e4m3fn]amax(2);",
         "x w s", ""},
        Extent::kAll);
}

// What is to be converted, r scaled.
constexpr std::string_view kScaledRelu = "  r = $T maximum(c, b0)\n  d = $T divide(r, bs)\n";

TEST_F(Absorbing, AmaxDirectlyOfARelu) {
  std::string amax = "  am = f32[] reduce(r, zero), dimensions={0,1,2,3}, to_apply=max\n";
  std::string scaled(kScaledRelu), rest = amax + std::string(kQuantize) + std::string(kBoth);
  Check({scaled + rest, "1:[f32]conv();2:[f32]relu(1);3:[f8e4m3fn]invscale(2);4:[f32]amax(2);",
         "x w s", ""});
  scaled.replace(scaled.find("maximum(c, b0)"), 14, "add(c, t)");
  Check({scaled + rest, "1:[f32]conv();2:[f32]add(1);", "x w t", "directly of a ReLU"});
}

TEST_F(Absorbing, AmaxOnlyOverAllElementsFromAConstantOfAtMostZero) {
  std::string relu(kScaledRelu), quantize(kQuantize);
  std::string refused = "1:[f32]conv();2:[f32]relu(1);";
  Check({relu + quantize + "  am = f32[] reduce(r, six), dimensions={0,1,2,3}, to_apply=max\n" +
             std::string(kBoth),
         refused, "x w", "at most 0"});
  Check({relu + quantize + "  am = f32[] reduce(r, s), dimensions={0,1,2,3}, to_apply=max\n" +
             std::string(kBoth),
         refused, "x w", "at most 0"});
  Check({relu + quantize + "  am = f32[16] reduce(r, zero), dimensions={0,1,2}, to_apply=max\n" +
             "  ROOT y = (f8e4m3fn[2,6,6,16], f32[16]) tuple(q, am)\n",
         refused, "x w", "over all elements"});
}

// XLA's pass crashes there: it has no tensor to return.
TEST_F(Absorbing, NotAnAmaxThatIsAllThatIsUsed) {
  Check(
      {"  d = $T maximum(c, b0)\n"
       "  ROOT am = f32[] reduce(d, zero), dimensions={0,1,2,3}, to_apply=max\n",
       "1:[f32]conv();2:[f32]relu(1);", "x w", "only an amax is used"});
}

TEST_F(Absorbing, NoExternalOperandMayDependOnAnAmax) {
  std::string amax(kAmax);
  Check({"  d = $T multiply(c, bs)\n" + amax +
             "  bm = $T broadcast(am), dimensions={}\n  ROOT y = $T divide(d, bm)\n",
         "1:[f32]conv();2:[f32]scale(1);", "x w s", "cycle"});
  // The other way round: the operand is taken first.
  Check(
      {"  d = $T multiply(c, bs)\n"
       "  ab = $T abs(d)\n  am = f32[] reduce(ab, zero), dimensions={0,1,2,3}, to_apply=max\n"
       "  an = f32[] negate(am)\n  bm = $T broadcast(an), dimensions={}\n"
       "  e = $T add(d, bm)\n  ROOT y = ($T, f32[]) tuple(e, am)\n",
       "1:[f32]conv();2:[f32]scale(1);", "x w s", "cycle"});
}

TEST_F(Absorbing, OneTensorAtMostLeavesTheGraph) {
  std::string two =
      "  d = $T multiply(c, bs)\n  e = $T add(d, t)\n  f = $T maximum(d, b0)\n"
      "  ROOT y = ($T, $T) tuple(e, f)\n";
  Check({two, "1:[f32]conv();2:[f32]scale(1);", "x w s", "all of its 2 uses"});
  // Longer branches are given up as a whole …
  Check(
      {"  e = $T add(c, t)\n  f = $T maximum(c, b0)\n  g = $T multiply(e, bs)\n"
       "  ROOT y = ($T, $T) tuple(g, f)\n",
       "1:[f32]conv();", "x w", "one tensor at most"});
  // … and taken as a whole when they come together again.
  Check(
      {"  e = $T add(c, t)\n  f = $T maximum(c, b0)\n  g = $T multiply(e, bs)\n"
       "  ROOT y = $T add(g, f)\n",
       "1:[f32]conv();2:[f32]add(1);3:[f32]scale(2);4:[f32]relu(1);5:[f32]add(3,4);", "x w t s",
       ""});
}

TEST_F(Absorbing, EveryUserOfTheValueMustBeAbsorbed) {
  Check(
      {"  d = $T add(c, t)\n  e = $T multiply(d, bs)\n  f = $T tanh(d)\n"
       "  ROOT y = ($T, $T) tuple(e, f)\n",
       "1:[f32]conv();2:[f32]add(1);", "x w t", "some of its 2 uses"});
}

TEST_F(Absorbing, OperandsFollowTheOrderOfTheGraph) {
  std::string joined =
      "  u = $T add(c, t)\n  v = $T maximum(c, b0)\n  u2 = $T multiply(u, bs)\n"
      "  ba = $T broadcast(a), dimensions={}\n  v2 = $T divide(v, ba)\n  o = $T add(u2, v2)\n"
      "  z = $T parameter(6)\n  ROOT y = $T add(o, z)\n";
  std::string graph =
      "1:[f32]conv();2:[f32]add(1);3:[f32]scale(2);4:[f32]relu(1);5:[f32]invscale(4);"
      "6:[f32]add(3,5);7:[f32]add(6);";
  Check({joined, graph, "x w t s a z", ""});
  Check({joined, graph, "x w t s z a", ""}, Extent::kAll);  // XLA's: as they were absorbed
}

// A value that was given up and is met again from elsewhere: XLA makes a cycle of it and aborts.
TEST_F(Absorbing, NothingThatWouldNeedItself) {
  Check(
      {"  d = $T multiply(c, bs)\n  e = $T add(d, c)\n  f = $T maximum(d, b0)\n"
       "  g = $T add(e, t)\n  h = $T add(g, f)\n  i = $T tanh(e)\n"
       "  ROOT y = ($T, $T) tuple(h, i)\n",
       "1:[f32]conv();", "x w", "depends on itself"});
}

TEST_F(Absorbing, NotWhatHasControlDependencies) {
  Check({"  d = $T add(c, t), control-predecessors={bs}\n  ROOT y = $T maximum(d, b0)\n",
         "1:[f32]conv();", "x w", "control dependencies"});
}

TEST_F(Absorbing, AChainTooLongForAnyKernelEndsInTime) {
  std::string body = "  y0 = $T add(c, t)\n";
  for (int i = 1; i < 5000; ++i) {
    body += (i == 4999 ? "  ROOT y" : "  y") + std::to_string(i) + " = $T add(y" +
            std::to_string(i - 1) + ", t)\n";
  }
  auto module = Parse(WithPrelude(std::string(kConv) + body));
  ConvGraphResult result = Rewrite(*module);
  ASSERT_EQ(result.rewritten.size(), 1u);
  EXPECT_GT(result.rewritten[0].ops.size(), 100u);
  EXPECT_LT(result.rewritten[0].ops.size(), 200u);
  ASSERT_EQ(result.near_misses.size(), 1u);
  EXPECT_NE(result.near_misses[0].condition.find("too large"), std::string::npos);
}

}  // namespace
}  // namespace eightfold::rewrite
