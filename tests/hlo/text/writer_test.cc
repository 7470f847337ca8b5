#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"

namespace eightfold::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Module> Read(const std::string& text) {
  auto module = ReadText(Source::FromBytes("test.hlo", text));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().Format());
  return module ? std::move(*module) : nullptr;
}

std::string Write(const Module& module, const TextOptions& options = {}) {
  auto text = WriteText(module, options);
  EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().Format());
  return text.value_or("");
}

constexpr const char* kProgram =
    R"(HloModule m, entry_computation_layout={()->(f32[12]{0}, f32[2]{0})}

ENTRY %e () -> (f32[12], f32[2]) {
  %a = f32[12]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), metadata={op_name="n"}
  %b = f32[2]{0} constant({1, 2})
  ROOT %c = (f32[12]{0}, f32[2]{0}) tuple(%a, %b)
}

)";

TEST(WriteText, WritesWhatItRead) { EXPECT_EQ(Write(*Read(kProgram)), kProgram); }

TEST(WriteText, LargeConstantsAndMetadataCanBeLeftOut) {
  std::string text = Write(*Read(kProgram), {.metadata = false, .large_constants = false});
  EXPECT_THAT(text, HasSubstr("%a = f32[12]{0} constant({...})\n"));
  EXPECT_THAT(text, HasSubstr("%b = f32[2]{0} constant({1, 2})"));
  EXPECT_THAT(text, Not(HasSubstr("op_name")));
}

TEST(WriteText, UnknownAttributesAreKept) {
  std::string text = kProgram;
  text.replace(text.find("tuple(%a, %b)"), 13, "tuple(%a, %b), from_the_future={1, {2}}");
  EXPECT_THAT(Write(*Read(text)), HasSubstr("tuple(%a, %b), from_the_future={1, {2}}\n"));
}

TEST(WriteText, DamagedAttributesAreErrorsWithAPath) {
  auto module = Read(kProgram);
  Instruction* root = module->entry->root;
  Attribute broken = Attribute::Bytes(Field::kSharding, "\x0a");
  root->attributes = module->arena.Copy(std::span<const Attribute>(&broken, 1));
  auto text = WriteText(*module);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().where.field_path, "%e.%c");
  EXPECT_THAT(text.error().what, HasSubstr("cannot be written as text"));
}

TEST(WriteText, ModulesWithCyclesAreStillWrittenOnce) {
  auto module = Read(
      "HloModule m\nENTRY e { a = f32[] constant(1) b = f32[] negate(a) ROOT c = f32[] abs(b) }");
  Instruction* a = module->entry->instructions[1];
  Instruction* c = module->entry->root;
  a->operands[0] = c;
  std::string text = Write(*module);
  EXPECT_THAT(text, HasSubstr("%b = f32[] negate(%c)\n"));
  EXPECT_THAT(text, HasSubstr("ROOT %c = f32[] abs(%b)\n"));
}

// Every program with a few bytes changed: an error or a text, never a crash.
TEST(WriteText, DamagedProtosAreWrittenOrRefused) {
  std::mt19937 random(3);
  int written = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(EIGHTFOLD_TESTDATA) + "/programs")) {
    if (entry.path().extension() != ".pb" || entry.file_size() > 20000) continue;
    auto source = Source::Open(entry.path());
    ASSERT_TRUE(source.has_value());
    for (int round = 0; round < 50; ++round) {
      std::string bytes((*source)->bytes());
      for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] ^= static_cast<char>(random());
      auto module = ReadProto(Source::FromBytes("damaged.pb", bytes));
      if (module) written += WriteText(**module).has_value();
    }
  }
  EXPECT_GT(written, 20);
}

}  // namespace
}  // namespace eightfold::hlo
