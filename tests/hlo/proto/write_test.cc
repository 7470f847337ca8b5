#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Message;
using testing::ModuleOf;
using testing::Node;
using testing::Read;

constexpr int64_t kHigh = int64_t{1} << 32;

// The fields of a message with one number, decoded independently of the reader under test.
std::vector<std::string> Payloads(std::string_view message, uint32_t field) {
  std::vector<std::string> found;
  for (wire::Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == field) found.emplace_back(cursor.bytes());
  }
  return found;
}
std::vector<int64_t> Scalars(std::string_view message, uint32_t field) {
  std::vector<int64_t> found;
  for (wire::Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == field) cursor.Ints([&](int64_t value) { found.push_back(value); });
  }
  return found;
}
std::vector<uint32_t> FieldNumbers(std::string_view message) {
  std::vector<uint32_t> numbers;
  for (wire::Cursor cursor(message); cursor.Next();) numbers.push_back(cursor.field());
  return numbers;
}
// instructions[i] of computations[c].
std::string InstructionAt(const std::string& module, size_t c, size_t i) {
  return Payloads(Payloads(module, 3).at(c), 2).at(i);
}

std::string Write(const std::string& bytes, IdScheme ids = IdScheme::kPerComputation,
                  ProtoKind kind = ProtoKind::kModule) {
  auto module = Read(bytes);
  EXPECT_TRUE(module) << module.error().Format();
  if (!module) return "";
  auto out = WriteProto(**module, kind, ids);
  EXPECT_TRUE(out) << out.error().Format();
  return out.value_or("");
}

// callee (id 10): p; entry (id 3): a parameter with id 21 and a call with id 20 that uses it.
std::string CallingModule(const testing::Fill& more = {}) {
  return ModuleOf(
      {testing::Computation("entry", 3,
                            {{"a", "parameter", 21},
                             {"k", "call", 20, {21}, [](auto& out) { out.add_int64(38, 10); }}}),
       testing::Computation("callee", 10, {{"p", "parameter", 30}})},
      3, more);
}

TEST(Write, CalleesAndOperandsComeFirstAndIdsKeepTheirOrder) {
  std::string out = Write(CallingModule());
  auto computations = Payloads(out, 3);
  EXPECT_THAT(Payloads(computations[0], 1), ElementsAre("callee"));
  EXPECT_THAT(Payloads(computations[1], 1), ElementsAre("entry"));
  // entry had the smaller id, k the smaller one in it.
  EXPECT_THAT(Scalars(computations[1], 5), ElementsAre(0));
  EXPECT_THAT(Scalars(computations[0], 5), ElementsAre(1));
  std::string a = InstructionAt(out, 1, 0);
  std::string k = InstructionAt(out, 1, 1);
  EXPECT_THAT(Payloads(a, 1), ElementsAre("a"));
  EXPECT_THAT(Scalars(a, 35), ElementsAre(1));
  EXPECT_THAT(Scalars(k, 35), ElementsAre(0));
  EXPECT_THAT(Scalars(k, 36), ElementsAre(1));
  EXPECT_THAT(Scalars(k, 38), ElementsAre(1));
  EXPECT_THAT(Scalars(computations[1], 6), ElementsAre(0));
  EXPECT_THAT(Scalars(InstructionAt(out, 0, 0), 35), ElementsAre(kHigh));
  EXPECT_THAT(Scalars(out, 6), ElementsAre(0));
}

TEST(Write, SequentialIdsAndComputationsNamedAfterTheirRoots) {
  std::string out = Write(CallingModule(), IdScheme::kSequential);
  EXPECT_THAT(Scalars(InstructionAt(out, 1, 1), 35), ElementsAre(0));
  EXPECT_THAT(Scalars(InstructionAt(out, 1, 0), 35), ElementsAre(1));
  EXPECT_THAT(Scalars(InstructionAt(out, 0, 0), 35), ElementsAre(2));
  EXPECT_THAT(Scalars(Payloads(out, 3)[1], 5), ElementsAre(0));
  EXPECT_THAT(Scalars(Payloads(out, 3)[0], 5), ElementsAre(2));
  EXPECT_THAT(Scalars(InstructionAt(out, 1, 1), 38), ElementsAre(2));
}

TEST(Write, KeptIdsStay) {
  std::string out = Write(CallingModule(), IdScheme::kKeep);
  EXPECT_THAT(Scalars(InstructionAt(out, 1, 0), 35), ElementsAre(21));
  EXPECT_THAT(Scalars(InstructionAt(out, 1, 1), 36), ElementsAre(21));
  EXPECT_THAT(Scalars(Payloads(out, 3)[0], 5), ElementsAre(10));
  EXPECT_THAT(Scalars(out, 6), ElementsAre(3));
}

