#include "report/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "modules.h"
#include "report/json.h"
#include "report/style.h"
#include "report/table.h"
#include "report/wording.h"

namespace eightfold::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Section SectionOf(const std::string& text) {
  Section section;
  section.input = "in.hlo";
  section.census = census::TakeCensus(nullptr, census::Parse(text));
  section.findings = diagnose::Diagnose(section.census, {});
  return section;
}

Report ReportOf(Section section) {
  Report report;
  report.tool_version = "test";
  report.sections.push_back(std::move(section));
  return report;
}

// Two dots of 2·8·8·8 FLOPs: one in the entry, one in a loop of 3.
std::string Loop(const std::string& name = "e") {
  return R"(HloModule m, is_scheduled=true
cond { c = (f8e4m3fn[8,8]) parameter(0) ROOT t = pred[] constant(true) }
body { c = (f8e4m3fn[8,8]) parameter(0) x = f8e4m3fn[8,8] get-tuple-element(c), index=0
  d = f8e4m3fn[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT t = (f8e4m3fn[8,8]) tuple(d) }
ENTRY )" +
         name + R"( { x = f8e4m3fn[8,8] parameter(0) w = f32[8,8] convert(x)
  d = f32[8,8] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = (f8e4m3fn[8,8]) tuple(x)
  ROOT r = (f8e4m3fn[8,8]) while(t), condition=cond, body=body, backend_config={"known_trip_count":{"n":"3"}} })";
}

TEST(ReportTest, TotalsAreWeightedByRuns) {
  Totals totals = Sum(SectionOf(Loop()).census);
  double dot = 2.0 * 8 * 8 * 8;
  EXPECT_EQ(totals.flops, 4 * dot);
  EXPECT_EQ(totals.flops_by_type.at("fp8"), 3 * dot);
  EXPECT_EQ(totals.flops_by_type.at("f32"), dot);
  EXPECT_EQ(totals.demoted_flops, dot);
  EXPECT_EQ(totals.Count(census::Status::kDemoted), 1);
  EXPECT_EQ(totals.dots.at("f32 x f32"), 1);
}

TEST(ReportTest, VerdictsByFailOn) {
  auto verdict = [](diagnose::Severity severity, FailOn fail_on) {
    Section section;
    section.findings.push_back({.id = "EF000", .severity = severity});
    return Verdict(ReportOf(std::move(section)), fail_on);
  };
  using diagnose::Severity;
  EXPECT_EQ(verdict(Severity::kDemoted, FailOn::kDemoted), ExitCode::kFindings);
  EXPECT_EQ(verdict(Severity::kDemoted, FailOn::kAny), ExitCode::kFindings);
  EXPECT_EQ(verdict(Severity::kDemoted, FailOn::kNever), ExitCode::kClean);
  EXPECT_EQ(verdict(Severity::kAny, FailOn::kDemoted), ExitCode::kClean);
  EXPECT_EQ(verdict(Severity::kAny, FailOn::kAny), ExitCode::kFindings);
  EXPECT_EQ(verdict(Severity::kNote, FailOn::kAny), ExitCode::kClean);
}

TEST(ReportTest, TableHasShareTreeAndFinding) {
  std::string table = WriteTable(ReportOf(SectionOf(Loop())));
  EXPECT_THAT(table, HasSubstr("75.0 % in FP8, 25.0 % in f32; 25.0 % was demoted"));
  EXPECT_THAT(table, HasSubstr("└ while body  body"));
  EXPECT_THAT(table, HasSubstr("EF112"));
  EXPECT_THAT(table, Not(HasSubstr("\033")));
  EXPECT_THAT(WriteTable(ReportOf(SectionOf(Loop())), {.color = true}), HasSubstr("\033[31m"));
}

TEST(ReportTest, HugeCountsStayNumbers) {
  std::string text =
      "HloModule m, is_scheduled=true\nf0 { p = f32[8,8] parameter(0) ROOT d = f32[8,8] dot(p, p), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";
  for (int i = 1; i <= 2000; ++i) {
    std::string callee = "f" + std::to_string(i - 1);
    text += "f" + std::to_string(i) +
            " { p = f32[8,8] parameter(0) a = f32[8,8] call(p), to_apply=" + callee +
            " ROOT b = f32[8,8] call(a), to_apply=" + callee + " }\n";
  }
  text += "ENTRY e { p = f32[8,8] parameter(0) ROOT r = f32[8,8] call(p), to_apply=f2000 }\n";
  Report report = ReportOf(SectionOf(text));
  EXPECT_THAT(WriteTable(report), Not(HasSubstr("nan")));
  auto json = nlohmann::json::parse(WriteJson(report));
  EXPECT_TRUE(json["totals"]["flops"].is_number());
}

TEST(ReportTest, DirectoriesAreListsEvenOfOne) {
  Report report = ReportOf(SectionOf(Loop()));
  report.many = true;
  auto json = nlohmann::json::parse(WriteJson(report));
  EXPECT_EQ(json["sections"].size(), 1U);
  EXPECT_EQ(json["sections"][0]["module"]["input"], "in.hlo");
}

TEST(StyleTest, WrapsAtWordsByColumns) {
  EXPECT_EQ(Wrap("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(Wrap("←←← ←←←", 0, 7), "←←← ←←←\n");
  EXPECT_EQ(Wrap("unbreakable", 0, 4), "unbreakable\n");
  EXPECT_EQ(Columns("f32←bf16"), 8U);
}

TEST(WordingTest, CleanKeepsTerminalsSafe) {
  EXPECT_EQ(Clean("a\033[31mb\n"), "a?[31mb?");
  EXPECT_EQ(Clean("é"), "é");
  std::string longest(5000, 'x');
  EXPECT_LT(Clean(longest).size(), 130U);
  // Cut between characters, not in one.
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "é";
  std::string kept = "x";
  for (int i = 0; i < 59; ++i) kept += "é";
  EXPECT_EQ(Clean("x" + accents), kept + "…");
}

TEST(WordingTest, FlopsInTheirUnit) {
  EXPECT_EQ(FormatFlops(0), "0 FLOP");
  EXPECT_EQ(FormatFlops(2717908992.0), "2.7 GFLOP");
  EXPECT_EQ(FormatFlops(1e15), "1.0 PFLOP");
}

}  // namespace
}  // namespace eightfold::report
