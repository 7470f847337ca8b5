#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"
#include "hlo/views.h"

namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace std::string_literals;

std::vector<std::string> Files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(EIGHTFOLD_TESTDATA "/" + folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

Result<std::unique_ptr<Module>> Read(std::string text) {
  return ReadText(Source::FromBytes("m.hlo", std::move(text)));
}

// A module whose entry computation has these instructions.
std::unique_ptr<Module> Entry(const std::string& instructions) {
  auto module = Read("HloModule m\nENTRY e {\n" + instructions + "\n}\n");
  if (!module) {
    ADD_FAILURE() << module.error().Format();
    return nullptr;
  }
  return *std::move(module);
}

std::string ErrorOf(const std::string& text) {
  auto module = Read(text);
  return module ? "no error" : module.error().Format();
}
std::string ErrorInEntry(const std::string& instructions) {
  return ErrorOf("HloModule m\nENTRY e {\n" + instructions + "\n}\n");
}

const Instruction& Find(const Module& module, std::string_view name) {
  for (const Computation* computation : module.computations) {
    for (const Instruction* instruction : computation->instructions) {
      if (instruction->name == name) return *instruction;
    }
  }
  throw std::runtime_error("no instruction " + std::string(name));
}

// "ok", or where and what: what a user would see first.
std::string Verdict(const std::string& file) {
  auto source = Source::Open(file);
  auto module = ReadText(*source);
  Error error;
  if (!module) {
    error = module.error();
  } else if (auto verified = Verify(**module); !verified) {
    error = verified.error();
  } else {
    return "ok";
  }
  return std::to_string(error.where.line) + ":" + std::to_string(error.where.column) + ": " +
         error.what;
}

TEST(ReaderTest, ReadsEveryTextCase) {
  std::vector<std::string> files = Files("text_cases");
  EXPECT_EQ(files.size(), 56u);
  for (const std::string& file : files) {
    auto module = ReadText(*Source::Open(file));
    EXPECT_TRUE(module) << module.error().Format();
  }
}

// eightfold.tsv is reviewed by hand; a case that is no "ok" must have a position. With
// EIGHTFOLD_REGENERATE set it is written anew.
TEST(ReaderTest, GivesTheRecordedVerdictOnEveryBadCase) {
  std::string golden = EIGHTFOLD_TESTDATA "/bad_cases/eightfold.tsv";
  std::ostringstream verdicts;
  for (const std::string& file : Files("bad_cases")) {
    verdicts << std::filesystem::path(file).stem().string() << '\t' << Verdict(file) << '\n';
  }
  if (std::getenv("EIGHTFOLD_REGENERATE") != nullptr) std::ofstream(golden) << verdicts.str();
  std::ostringstream recorded;
  recorded << std::ifstream(golden).rdbuf();
  EXPECT_EQ(verdicts.str(), recorded.str());
  EXPECT_THAT(verdicts.str(), Not(HasSubstr("\t0:0:")));
}

TEST(ReaderTest, ResolvesForwardReferencesAndAnyOrderOfComputations) {
  auto module = Read(R"(HloModule m
ENTRY e {
  ROOT c = f32[] call(b), to_apply=later, control-predecessors={last}
  b = f32[] negate(a)
  a = f32[] parameter(0)
  last = f32[] constant(1)
}
later {
  ROOT x = f32[] parameter(0)
})");
  ASSERT_TRUE(module) << module.error().Format();
  const Instruction& call = Find(**module, "c");
  EXPECT_EQ(call.operands[0], &Find(**module, "b"));
  EXPECT_EQ(call.operands[0]->operands[0], &Find(**module, "a"));
  EXPECT_EQ(call.control_predecessors[0], &Find(**module, "last"));
  EXPECT_EQ(call.called[0]->root, &Find(**module, "x"));
  EXPECT_EQ((*module)->entry->root, &call);
}

TEST(ReaderTest, NamesTheNearestInstructionOfTheComputation) {
  std::string error = ErrorInEntry(
      "  %multiply.3 = f32[] parameter(0)\n  ROOT %add.9 = f32[] add(%multiply.4, %multiply.3)");
  EXPECT_THAT(
      error, StartsWith("error: m.hlo:4:27: operand %multiply.4 is not defined in computation %e"));
  EXPECT_THAT(error, HasSubstr("                          ^~~~~~~~~~~"));
  EXPECT_THAT(error, HasSubstr("%multiply.3 is; names are local to a computation"));
}

TEST(ReaderTest, NamesTheNearestOpcodeAndComputation) {
  EXPECT_THAT(ErrorInEntry("a = f32[] parametr(0)"), HasSubstr("did you mean parameter?"));
  EXPECT_THAT(ErrorOf("HloModule m\nbody { x = f32[] parameter(0) }\nENTRY e { a = f32[] "
                      "parameter(0) ROOT c = f32[] call(a), to_apply=boddy }"),
              HasSubstr("did you mean %body?"));
}

TEST(ReaderTest, KeepsUnknownAttributesAsText) {
  auto module = Entry(
      "a = f32[] parameter(0), later_thing=mesh['x'=2] {'y', (1)}, other=\"a, b\", dimensions={0}");
  std::vector<std::string_view> kept;
  for (const Attribute& attribute : Find(*module, "a").attributes) {
    if (attribute.wire == Attribute::Wire::kText) kept.push_back(attribute.bytes);
  }
  EXPECT_THAT(
      kept, ElementsAre("later_thing=mesh['x'=2] {'y', (1)}", "other=\"a, b\"", "dimensions={0}"));
}

TEST(ReaderTest, KeepsUnknownHeaderAttributesAsText) {
  auto module =
      Read("HloModule m, new_thing={a={b}}, replica_count=2\nENTRY e { a = f32[] parameter(0) }");
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->attributes[0].bytes, "new_thing={a={b}}");
  EXPECT_EQ((*module)->replica_count, 2);
}