TEST(Write, ScheduleGetsTheNewIds) {
  std::string out = Write(CallingModule([](auto& module) {
    module.add_message(7, Message([](auto& s) {
                         s.add_message(1, Message([](auto& entry) {
                                         entry.add_int64(1, 3);
                                         entry.add_message(2, Message([](auto& sequence) {
                                                             sequence.add_int64(1, 21);
                                                             sequence.add_int64(1, 20);
                                                           }));
                                       }));
                       }));
  }));
  std::string entry = Payloads(Payloads(out, 7).at(0), 1).at(0);
  EXPECT_THAT(Scalars(entry, 1), ElementsAre(0));
  EXPECT_THAT(Scalars(Payloads(entry, 2).at(0), 1), ElementsAre(1, 0));
}

TEST(Write, HostProgramShapeIsMadeWhereItIsMissing) {
  std::string shape = Payloads(Write(CallingModule()), 4).at(0);
  EXPECT_THAT(Payloads(shape, 1), ElementsAre(testing::F32({2})));
  EXPECT_THAT(Payloads(shape, 2), ElementsAre(testing::F32({2})));
  EXPECT_THAT(Payloads(shape, 3), ElementsAre("a"));
  std::string given = Write(CallingModule([](auto& out) { out.add_bytes(4, "\x32\x01\x61"); }));
  EXPECT_THAT(Payloads(given, 4), ElementsAre("\x32\x01\x61"));
}

TEST(Write, UnknownFieldsSurviveAtEveryLevel) {
  std::string inner =
      ModuleOf({testing::Computation("c", 0,
                                     {{"p",
                                       "parameter",
                                       0,
                                       {},
                                       [](auto& out) {
                                         out.add_bytes(900, std::string("\0\xff", 2));
                                         out.add_fixed32(901, 7);
                                       }}},
                                     [](auto& out) { out.add_bytes(902, "computation"); })},
               0, [](auto& out) { out.add_fixed64(903, 1); });
  std::string bytes = Message([&](auto& out) {
    out.add_message(1, inner);
    out.add_message(2, Message([](auto& config) {
                      config.add_int64(4, 2);
                      config.add_bytes(904, "config");
                    }));
    out.add_bytes(905, "outer");
  });
  std::string out = Write(bytes, IdScheme::kPerComputation, ProtoKind::kModuleWithConfig);
  std::string module = Payloads(out, 1).at(0);
  EXPECT_THAT(Payloads(InstructionAt(module, 0, 0), 900), ElementsAre(std::string("\0\xff", 2)));
  EXPECT_THAT(InstructionAt(module, 0, 0),
              HasSubstr(Message([](auto& w) { w.add_fixed32(901, 7); })));
  EXPECT_THAT(Payloads(Payloads(module, 3).at(0), 902), ElementsAre("computation"));
  EXPECT_THAT(module, HasSubstr(Message([](auto& w) { w.add_fixed64(903, 1); })));
  EXPECT_THAT(Payloads(Payloads(out, 2).at(0), 904), ElementsAre("config"));
  EXPECT_THAT(Scalars(Payloads(out, 2).at(0), 4), ElementsAre(2));
  EXPECT_THAT(Payloads(out, 905), ElementsAre("outer"));
  // As a bare module nothing of the outer levels is left.
  EXPECT_EQ(Write(bytes), module);
}

