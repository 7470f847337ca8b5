#include "hlo/verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/builder.h"
#include "hlo/proto/proto.h"
#include "hlo/text/text.h"

namespace eightfold::hlo {
namespace {

std::string Read(std::string_view text, std::unique_ptr<Module>* module) {
  auto read = ReadText(Source::FromBytes("m.hlo", std::string(text)));
  if (!read) return "not read: " + read.error().Format();
  *module = *std::move(read);
  return "";
}

// What the verifier says about `text`; "" when it is clean.
std::string Complaint(std::string_view text) {
  std::unique_ptr<Module> module;
  if (std::string problem = Read(text, &module); !problem.empty()) return problem;
  auto verdict = Verify(*module);
  return verdict ? "" : verdict.error().Format();
}

constexpr std::string_view kComputations = R"(HloModule t
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT n = f32[] add(a, b)
}
add_s32 {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT n = s32[] add(a, b)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT n = pred[] compare(a, b), direction=LT
}
negated {
  a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a)
}
true {
  a = f32[4] parameter(0)
  ROOT n = pred[] constant(true)
}
widened {
  a = f32[4] parameter(0)
  ROOT n = f64[4] convert(a)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = s32[4] parameter(1)
  m = f32[3,4] parameter(2)
  p = pred[] parameter(3)
  i = s32[] parameter(4)
  z = f32[] parameter(5)
  h = bf16[4] parameter(6)
  f8 = f8e4m3fn[3,4] parameter(7)
  g8 = f8e5m2[4,5] parameter(8)
)";

std::string InEntry(std::string_view instruction) {
  return std::string(kComputations) + "  ROOT result = " + std::string(instruction) + "\n}\n";
}

// Which types and precisions an operation takes was asked of the verifier inside jax-cuda12-pjrt
// 0.10.2 ("during context [hlo verifier]"), here and in kWrong.
constexpr std::string_view kClean[] = {
    "f32[3,5] dot(f8, g8), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "bf16[3,5] dot(f8, g8), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[4]{0} add(x, x)",
    "pred[] add(p, p)",
    "pred[] mulhi(p, p)",
    "f32[] dot(x, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "(f32[4], bf16[4]) tuple(x, h)",
    "bf16[4] convert(x)",
    "f32[2,2] reshape(x)",
    "u8[16] bitcast(x)",
    "u8[4,4] bitcast-convert(x)",
    "f32[12]{0:T(8)} bitcast(m)",
    "f32[2,4] broadcast(x), dimensions={1}",
    "f32[5] broadcast(z), dimensions={}",
    "f32[3] reduce(m, z), dimensions={1}, to_apply=add",
    "f32[4] fusion(x), kind=kLoop, calls=negated",
    "f32[4] while(x), condition=true, body=negated",
    "f32[4] conditional(p, x, x), true_computation=negated, false_computation=negated",
    "f32[4] conditional(i, x, x, x), branch_computations={negated, negated, negated}",
    "f32[4] map(x, x), dimensions={0}, to_apply=add",
    "f32[4] sort(x), dimensions={0}, to_apply=less",
    "f32[<=9] custom-call(x), custom_call_target=\"anything\"",
};

struct Wrong {
  std::string_view instruction;
  std::string_view what;  // part of the message
};