TEST(ReaderTest, MakesNamesUniqueAsXlaDoesButLocatesThemAsWritten) {
  auto module = Read(R"(HloModule m
f { a = f32[] parameter(0) ROOT a.2 = f32[] negate(a) }
g { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
ENTRY e { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
)");
  ASSERT_TRUE(module);
  std::vector<std::string_view> names;
  for (const Computation* computation : (*module)->computations) {
    for (const Instruction* instruction : computation->instructions) {
      names.push_back(instruction->name);
    }
  }
  EXPECT_THAT(names, ElementsAre("a", "a.2", "a.1", "b", "a.3", "b.1"));
  Location where = Locate(**module, names[4]);
  EXPECT_EQ(where.line, 4u);
  EXPECT_EQ(where.column, 11u);
}

TEST(ReaderTest, GivesOmittedLayoutsTheDefaultAndInfersOmittedShapes) {
  auto module = Entry(R"(
  a = f32[3,4] parameter(0)
  b = f32[4,5]{0,1} parameter(1)
  ROOT t = tuple(n, d)
  n = negate(d)
  d = dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  EXPECT_EQ(ToString(*Find(*module, "a").shape), "f32[3,4]{1,0}");
  EXPECT_EQ(ToString(*Find(*module, "b").shape), "f32[4,5]{0,1}");
  EXPECT_EQ(ToString(*Find(*module, "t").shape, false), "(f32[3,5], f32[3,5])");
}

TEST(ReaderTest, TakesRawSpansOfShapesApart) {
  auto module = Entry(R"(
  a = f32[ 2 , <=3 ]{ 1 , 0 : T( 8 , 128 ) S(5) } parameter(0)
  b = f32[2,<=3]{1,0:T(8,128)S(5)} parameter(1)
  c = (f32[?], /*index=1*/(s4[2]{0:E(4)}, token[])) parameter(2)
  d = b(f32[6]) parameter(3))");
  const Shape& a = *Find(*module, "a").shape;
  EXPECT_EQ(&a, Find(*module, "b").shape);
  EXPECT_THAT(a.dims, ElementsAre(2, 3));
  EXPECT_THAT(a.dynamic, ElementsAre(false, true));
  // tiles (6) {1: 8, 128}, memory_space (8) 5.
  EXPECT_EQ(a.layout_extra, "\x32\x05\x0a\x03\x08\x80\x01\x40\x05");
  const Shape& c = *Find(*module, "c").shape;
  EXPECT_EQ(c.tuple[0]->dims[0], kUnbounded);
  EXPECT_EQ(c.tuple[1]->tuple[0]->layout_extra, "\x38\x04");
  EXPECT_EQ(Find(*module, "d").shape->type, PrimitiveType::kBuffer);
}

TEST(ReaderTest, EncodesWindowsWithTheirDefaults) {
  auto module = Entry(R"(
  x = f32[1,8,8,4] parameter(0)
  k = f32[3,2,4,6] parameter(1)
  c = f32[1,4,4,6] convolution(x, k), window={size=3x2 stride=2x1 pad=0_1x-1_2 rhs_reversal=0x1}, dim_labels=b01f_01io->b10f)");
  Window window = DecodeWindow(Find(*module, "c").Bytes(Field::kWindow));
  ASSERT_TRUE(window.ok);
  ASSERT_EQ(window.dimensions.size(), 2u);
  EXPECT_EQ(window.dimensions[0].size, 3);
  EXPECT_EQ(window.dimensions[0].stride, 2);
  EXPECT_EQ(window.dimensions[0].padding_high, 1);
  EXPECT_EQ(window.dimensions[1].padding_low, -1);
  EXPECT_EQ(window.dimensions[1].base_dilation, 1);
  EXPECT_TRUE(window.dimensions[1].reversal);
  ConvolutionDimensions labels =
      DecodeConvolutionDimensions(Find(*module, "c").Bytes(Field::kConvolutionDimensionNumbers));
  EXPECT_THAT(labels.input_spatial, ElementsAre(1, 2));
  EXPECT_THAT(labels.output_spatial, ElementsAre(2, 1));
  EXPECT_EQ(labels.kernel_output_feature, 3);
  EXPECT_EQ(Find(*module, "c").Int(Field::kFeatureGroupCount), 1);
  EXPECT_EQ(Find(*module, "c").Bytes(Field::kPrecisionConfig), "\x0a\x02\x00\x00"s);
}

TEST(ReaderTest, GathersTheAttributesOfOneMessage) {
  auto module = Entry(R"(
  a = bf16[2,3,4] parameter(0)
  b = bf16[2,4,5] parameter(1)
  d = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, algorithm=dot_bf16_bf16_f32_x3, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  i = s32[3] parameter(2)
  w = f32[3,5,7] parameter(3)
  r = f32[3,7] ragged-dot(a, w, i), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0})");
  DotDimensions dot = DecodeDotDimensions(Find(*module, "d"));
  EXPECT_THAT(dot.lhs_contracting, ElementsAre(2));
  EXPECT_THAT(dot.rhs_contracting, ElementsAre(1));
  EXPECT_THAT(dot.lhs_batch, ElementsAre(0));
  EXPECT_THAT(dot.rhs_batch, ElementsAre(0));
  // Two DEFAULT precisions, algorithm 7.
  EXPECT_EQ(Find(*module, "d").Bytes(Field::kPrecisionConfig), "\x0a\x02\x00\x00\x10\x07"s);
  DotDimensions ragged = DecodeDotDimensions(Find(*module, "r"));
  EXPECT_THAT(ragged.lhs_contracting, ElementsAre(1));
  EXPECT_THAT(ragged.rhs_group, ElementsAre(0));
}

TEST(ReaderTest, OrdersCalledComputationsAsProtoDoes) {
  auto module = Read(R"(HloModule m
cond { p = (s32[]) parameter(0) ROOT c = pred[] constant(false) }
body { ROOT p = (s32[]) parameter(0) }
ENTRY e { x = (s32[]) parameter(0) ROOT w = (s32[]) while(x), condition=cond, body=body })");
  ASSERT_TRUE(module) << module.error().Format();
  const Instruction& loop = Find(**module, "w");
  EXPECT_EQ(loop.called[0]->name, "body");
  EXPECT_EQ(loop.called[1]->name, "cond");
}

TEST(ReaderTest, MakesAComputationForAsynchronousOperations) {
  auto module = Entry(R"(
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[8], s32[]) custom-call-start(x), async_execution_thread="host", custom_call_target="hw", metadata={op_name="n"}
  d = f32[8] custom-call-done(s))");
  const Instruction& start = Find(*module, "s");
  EXPECT_EQ(start.opcode, Opcode::kAsyncStart);
  EXPECT_EQ(start.Bytes(Field::kAsyncExecutionThread), "host");
  EXPECT_EQ(DecodeMetadata(start.metadata).op_name, "n");
  ASSERT_EQ(start.called.size(), 1u);
  const Computation& wrapped = *start.called[0];
  EXPECT_EQ(wrapped.name, "async_wrapped");
  EXPECT_EQ(wrapped.execution_thread, "host");
  EXPECT_EQ(wrapped.root->custom_call_target(), "hw");
  EXPECT_EQ(wrapped.root->shape, start.shape->tuple[1]);
  EXPECT_EQ(wrapped.parameters[0]->shape, start.shape->tuple[0]->tuple[0]);
  EXPECT_EQ(Find(*module, "d").opcode, Opcode::kAsyncDone);
}

TEST(ReaderTest, DecodesStringsAndKeepsJsonVerbatim) {
  auto module = Entry(R"(
  a = f32[] parameter(0), metadata={op_name="q\\\n\303\251\x41\u00e9" source_line=7}, backend_config={ "a" : "}" }
  b = f32[] negate(a), backend_config="{\"x\":1}", metadata={})");
  Metadata metadata = DecodeMetadata(Find(*module, "a").metadata);
  EXPECT_EQ(metadata.op_name,
            "q\\\n\xc3\xa9"
            "A\xc3\xa9");
  EXPECT_EQ(metadata.source_line, 7);
  EXPECT_EQ(Find(*module, "a").backend_config, "{ \"a\" : \"}\" }");
  EXPECT_EQ(Find(*module, "b").backend_config, "{\"x\":1}");
  EXPECT_THAT(Find(*module, "b").metadata, IsEmpty());
}

// The data field of a LiteralProto, behind its shape.
std::string_view LiteralData(const Instruction& constant) {
  std::string_view wire = constant.Bytes(Field::kLiteral);
  return wire.substr(2 + static_cast<unsigned char>(wire[1]));
}

TEST(ReaderTest, StoresLiteralsInTheOrderOfTheirLayout) {
  auto module = Entry(R"(
  a = f32[2,2]{0,1} constant({ {1, 2}, {3, 4} })
  b = s32[2,3]{0,1} constant({{1,2,3},{4,5,-6}}))");
  // f32s (8) 1 3 2 4; s32s (4) 1 4 2 5 3 -6.
  EXPECT_EQ(LiteralData(Find(*module, "a")),
            "\x42\x10\x00\x00\x80\x3f\x00\x00\x40\x40\x00\x00\x00\x40\x00\x00\x80\x40"s);
  EXPECT_EQ(LiteralData(Find(*module, "b")),
            "\x22\x0f\x01\x04\x02\x05\x03\xfa\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(ReaderTest, StoresSmallTypesOneByteEach) {
  auto module = Entry(R"(
  a = s4[3] constant({-8, 7, 0})
  b = f8e4m3fn[3] constant({1.5, 449, nan})
  c = bf16[2] constant({-0.0, nan(0x41)})
  d = pred[3] constant({true, 0, 5})
  f = f4e2m1fn[2] constant({-1, 7})
  g = c64[] constant((1, -2)))");
  EXPECT_EQ(LiteralData(Find(*module, "a")), "\xaa\x01\x03\x08\x07\x00"s);
  EXPECT_EQ(LiteralData(Find(*module, "b")), "\xa2\x01\x03\x3c\x7e\x7f"s);
  EXPECT_EQ(LiteralData(Find(*module, "c")), "\x6a\x04\x00\x80\xc1\x7f"s);
  EXPECT_EQ(LiteralData(Find(*module, "d")), "\x12\x03\x01\x00\x01"s);
  EXPECT_EQ(LiteralData(Find(*module, "f")), "\x82\x02\x02\x0a\x07"s);
  EXPECT_EQ(LiteralData(Find(*module, "g")), "\x62\x08\x00\x00\x80\x3f\x00\x00\x00\xc0"s);
}

TEST(ReaderTest, RejectsLiteralsThatDoNotFit) {
  EXPECT_THAT(ErrorInEntry("a = s8[] constant(128)"), HasSubstr("3:19: this does not fit s8"));
  EXPECT_THAT(ErrorInEntry("a = u8[] constant(-1)"), HasSubstr("does not fit u8"));
  EXPECT_THAT(ErrorInEntry("a = f16[] constant(65520)"), HasSubstr("does not fit f16"));
  EXPECT_THAT(ErrorInEntry("a = f8e4m3fn[] constant(480)"), HasSubstr("does not fit f8e4m3fn"));
  EXPECT_THAT(ErrorInEntry("a = f8e8m0fnu[] constant(0)"), HasSubstr("does not fit f8e8m0fnu"));
  EXPECT_THAT(ErrorInEntry("a = s32[] constant(1.5)"), HasSubstr("must be an integer"));
  EXPECT_THAT(ErrorInEntry("a = f8e4m3fn[] constant(nan(0x1))"), HasSubstr("this payload"));
  EXPECT_THAT(ErrorInEntry("a = f32[2] constant({1, 2, 3})"), HasSubstr("only 2 elements"));
  EXPECT_THAT(ErrorInEntry("a = f32[2,1] constant({{1}})"), HasSubstr("1 elements end here"));
}

TEST(ReaderTest, LeavesElidedConstantsWithoutLiteral) {
  auto module = Entry("a = f32[1000] constant({...})\n b = (f32[], f32[9]) constant({...})");
  EXPECT_EQ(Find(*module, "a").Find(Field::kLiteral), nullptr);
  EXPECT_EQ(Find(*module, "b").Find(Field::kLiteral), nullptr);
}

TEST(ReaderTest, ConstantsHaveTheShapesOfTheirLiterals) {
  auto module = Entry("a = s4[<=2]{0:T(8)E(4)S(5)} constant({1, 2})");
  EXPECT_EQ(ToString(*Find(*module, "a").shape), "s4[2]{0:T(8)S(5)}");
}

TEST(ReaderTest, FillsInWhatXlaWould) {
  auto module = Entry(R"(
  tok = token[] after-all()
  x = f32[4] parameter(0)
  a = pred[4] compare(i, i), direction=LT
  i = u8[4] parameter(1)
  b = (f32[2], s32[2]) topk(x), k=2
  c = (f32[2], s32[2]) topk(x), k=2, largest=false
  o = token[] outfeed(i, tok))");
  EXPECT_EQ(Find(*module, "a").Bytes(Field::kComparisonType), "UNSIGNED");
  EXPECT_EQ(Find(*module, "b").Int(Field::kLargest), 1);
  EXPECT_EQ(Find(*module, "c").Int(Field::kLargest), 0);
  // u8 (6), dimensions {4}, layout {0}.
  EXPECT_EQ(Find(*module, "o").Bytes(Field::kOutfeedShape),
            "\x10\x06\x1a\x01\x04\x2a\x03\x0a\x01\x00"s);
}

TEST(ReaderTest, NamesNestedOperandsAndTellsTheirAttributesFromOperands) {
  auto module = Entry(R"(
  x = f32[4] parameter(0)
  r = f32[4] add(f32[4] negate(x), metadata={op_name="n"}, f32[4] negate(f32[4] abs(x))))");
  const Instruction& add = Find(*module, "r");
  ASSERT_EQ(add.operands.size(), 2u);
  EXPECT_EQ(add.operands[0]->name, "negate.anon");
  EXPECT_EQ(DecodeMetadata(add.operands[0]->metadata).op_name, "n");
  EXPECT_EQ(add.operands[1]->name, "negate.anon.1");
  EXPECT_EQ(add.operands[1]->operands[0]->name, "abs.anon");
}

TEST(ReaderTest, RejectsAxesUsedTwice) {
  EXPECT_THAT(
      ErrorInEntry("a = f32[8,8] parameter(0), sharding={mesh['x'=2,'y'=4], [{'x'}, {'x'}]}"),
      HasSubstr("this axis is used twice"));
  EXPECT_THAT(
      ErrorInEntry("a = f32[8,8] parameter(0), sharding={mesh['y'=4], [{'y':(1)2}, {'y':(2)2}]}"),
      HasSubstr("no error"));
}

TEST(ReaderTest, TheOrderOfScheduledTextIsTheSchedule) {
  auto module = Read(
      "HloModule m, is_scheduled=true\nENTRY e {\n b = f32[] constant(1)\n a = f32[] "
      "parameter(0)\n ROOT c = f32[] add(a, b)\n}");
  ASSERT_TRUE(module);
  EXPECT_THAT((*module)->entry->schedule,
              ElementsAre(&Find(**module, "b"), &Find(**module, "a"), &Find(**module, "c")));
}

TEST(ReaderTest, ReadsALongChainBackwards) {
  constexpr int kLength = 100'000;
  std::string text = "HloModule m\nENTRY e {\n";
  for (int i = kLength; i > 0; --i) {
    text += (i == kLength ? "ROOT n" : "n") + std::to_string(i) + " = f32[] negate(n" +
            std::to_string(i - 1) + ")\n";
  }
  auto module = Read(text + "n0 = f32[] parameter(0)\n}\n");
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->instructions.size(), kLength + 1u);
}

TEST(ReaderTest, SurvivesTruncationAnywhere) {
  auto proto = Source::Open(EIGHTFOLD_TESTDATA "/programs/move.pb");
  ASSERT_TRUE(proto);
  auto module = ReadProto(*proto);
  ASSERT_TRUE(module);
  auto text = WriteText(**module);
  ASSERT_TRUE(text);
  ASSERT_TRUE(Read(*text));
  for (size_t length = 0; length + 1 < text->size(); length += 97) {
    auto cut = Read(text->substr(0, length));
    // A cut between two computations leaves a module without them.
    if (!cut) {
      EXPECT_NE(cut.error().where.line, 0u) << length;
    }
  }
}

}  // namespace
}  // namespace eightfold::hlo