TEST(Write, FieldsAscend) {
  std::string bytes = ModuleOf({testing::Computation("c", 0,
                                                     {{"p",
                                                       "parameter",
                                                       0,
                                                       {},
                                                       [](auto& out) {
                                                         out.add_bytes(43, "{}");
                                                         out.add_int64(105, 1);
                                                         out.add_bytes(8, "");
                                                         out.add_int64(9, 0);
                                                         out.add_bytes(7, "\x20\x03");
                                                       }}})},
                               0, [](auto& out) { out.add_int64(5, 8); });
  std::string out = Write(bytes);
  EXPECT_THAT(FieldNumbers(InstructionAt(out, 0, 0)), ElementsAre(1, 2, 3, 7, 8, 9, 35, 43, 105));
  EXPECT_THAT(FieldNumbers(out), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Write, ShapesKeepEverything) {
  std::string shape = Message([](auto& out) {
    out.add_enum(2, 11);
    std::vector<int64_t> dims = {INT64_MIN, 3};
    out.add_packed_int64(3, dims.begin(), dims.end());
    out.add_message(5, Message([](auto& layout) {
                      std::vector<int64_t> order = {0, 1};
                      layout.add_packed_int64(1, order.begin(), order.end());
                      layout.add_message(6, Message([](auto& tile) { tile.add_int64(1, 8); }));
                      layout.add_int64(8, 1);
                    }));
    out.add_string(6, std::string("\1\0", 2));
    out.add_int64(99, 4);
  });
  std::string tuple = Message([&](auto& out) {
    out.add_enum(2, 13);
    out.add_message(4, shape);
    out.add_message(4, testing::F32({}));
  });
  std::string out =
      Write(ModuleOf({testing::Computation("c", 0, {{"p", "parameter", 0, {}, {}, tuple}})}, 0));
  EXPECT_THAT(Payloads(InstructionAt(out, 0, 0), 3), ElementsAre(tuple));
}

TEST(Write, CyclesAreErrors) {
  auto calls = [](const char* name, int64_t callee) -> Node {
    return {name, "call", 1, {}, [callee](auto& out) { out.add_int64(38, callee); }};
  };
  auto recursive = Read(ModuleOf({testing::Computation("a", 0, {calls("x", 1)}),
                                  testing::Computation("b", 1, {calls("y", 0)})},
                                 0));
  ASSERT_TRUE(recursive);
  auto out = WriteProto(**recursive);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().what, HasSubstr("computation a calls itself"));
  auto cyclic = Read(ModuleOf(
      {testing::Computation("a", 0, {{"x", "negate", 0, {1}}, {"y", "negate", 1, {0}}})}, 0));
  ASSERT_TRUE(cyclic);
  out = WriteProto(**cyclic);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().what, HasSubstr("x depends on itself"));
}

TEST(Write, OldTargets) {
  EXPECT_EQ(IdSchemeFor({0, 6, 2}), IdScheme::kSequential);
  EXPECT_EQ(IdSchemeFor({0, 7, 1}), IdScheme::kSequential);
  EXPECT_EQ(IdSchemeFor({0, 7, 2}), IdScheme::kPerComputation);
  EXPECT_EQ(IdSchemeFor({0, 12, 0}), IdScheme::kPerComputation);
  auto with = [](const testing::Fill& more) {
    return *Read(ModuleOf({testing::Computation("c", 0, {{"p", "parameter", 0, {}, more}})}, 0));
  };
  auto module = with([](auto& out) {
    out.add_bytes(88, "");
    out.add_bytes(92, "\x08\x02");
  });
  auto fields = [&](ProtoTarget target) {
    return FieldNumbers(InstructionAt(*WriteProto(*module, ProtoKind::kModule, target), 0, 0));
  };
  EXPECT_THAT(fields({0, 10, 2}), ElementsAre(1, 2, 3, 35, 88, 92));
  EXPECT_THAT(fields({0, 7, 2}), ElementsAre(1, 2, 3, 35, 87, 88));
  EXPECT_THAT(fields({0, 6, 2}), ElementsAre(1, 2, 3, 35, 87));
  std::string old = *WriteProto(*module, ProtoKind::kModule, ProtoTarget{0, 6, 2});
  EXPECT_THAT(Payloads(Payloads(InstructionAt(old, 0, 0), 87).at(0), 2), ElementsAre("\x08\x02"));
  auto mesh = with([](auto& out) { out.add_bytes(93, ""); });
  EXPECT_TRUE(WriteProto(*mesh, ProtoKind::kModule, ProtoTarget{0, 8, 3}));
  EXPECT_FALSE(WriteProto(*mesh, ProtoKind::kModule, ProtoTarget{0, 7, 2}));
}

// Reading what was written gives the same bytes again: one rewrite is a fixed point.
TEST(Write, RewritingIsAFixedPoint) {
  for (const char* file : {"move.pb", "cond.pb", "two.pb"}) {
    auto source = Source::Open(std::string(EIGHTFOLD_TESTDATA "/programs/") + file);
    ASSERT_TRUE(source);
    for (IdScheme ids : {IdScheme::kPerComputation, IdScheme::kSequential, IdScheme::kKeep}) {
      std::string once = Write(std::string((*source)->bytes()), ids);
      EXPECT_EQ(Write(once, ids), once) << file;
    }
  }
}

}  // namespace
}  // namespace eightfold::hlo