constexpr Wrong kWrong[] = {
    {"f32[5] add(x, x)", "its operands make add a f32[4], but its shape is f32[5]"},
    {"f32[4] add(x, y)", "add of f32[4] and s32[4]"},
    {"f32[4] add(x, h)", "add of f32[4] and bf16[4]: float operands must be of one type"},
    {"f32[4] clamp(z, h, z)", "clamp of f32[] and bf16[4]"},
    {"f32[8] concatenate(x, h), dimensions={0}", "concatenate of f32[4] and bf16[4]"},
    {"pred[4] compare(x, h), direction=LT", "compare of f32[4] and bf16[4]"},
    {"bf16[] reduce(h, z), dimensions={0}, to_apply=add", "reduce of bf16[4] and f32[]"},
    {"s32[4] atan2(y, y)", "atan2 does not take s32"},
    {"pred[] subtract(p, p)", "subtract does not take pred"},
    {"f32[4] multiply(x, z)", "operands of an elementwise operation have one shape"},
    {"f32[4] exponential(y)", "does not take s32"},
    {"f32[4] compare(x, x), direction=LT", "make compare a pred[4]"},
    {"f32[3] convert(y)", "the dimensions stay"},
    {"f32[2,3] reshape(x)", "the number of elements stays"},
    {"s32[2,2] reshape(x)", "the element type stays"},
    {"u8[15] bitcast(x)", "the number of bytes stays"},
    {"u8[4,3] bitcast-convert(x)", "the number of bytes stays"},
    {"f32[2,5] broadcast(x), dimensions={1}", "dimensions={1} do not map it"},
    {"f32[4,4] broadcast(x), dimensions={}", "dimensions={} do not map it"},
    {"bf16[2,4] broadcast(x), dimensions={1}", "the element type stays"},
    {"f32[4,3]{1,0} transpose(m), dimensions={0,1}", "make transpose a f32[3,4]"},
    {"f32[2] slice(x), slice={[0:3]}", "make slice a f32[3]"},
    {"f32[9] concatenate(x, x), dimensions={0}", "make concatenate a f32[8]"},
    {"f32[4] pad(x, z), padding=0_1", "make pad a f32[5]"},
    {"f32[3,4] dot(f8, g8), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "but its shape is f32[3,4]"},
    {"f32[4] iota(), iota_dimension=1", "iota_dimension"},
    {"(f32[4], f32[4]) tuple(x, y)", "make tuple a (f32[4], s32[4])"},
    {"f32[4] reduce(m, z), dimensions={1}, to_apply=add", "make reduce a f32[3]"},
    {"f32[3] reduce(m, z), dimensions={1}, to_apply=add_s32", "its operands make reduce a s32[3]"},
    {"s32[3] reduce(m, z), dimensions={1}, to_apply=add_s32", "parameters or result are of other"},
    {"f32[3] reduce(m, z), dimensions={1}, to_apply=negated", "2 scalar parameters"},
    {"f32[4] fusion(x, x), kind=kLoop, calls=negated", "passes 2 operands to %negated"},
    {"f32[3,4] fusion(m), kind=kLoop, calls=negated", "to parameter 0 of %negated"},
    {"f32[3] fusion(x), kind=kLoop, calls=negated", "but %negated returns f32[4]"},
    {"f32[3] call(x), to_apply=negated", "call is f32[3], but %negated returns f32[4]"},
    {"f32[4] while(x), condition=negated, body=negated", "needs a pred[] from %negated"},
    {"f32[4] while(x), condition=true, body=widened", "but %widened returns f64[4]"},
    {"f32[3,4] while(m), condition=true, body=negated", "to parameter 0 of %negated"},
    {"f32[4] conditional(z, x, x), branch_computations={negated, negated}",
     "it takes a pred[] for two branches or an s32[]"},
    {"f32[4] conditional(i, x), branch_computations={negated, negated}",
     "conditional with 2 branches and 1 operands"},
    {"f32[4] conditional(p, x, x), true_computation=negated, false_computation=widened",
     "but %widened returns f64[4]"},
    {"f32[4] map(x), dimensions={0}, to_apply=add", "1 scalar parameters"},
    {"f32[4] sort(x), dimensions={0}, to_apply=add", "needs a pred[] from %add"},
    {"(f32[4], s32[4]) sort(x, y), dimensions={0}, to_apply=less", "4 scalar parameters"},
    {"(f32[4], f32[9223372036854775807,2]) custom-call(), custom_call_target=\"a\"",
     "more elements than 64 bits can count"},
};

TEST(VerifierTest, WhatXlaAllowsIsClean) {
  for (std::string_view instruction : kClean) EXPECT_EQ(Complaint(InEntry(instruction)), "");
}

TEST(VerifierTest, WhatDoesNotFitIsNamedInTheMessage) {
  for (const Wrong& wrong : kWrong) {
    std::string complaint = Complaint(InEntry(wrong.instruction));
    EXPECT_NE(complaint.find(wrong.what), std::string::npos) << wrong.instruction << "\n"
                                                             << complaint;
    EXPECT_EQ(complaint.find("not read"), std::string::npos) << complaint;
  }
}

TEST(VerifierTest, TheMessageShowsTheLineOfTheInstruction) {
  EXPECT_EQ(Complaint("HloModule m\nENTRY main {\n  a = f32[2] parameter(0)\n"
                      "  ROOT b = f32[3] add(a, a)\n}\n"),
            "error: m.hlo:4:8: %b in computation %main: its operands make add a f32[2], but its "
            "shape is f32[3]\n"
            "     4 |   ROOT b = f32[3] add(a, a)\n"
            "       |        ^\n"
            "  correct the shape or the operands; in text the shape of add may be left out");
}

TEST(VerifierTest, AProtoErrorNamesThePlaceInTheProto) {
  std::unique_ptr<Module> module;
  ASSERT_EQ(Read("HloModule m\nENTRY main {\n  a = f32[2] parameter(0)\n"
                 "  ROOT b = f32[3] add(a, a)\n}\n",
                 &module),
            "");
  auto proto = WriteProto(*module);
  ASSERT_TRUE(proto.has_value());
  auto read = ReadProto(Source::FromBytes("m.pb", *proto));
  ASSERT_TRUE(read.has_value()) << read.error().Format();
  auto verdict = Verify(**read);
  ASSERT_FALSE(verdict.has_value());
  EXPECT_EQ(verdict.error().Format().substr(0, 71),
            "error: m.pb: computations[0].instructions[1]: %b in computation %main: ");
}

TEST(VerifierTest, TheEntryLayoutMustMatchTheEntry) {
  constexpr std::string_view kBody = "ENTRY e {\n  ROOT a = f32[2] parameter(0)\n}\n";
  auto with = [&](std::string_view layout) {
    return Complaint("HloModule m, entry_computation_layout={" + std::string(layout) + "}\n" +
                     std::string(kBody));
  };
  EXPECT_EQ(with("(f32[2]{0})->f32[2]{0}"), "");
  EXPECT_NE(with("(f32[3]{0})->f32[2]{0}").find("has f32[3] for parameter 0"), std::string::npos);
  EXPECT_NE(with("(f32[2]{0})->f32[3]{0}").find("has f32[3] for the result"), std::string::npos);
  EXPECT_NE(with("(f32[2]{0}, f32[])->f32[2]{0}").find("2 parameters, the entry computation 1"),
            std::string::npos);
}

// An entry of HloInputOutputAliasProto: output index, parameter number and index; of
// HloBufferDonorProto: parameter number and index.
std::string AliasWire(std::vector<int64_t> output, int64_t parameter, std::vector<int64_t> index) {
  std::string entry;
  protozero::pbf_writer fields(entry);
  fields.add_packed_int64(1, output.begin(), output.end());
  fields.add_int64(2, parameter);
  fields.add_packed_int64(3, index.begin(), index.end());
  std::string wire;
  protozero::pbf_writer(wire).add_message(1, entry);
  return wire;
}
std::string DonorWire(int64_t parameter, std::vector<int64_t> index) {
  std::string entry;
  protozero::pbf_writer fields(entry);
  fields.add_int64(1, parameter);
  fields.add_packed_int64(2, index.begin(), index.end());
  std::string wire;
  protozero::pbf_writer(wire).add_message(1, entry);
  return wire;
}

TEST(VerifierTest, AliasesStayInRange) {
  std::unique_ptr<Module> module;
  ASSERT_EQ(Read("HloModule m\nENTRY e {\n  a = (f32[2], s32[]) parameter(0)\n"
                 "  b = f32[2] parameter(1)\n  ROOT t = (f32[2], f32[2]) tuple(b, b)\n}\n",
                 &module),
            "");
  auto with = [&](uint32_t field, const std::string& wire) {
    module->attributes.push_back(Attribute::Bytes(Field{field}, wire));
    auto verdict = Verify(*module);
    module->attributes.pop_back();
    return verdict ? "" : verdict.error().what;
  };
  constexpr uint32_t kAlias = 8;
  constexpr uint32_t kDonor = 18;
  EXPECT_EQ(with(kAlias, AliasWire({0}, 0, {0}) + AliasWire({1}, 1, {})), "");
  EXPECT_EQ(with(kAlias, AliasWire({2}, 0, {0})),
            "input_output_alias names part {2} of the result, which is (f32[2], f32[2])");
  EXPECT_EQ(with(kAlias, AliasWire({0}, 2, {})),
            "input_output_alias names parameter 2; the entry computation has 2");
  EXPECT_EQ(with(kAlias, AliasWire({0}, -1, {})),
            "input_output_alias names parameter -1; the entry computation has 2");
  EXPECT_EQ(with(kAlias, AliasWire({0}, 0, {2})),
            "input_output_alias names part {2} of parameter 0, which is (f32[2], s32[])");
  EXPECT_EQ(with(kDonor, DonorWire(0, {1})), "");
  EXPECT_EQ(with(kDonor, DonorWire(0, {1, 0})),
            "buffer_donor names part {1,0} of parameter 0, which is (f32[2], s32[])");
  EXPECT_NE(with(kAlias, "\x0a\x50").find("a module attribute is damaged"), std::string::npos);
}

TEST(VerifierTest, AScheduleRespectsDependencies) {
  constexpr std::string_view kText =
      "HloModule m, is_scheduled=true\nENTRY e {\n  a = f32[] parameter(0)\n"
      "  b = f32[] negate(a)\n  ROOT c = f32[] abs(b)\n}\n";
  EXPECT_EQ(Complaint(kText), "");
  std::unique_ptr<Module> module;
  ASSERT_EQ(Read(kText, &module), "");
  std::span<Instruction*> schedule = module->entry->schedule;
  ASSERT_EQ(schedule.size(), 3);
  std::swap(schedule[1], schedule[2]);
  EXPECT_NE(Verify(*module).error().what.find("scheduled before %b"), std::string::npos);
  schedule[2] = schedule[1];
  EXPECT_NE(Verify(*module).error().what.find("an instruction twice"), std::string::npos);
  module->entry->schedule = schedule.first(2);
  EXPECT_NE(Verify(*module).error().what.find("not in the schedule"), std::string::npos);
}

// Damage that no reader lets through but a rewrite could do.
class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Shape* shape = module_.shapes.ArrayWithDefaultLayout(PrimitiveType::kF32, {});
    Builder callee(module_, "callee");
    callee_ = callee.Build(callee.Unary(Opcode::kNegate, callee.Parameter(0, shape)));
    Builder b(module_, "main");
    x_ = b.Parameter(0, shape, "x");
    call_ = b.Call(callee_, {x_});
    constant_ = b.Constant(PrimitiveType::kF32, 1);
    sum_ = b.Add(call_, constant_);
    main_ = module_.entry = b.Build(sum_);
    ASSERT_TRUE(Verify(module_).has_value());
  }
  void ExpectComplaint(std::string_view what) {
    auto verdict = Verify(module_);
    ASSERT_FALSE(verdict.has_value());
    EXPECT_NE(verdict.error().Format().find(what), std::string::npos) << verdict.error().Format();
  }

  Module module_;
  Computation* callee_ = nullptr;
  Computation* main_ = nullptr;
  Instruction* x_ = nullptr;
  Instruction* call_ = nullptr;
  Instruction* constant_ = nullptr;
  Instruction* sum_ = nullptr;
};

