#include "census/call_graph.h"

#include <gmock/gmock.h>

#include "modules.h"

namespace eightfold::census {
namespace {

// A module whose entry is `entry`, with loop bodies and conditions to choose from: `body_N` counts
// up, `inner` runs a loop of its own.
std::string WithLoops(const std::string& entry, const std::string& inner_config) {
  return R"(HloModule m
cond {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(i, n), direction=LT
}
cond2 {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(i, n), direction=LT
}
innermost {
  ROOT p = (s32[]) parameter(0)
}
body {
  p = (s32[]) parameter(0)
  ROOT inner = (s32[]) while(p), condition=cond2, body=innermost)" +
         inner_config + R"(
}
twice {
  ROOT p = (s32[]) parameter(0)
}
ENTRY e {
)" + entry +
         "\n}\n";
}

std::string RunsOfComputation(const CallGraph& graph, std::string_view name) {
  for (const CallNode& node : graph.nodes()) {
    if (node.computation->name == name) return node.runs.ToString();
  }
  return "not reached";
}

TEST(CallGraphTest, NestedLoopsMultiplyTheirTripCounts) {
  auto module = Parse(WithLoops(
      R"(  a = (s32[]) parameter(0)
  ROOT w = (s32[]) while(a), condition=cond, body=body, backend_config={"known_trip_count":{"n":"5"}})",
      R"(, backend_config={"known_trip_count":{"n":"3"}})"));
  CallGraph graph(*module);
  EXPECT_EQ(RunsOfComputation(graph, "e"), "1");
  EXPECT_EQ(RunsOfComputation(graph, "body"), "5");
  EXPECT_EQ(RunsOfComputation(graph, "cond"), "6");
  EXPECT_EQ(RunsOfComputation(graph, "innermost"), "15");
  EXPECT_EQ(RunsOfComputation(graph, "cond2"), "20");
  EXPECT_EQ(RunsOfComputation(graph, "twice"), "not reached");
}

TEST(CallGraphTest, UnknownTripCountsStaySymbolic) {
  auto module = Parse(WithLoops(
      R"(  a = (s32[]) parameter(0)
  ROOT w = (s32[]) while(a), condition=cond, body=body, backend_config={"known_trip_count":{"n":"5"}})",
      ""));
  CallGraph graph(*module);
  EXPECT_EQ(RunsOfComputation(graph, "innermost"), "5·n(inner)");
  const CallNode* node = graph.Find(*module->entry->root->called[0]->root->called[0]);
  ASSERT_NE(node, nullptr);
  EXPECT_FALSE(node->runs.IsExact());
  EXPECT_EQ(node->runs.AtLeastOnce(), 5);
  EXPECT_EQ(node->depth, 2);
}

TEST(CallGraphTest, CallsAddUp) {
  auto module = Parse(WithLoops(
      R"(  a = (s32[]) parameter(0)
  b = (s32[]) call(a), to_apply=twice
  c = (s32[]) call(b), to_apply=twice
  ROOT w = (s32[]) while(c), condition=cond, body=body, backend_config={"known_trip_count":{"n":"7"}})",
      ""));
  CallGraph graph(*module);
  EXPECT_EQ(RunsOfComputation(graph, "twice"), "2");
}

TEST(CallGraphTest, BranchesAreAlternatives) {
  auto module = Parse(R"(HloModule m
left { ROOT p = f32[] parameter(0) }
right { ROOT p = f32[] parameter(0) }
ENTRY e {
  s = pred[] parameter(0)
  x = f32[] parameter(1)
  ROOT c = f32[] conditional(s, x, x), true_computation=left, false_computation=right
})");
  CallGraph graph(*module);
  ASSERT_EQ(graph.nodes().size(), 3U);
  EXPECT_FALSE(graph.nodes()[0].alternative);
  EXPECT_TRUE(graph.nodes()[1].alternative);
  EXPECT_TRUE(graph.nodes()[2].alternative);
  EXPECT_NE(graph.nodes()[1].sites[0].branch, graph.nodes()[2].sites[0].branch);
}

TEST(CallGraphTest, CombinersAndFusionsDoNotRunAsSuch) {
  auto module = Parse(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
fused { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
ENTRY e {
  x = f32[4] parameter(0)
  f = f32[4] fusion(x), kind=kLoop, calls=fused
  z = f32[] constant(0)
  ROOT r = f32[] reduce(f, z), dimensions={0}, to_apply=add
})");
  EXPECT_EQ(CallGraph(*module).nodes().size(), 1U);
}

TEST(CallGraphTest, TripCountIsReadOnlyFromWhatItShouldBe) {
  auto trips = [](const std::string& config) {
    auto module = Parse(WithLoops(
        "  a = (s32[]) parameter(0)\n  ROOT w = (s32[]) while(a), condition=cond, body=body" +
            (config.empty() ? "" : ", backend_config=" + config),
        ""));
    return KnownTripCount(*module->entry->root);
  };
  EXPECT_EQ(trips(R"({"known_trip_count":{"n":"16"}})"), 16);
  EXPECT_EQ(trips(R"({"known_trip_count":{"n":16}})"), 16);
  EXPECT_EQ(trips(R"({"known_trip_count":{}})"), 0);
  EXPECT_EQ(trips(""), -1);
  EXPECT_EQ(trips(R"({"known_trip_count":{"n":"-3"}})"), -1);
  EXPECT_EQ(trips(R"({"known_trip_count":{"n":"99999999999999999999"}})"), -1);
  EXPECT_EQ(trips(R"({"known_trip_count":["n"]})"), -1);
  EXPECT_EQ(trips(R"("known_trip_count")"), -1);
}

// A chain of n computations, each calling the next one twice: 2^n ways, n nodes.
TEST(CallGraphTest, ManyWaysAreCountedWithoutWalkingThem) {
  std::string text = "HloModule m\nf0 { ROOT p = f32[] parameter(0) }\n";
  for (int i = 1; i <= 60; ++i) {
    std::string callee = "f" + std::to_string(i - 1);
    text += "f" + std::to_string(i) +
            " { p = f32[] parameter(0) a = f32[] call(p), to_apply=" + callee +
            " ROOT b = f32[] call(a), to_apply=" + callee + " }\n";
  }
  text += "ENTRY e { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f60 }\n";
  CallGraph graph(*Parse(text));
  EXPECT_EQ(graph.nodes().size(), 62U);
  EXPECT_EQ(graph.nodes().back().runs.AtLeastOnce(), 1152921504606846976.0);  // 2^60
}

}  // namespace
}  // namespace eightfold::census
