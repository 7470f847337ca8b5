#include "rewrite/expand.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"
#include "rewrite/conv_graph.h"
#include "rewrite/graph_text.h"

namespace eightfold::rewrite {
namespace {

using hlo::Opcode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<hlo::Module> Parse(const std::string& text) {
  auto module = hlo::ReadText(Source::FromBytes("test.hlo", text));
  if (!module) throw std::logic_error(module.error().Format());
  auto verified = hlo::Verify(**module);
  if (!verified) throw std::logic_error(verified.error().Format());
  return *std::move(module);
}

// A module whose entry is one graph call on two FP8 arrays, `operands` (names of parameters below)
// and the results.
std::string Call(const std::string& graph, const std::string& operands = "",
                 const std::string& shape = "(f32[1,4,4,2], u8[0])") {
  return fmt::format(
      R"(HloModule call
ENTRY main {{
  x = f8e4m3fn[1,4,4,3] parameter(0)
  w = f8e5m2[3,3,3,2] parameter(1)
  s = f32[] parameter(2)
  t = f32[1,4,4,2] parameter(3)
  one = bf16[1,1] parameter(4)
  bad = f32[3] parameter(5)
  ROOT cudnn-conv.7 = {} custom-call(x, w{}), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convForwardGraph", backend_config={{"operation_queue_id":"0","cudnn_conv_backend_config":{{"activation_mode":"kNone","conv_result_scale":1,"side_input_scale":0,"leakyrelu_alpha":0,"serialized_graph":"{}"}}}}
}})",
      shape, operands, graph);
}

std::vector<std::string> Opcodes(const hlo::Computation& computation) {
  std::vector<std::string> opcodes;
  for (const hlo::Instruction* i : hlo::OperandsFirst(computation)) {
    if (i->opcode != Opcode::kParameter) opcodes.emplace_back(hlo::Name(i->opcode));
  }
  return opcodes;
}

std::vector<std::string> Expanded(const std::string& text) {
  auto module = Parse(text);
  Result<int> count = Expand(*module);
  if (!count) return {count.error().what};
  EXPECT_EQ(*count, 1);
  auto verified = hlo::Verify(*module);
  EXPECT_TRUE(verified) << verified.error().Format();
  EXPECT_TRUE(hlo::WriteProto(*module));
  return Opcodes(*module->entry);
}

TEST(Expand, ConvolutionIsComputedInF32) {
  EXPECT_THAT(Expanded(Call("1:[f32]conv();")),
              ElementsAre("convert", "convert", "convolution", "constant", "broadcast", "tuple"));
}

TEST(Expand, OperationsInOrder) {
  EXPECT_THAT(
      Expanded(Call("7:[f32]conv();11:[f32]scale(7);13:[f32]add(11);15:[f32]relu(13);", ", s, t")),
      ElementsAre("convert", "convert", "convolution", "broadcast", "multiply", "add", "constant",
                  "broadcast", "maximum", "constant", "broadcast", "tuple"));
}

TEST(Expand, F8ResultsSaturate) {
  EXPECT_THAT(
      Expanded(Call("7:[f32]conv();8:[f8e4m3fn]invscale(7);", ", s", "(f8e4m3fn[1,4,4,2], u8[0])")),
      ElementsAre("convert", "convert", "convolution", "broadcast", "divide", "constant",
                  "broadcast", "constant", "broadcast", "clamp", "convert", "constant", "broadcast",
                  "tuple"));
}

TEST(Expand, AmaxIsAResult) {
  EXPECT_THAT(Expanded(Call("1:[f32]conv();2:[f32]amax(1);", "", "(f32[1,4,4,2], f32[], u8[0])")),
              ElementsAre("convert", "convert", "convolution", "abs", "constant", "reduce",
                          "constant", "broadcast", "tuple"));
}

TEST(Expand, ScalarOfAnyRankAndTypeIsSpreadOut) {
  EXPECT_THAT(Expanded(Call("1:[f32]conv();2:[f32]scale(1);", ", one")),
              ElementsAre("convert", "convert", "convolution", "reshape", "broadcast", "convert",
                          "multiply", "constant", "broadcast", "tuple"));
}

// Names tell which call an instruction comes from; elements of the call become the values.
TEST(Expand, ElementsOfTheCallAreReplacedByTheValues) {
  auto module = Parse(R"(
HloModule m
ENTRY main {
  x = f8e4m3fn[1,4,4,3] parameter(0)
  w = f8e4m3fn[3,3,3,2] parameter(1)
  call = (f32[1,4,4,2], f32[], u8[0]) custom-call(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convForwardGraph", backend_config={"cudnn_conv_backend_config":{"serialized_graph":"1:[f32]conv();2:[f32]amax(1);"}}, metadata={op_name="layer"}
  y = f32[1,4,4,2] get-tuple-element(call), index=0
  amax = f32[] get-tuple-element(call), index=1
  spread = f32[1,4,4,2] broadcast(amax), dimensions={}
  ROOT z = f32[1,4,4,2] divide(y, spread)
})");
  ASSERT_EQ(Expand(*module).value(), 1);
  ASSERT_TRUE(hlo::Verify(*module));
  const hlo::Instruction& z = *module->entry->root;
  EXPECT_EQ(z.name, "z");
  EXPECT_EQ(z.operands[0]->opcode, Opcode::kConvolution);
  EXPECT_EQ(z.operands[0]->name, "call.conv");
  EXPECT_FALSE(z.operands[0]->metadata.empty());
  EXPECT_EQ(z.operands[1]->operands[0]->opcode, Opcode::kReduce);
  EXPECT_EQ(std::ranges::count(Opcodes(*module->entry), "tuple"), 0);
  EXPECT_EQ(std::ranges::count(Opcodes(*module->entry), "custom-call"), 0);
}

TEST(Expand, ModuleWithoutGraphCallsIsLeftAlone) {
  auto module = Parse("HloModule m\nENTRY main { ROOT x = f32[2] parameter(0) }");
  const hlo::Instruction* root = module->entry->root;
  EXPECT_EQ(Expand(*module).value(), 0);
  EXPECT_EQ(module->entry->root, root);
}

TEST(Expand, ScheduledModuleLosesItsSchedule) {
  std::string text = Call("1:[f32]conv();");
  text.insert(text.find("call\n") + 4, ", is_scheduled=true");
  auto module = Parse(text);
  ASSERT_TRUE(module->is_scheduled);
  ASSERT_TRUE(Expand(*module));
  EXPECT_FALSE(module->is_scheduled);
  EXPECT_TRUE(hlo::Verify(*module));
}

struct BadCall {
  const char* graph;
  const char* operands;
  const char* shape;
  const char* message;
};

TEST(Expand, BadCallsAreNamedAndChangeNothing) {
  constexpr char kPlain[] = "(f32[1,4,4,2], u8[0])";
  const BadCall cases[] = {
      {"", "", kPlain, "its serialized graph is empty"},
      {"1:[f32]conv()", "", kPlain, "no ';'"},
      {"1:[f32]conv(;", "", kPlain, "no id"},
      {"1:[f32]relu();", "", kPlain, "must be the convolution"},
      {"1:[f32]conv();2:[f32]conv();", "", kPlain, "must be the convolution"},
      {"1:[f32]conv();1:[f32]relu(1);", "", kPlain, "a second operation 1"},
      {"1:[f32]conv();2:[f32]relu(3);", "", kPlain, "operation 2 uses 3"},
      {"1:[f32]conv();2:[f32]relu(2);", "", kPlain, "operation 2 uses 2"},
      {"1:[f32]conv();2:[f32]relu(1,1);", "", kPlain, "cannot have 2 operands"},
      {"1:[f32]conv();2:[f32]relu();", "", kPlain, "cannot have 0 operands"},
      {"1:[f32]conv();2:[f32]gelu(1);", "", kPlain, "unknown operation \"gelu\""},
      {"1:[s32]conv();", "", kPlain, "\"s32\" is no type"},
      {"1:[f32]conv();2:[f32]amax(1);3:[f32]relu(2);", "", kPlain, "uses an amax"},
      {"1:[f32]conv();2:[f32]relu(1);3:[f32]elu(1);", "", kPlain, "2 and 3 of its graph are both"},
      {"99999999999999999999:[f32]conv();", "", kPlain, "no id"},
      {"1:[f32]conv();2:[f32]scale(1);", "", kPlain, "takes 3 operands, and it has 2"},
      {"1:[f32]conv();", ", s", kPlain, "takes 2 operands, and it has 3"},
      {"1:[f32]conv();2:[f32]add(1);", ", bad", kPlain, "operand 2 cannot be f32[3]"},
      {"1:[f32]conv();2:[f32]amax(1);", "", kPlain, "makes 2 results"},
      {"1:[f32]conv();", "", "f32[1,4,4,2]", "makes 1 results"},
      {"1:[f32]conv();", "", "(f32[1,4,4,3], u8[0])", "its operands make f32[1,4,4,2]"},
      {"1:[f32]conv();", "", "(s32[1,4,4,2], u8[0])", "result 0 cannot be s32"},
      {"1:[f32]conv();", "", "(f32[1,4,4,2], f32[0])", "no scratch memory"},
  };
  for (const BadCall& bad : cases) {
    auto module = Parse(Call(bad.graph, bad.operands, bad.shape));
    const hlo::Instruction* root = module->entry->root;
    const size_t count = module->entry->instructions.size();
    Result<int> expanded = Expand(*module);
    ASSERT_FALSE(expanded) << bad.graph;
    EXPECT_THAT(expanded.error().what, HasSubstr("cudnn-conv.7 cannot be expanded"));
    EXPECT_THAT(expanded.error().what, HasSubstr(bad.message)) << bad.graph;
    EXPECT_EQ(expanded.error().where.line, 9u);
    EXPECT_EQ(module->entry->root, root);
    EXPECT_EQ(module->entry->instructions.size(), count);
    EXPECT_EQ(module->computations.size(), 1u);
  }
}

TEST(Expand, BadBackendConfigsAreErrors) {
  const std::string good = Call("1:[f32]conv();");
  const std::pair<const char*, const char*> changes[] = {
      {"\"cudnn_conv_backend_config\"", "\"other\""},
      {"\"serialized_graph\"", "\"other\""},
      {"\"kNone\"", "\"kRelu\""},
      {"\"conv_result_scale\":1", "\"conv_result_scale\":2"},
      {"\"1:[f32]conv();\"", "7"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = good;
    text.replace(text.find(from), std::string(from).size(), to);
    Result<int> expanded = Expand(*Parse(text));
    ASSERT_FALSE(expanded) << to;
    EXPECT_THAT(expanded.error().what, HasSubstr("its backend_config")) << to;
  }
}

TEST(Expand, ControlDependenciesAreAnError) {
  std::string text = Call("1:[f32]conv();");
  text.insert(text.rfind(", custom_call_target"), ", control-predecessors={t}");
  EXPECT_THAT(Expanded(text), ElementsAre(HasSubstr("it has control dependencies")));
}

// What ConvGraph took, it takes again from the expansion, in the same order.
TEST(Expand, IsUndoneByTheRewrite) {
  auto module = Parse(R"(
HloModule m
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
ENTRY main {
  x = f8e4m3fn[1,4,4,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  s = f32[] parameter(2)
  r = f32[] parameter(3)
  t = f32[1,4,4,16] parameter(4)
  xf = f32[1,4,4,16] convert(x)
  sb = f32[1,4,4,16] broadcast(s), dimensions={}
  xs = f32[1,4,4,16] multiply(xf, sb)
  wf = f32[3,3,16,16] convert(w)
  conv = f32[1,4,4,16] convolution(xs, wf), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  sum = f32[1,4,4,16] add(conv, t)
  zero = f32[] constant(0)
  zeros = f32[1,4,4,16] broadcast(zero), dimensions={}
  relu = f32[1,4,4,16] maximum(sum, zeros)
  amax = f32[] reduce(relu, zero), dimensions={0,1,2,3}, to_apply=max
  rb = f32[1,4,4,16] broadcast(r), dimensions={}
  quotient = f32[1,4,4,16] divide(relu, rb)
  low = f32[] constant(-448)
  lows = f32[1,4,4,16] broadcast(low), dimensions={}
  high = f32[] constant(448)
  highs = f32[1,4,4,16] broadcast(high), dimensions={}
  clamp = f32[1,4,4,16] clamp(lows, quotient, highs)
  y = f8e4m3fn[1,4,4,16] convert(clamp)
  ROOT both = (f8e4m3fn[1,4,4,16], f32[]) tuple(y, amax)
})");
  const ConvGraphOptions options{
      .compute_capability = {12, 0}, .cudnn_version = {9, 10, 0}, .cuda_version = {12, 9}};
  const ConvGraphResult first = ConvGraph(*module, options);
  ASSERT_EQ(first.rewritten.size(), 1u);
  ASSERT_THAT(first.rewritten[0].ops,
              ElementsAre("scale", "add", "relu", "amax", "invscale", "f8e4m3fn"));
  ASSERT_EQ(Expand(*module).value(), 1);
  auto verified = hlo::Verify(*module);
  ASSERT_TRUE(verified) << verified.error().Format();
  const ConvGraphResult again = ConvGraph(*module, options);
  ASSERT_EQ(again.rewritten.size(), 1u);
  // The amax is of an absolute value now, so it does not come right behind the ReLU.
  EXPECT_THAT(again.rewritten[0].ops, ::testing::UnorderedElementsAreArray(first.rewritten[0].ops));
}

TEST(ParseGraph, ReadsWhatStockWrites) {
  auto ops = ParseGraph("7:[f32]conv();11:[f32]scale(7);13:[bf16]add(11,7);15:[f8e4m3fn]relu(13);");
  ASSERT_TRUE(ops) << ops.error().what;
  ASSERT_EQ(ops->size(), 4u);
  EXPECT_EQ((*ops)[0].kind, GraphOpKind::kConv);
  EXPECT_TRUE((*ops)[1].takes_external);
  EXPECT_THAT((*ops)[2].operands, ElementsAre(1, 0));
  EXPECT_FALSE((*ops)[2].takes_external);
  EXPECT_EQ((*ops)[3].id, 15);
  EXPECT_EQ((*ops)[3].type, hlo::PrimitiveType::kF8E4M3FN);
}

// Whatever the text, an answer comes, and an accepted graph keeps its promises.
TEST(ParseGraph, SurvivesRandomMutations) {
  const std::string graph =
      "7:[f32]conv();11:[f32]scale(7);13:[f32]add(11);14:[f32]amax(13);15:[f8e4m3fn]relu(13);";
  constexpr std::string_view kAlphabet = "0123456789:[](),;fconvscaleamxrui8e4m3fn \xff";
  std::mt19937 random(1);
  const auto below = [&random](size_t n) { return random() % n; };
  int accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = graph;
    for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = kAlphabet[below(kAlphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + below(5));
          break;
        case 2:
          text.insert(at, 1, kAlphabet[below(kAlphabet.size())]);
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(30)));
      }
    }
    auto ops = ParseGraph(text);
    if (!ops) {
      EXPECT_FALSE(ops.error().what.empty());
      continue;
    }
    ++accepted;
    ASSERT_FALSE(ops->empty());
    for (size_t i = 0; i < ops->size(); ++i) {
      ASSERT_EQ((*ops)[i].kind == GraphOpKind::kConv, i == 0) << text;
      for (size_t operand : (*ops)[i].operands) ASSERT_LT(operand, i) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace eightfold::rewrite