TEST_F(DamageTest, AModuleHasAnEntry) {
  module_.entry = nullptr;
  ExpectComplaint("no entry computation");
}

TEST_F(DamageTest, AnEmptyModuleHasNoEntryEither) {
  Module empty;
  EXPECT_FALSE(Verify(empty).has_value());
}

TEST_F(DamageTest, TheEntryIsOneOfTheComputations) {
  Computation stranger;
  module_.entry = &stranger;
  ExpectComplaint("no entry computation");
}

TEST_F(DamageTest, AComputationHasARootOfItsOwn) {
  main_->root = nullptr;
  ExpectComplaint("computation %main: it has no root");
  main_->root = callee_->root;
  ExpectComplaint("its root is in another computation");
}

TEST_F(DamageTest, AComputationHasInstructions) {
  callee_->instructions = {};
  ExpectComplaint("computation %callee: it has no instructions");
}

TEST_F(DamageTest, NamesOfInstructionsAreUnique) {
  sum_->name = x_->name;
  ExpectComplaint("%x in computation %main: its name is there twice");
}

TEST_F(DamageTest, NamesOfComputationsAreUnique) {
  callee_->name = "main";
  ExpectComplaint("computation %main: its name is there twice");
}

TEST_F(DamageTest, IdsAreUnique) {
  x_->id = 5;
  call_->id = 7;
  sum_->id = 5;
  ExpectComplaint("its id 5 is there twice");
  sum_->id = 0;
  EXPECT_TRUE(Verify(module_).has_value());
  callee_->id = main_->id = 3;
  ExpectComplaint("computation %main: its id 3 is there twice");
}

TEST_F(DamageTest, OperandsAreOfTheSameComputation) {
  sum_->operands[0] = callee_->root;
  ExpectComplaint("is not in this computation");
  sum_->operands[0] = nullptr;
  ExpectComplaint("an operand is missing");
}

TEST_F(DamageTest, OperandsAreCounted) {
  sum_->operands = sum_->operands.first(1);
  ExpectComplaint("add takes 2 operands and has 1");
}

TEST_F(DamageTest, CalledComputationsAreCountedAndOfTheModule) {
  call_->called = {};
  ExpectComplaint("call calls 1 computation and has 0");
  Computation stranger;
  Computation* called[] = {&stranger};
  call_->called = called;
  ExpectComplaint("calls a computation that the module does not have");
}

TEST_F(DamageTest, OnlyCallersCall) {
  Computation* called[] = {callee_};
  sum_->called = called;
  ExpectComplaint("add calls 0 computations and has 1");
}

TEST_F(DamageTest, EveryInstructionHasAShapeAndAName) {
  sum_->shape = nullptr;
  ExpectComplaint("it has no shape");
  sum_->shape = x_->shape;
  sum_->name = "";
  ExpectComplaint("it has no name");
}

TEST_F(DamageTest, ParametersAreNumberedWithoutGap) {
  x_->attributes[0].scalar = 3;
  Finish(module_);
  ExpectComplaint("parameter number 3 leaves a gap");
}

TEST_F(DamageTest, AParameterNumberIsThereOnce) {
  constant_->opcode = Opcode::kParameter;
  constant_->attributes[0] = Attribute::Varint(Field::kParameterNumber, 0);
  Finish(module_);
  ExpectComplaint("parameter number 0 is there twice");
}

TEST_F(DamageTest, CyclesAreSpelledOut) {
  Instruction* needed[] = {sum_};
  constant_->control_predecessors = needed;
  ExpectComplaint("it needs its own result: %");
  auto verdict = Verify(module_);
  EXPECT_NE(verdict.error().what.find("%constant.main.2 → %add.main.3 → %constant.main.2"),
            std::string::npos)
      << verdict.error().what;
}

TEST_F(DamageTest, ACycleOf100000InstructionsIsFoundWithoutRecursion) {
  Builder b(module_, "deep");
  Instruction* first = b.Unary(Opcode::kNegate, b.Parameter(0, x_->shape));
  Instruction* at = first;
  for (int i = 0; i < 100'000; ++i) at = b.Unary(Opcode::kNegate, at);
  first->operands[0] = at;
  b.Build(at);
  ExpectComplaint("→ …");
}

TEST_F(DamageTest, RecursionIsSpelledOut) {
  Builder b(module_, "again");
  Instruction* call = b.Call(main_, {b.Parameter(0, x_->shape)});
  Computation* again = b.Build(call);
  Computation* called[] = {again};
  call_->called = called;
  ExpectComplaint("it calls itself: %main → %again → %main");
}

TEST_F(DamageTest, LayoutsArePermutations) {
  const int64_t dims[] = {2, 3};
  const int64_t order[] = {1, 1};
  constant_->attributes = {};
  constant_->shape = module_.shapes.Intern(Shape{
      .type = PrimitiveType::kF32, .has_layout = true, .dims = dims, .minor_to_major = order});
  ExpectComplaint("layout {1,1} is not a permutation of the 2 dimensions");
}

TEST_F(DamageTest, DimensionsAreNotNegative) {
  const int64_t dims[] = {-2};
  constant_->shape = module_.shapes.Array(PrimitiveType::kF32, dims);
  ExpectComplaint("dimension size -2 is negative");
}

TEST_F(DamageTest, LiteralsHaveTheElementsOfTheirShape) {
  const int64_t dims[] = {2};
  constant_->shape = module_.shapes.ArrayWithDefaultLayout(PrimitiveType::kF32, dims);
  ExpectComplaint("the literal of a constant f32[2] has another shape");
  constant_->shape = x_->shape;
  std::string wire(constant_->attributes[0].bytes);
  wire.append("\x42\x04\0\0\0\0", 6);  // four more bytes of f32s
  constant_->attributes[0].bytes = wire;
  ExpectComplaint("the literal of a constant f32[] has 2 elements instead of 1");
  wire.append("\x42\x40");  // 64 bytes that are not there
  constant_->attributes[0].bytes = wire;
  ExpectComplaint("its literal is damaged");
}

}  // namespace
}  // namespace eightfold::hlo
