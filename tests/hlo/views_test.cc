#include "hlo/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/proto/proto.h"

// What jaxlib prints for these programs is the reference: the comments quote it.
namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::unique_ptr<Module> Load(const std::string& file) {
  auto source = Source::Open(EIGHTFOLD_TESTDATA "/" + file);
  EXPECT_TRUE(source) << source.error().Format();
  auto module = ReadProto(*source);
  EXPECT_TRUE(module) << module.error().Format();
  return *std::move(module);
}

const Instruction* Named(const Module& module, std::string_view name) {
  for (const Computation* computation : module.computations) {
    for (const Instruction* instruction : computation->instructions) {
      if (instruction->name == name) return instruction;
    }
  }
  ADD_FAILURE() << "no " << name;
  return nullptr;
}

// window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
TEST(Views, ConvolutionOfARealProgram) {
  auto module = Load("programs/plain.pb");
  const Instruction* conv = Named(*module, "conv_general_dilated.1");
  Window window = DecodeWindow(conv->Bytes(Field::kWindow));
  EXPECT_TRUE(window.ok);
  ASSERT_EQ(window.dimensions.size(), 2u);
  for (const WindowDimension& dim : window.dimensions) {
    EXPECT_EQ(dim.size, 3);
    EXPECT_EQ(dim.stride, 1);
    EXPECT_EQ(dim.padding_low, 1);
    EXPECT_EQ(dim.padding_high, 1);
    EXPECT_EQ(dim.window_dilation, 1);
    EXPECT_EQ(dim.base_dilation, 1);
    EXPECT_FALSE(dim.reversal);
  }
  EXPECT_EQ(EncodeWindow(window), conv->Bytes(Field::kWindow));
  std::string_view wire = conv->Bytes(Field::kConvolutionDimensionNumbers);
  ConvolutionDimensions dims = DecodeConvolutionDimensions(wire);
  EXPECT_TRUE(dims.ok);
  EXPECT_EQ(dims.input_batch, 0);
  EXPECT_EQ(dims.input_feature, 3);
  EXPECT_THAT(dims.input_spatial, ElementsAre(1, 2));
  EXPECT_EQ(dims.kernel_input_feature, 2);
  EXPECT_EQ(dims.kernel_output_feature, 3);
  EXPECT_THAT(dims.kernel_spatial, ElementsAre(0, 1));
  EXPECT_EQ(dims.output_batch, 0);
  EXPECT_EQ(dims.output_feature, 3);
  EXPECT_THAT(dims.output_spatial, ElementsAre(1, 2));
  EXPECT_EQ(EncodeConvolutionDimensions(dims), wire);
}

// lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}
TEST(Views, BatchedDot) {
  auto module = Load("reports/29_qk_c_batched.pb");
  DotDimensions dims = DecodeDotDimensions(*Named(*module, "dot_general.1"));
  EXPECT_TRUE(dims.ok);
  EXPECT_THAT(dims.lhs_batch, ElementsAre(0, 2));
  EXPECT_THAT(dims.lhs_contracting, ElementsAre(3));
  EXPECT_THAT(dims.rhs_batch, ElementsAre(0, 2));
  EXPECT_THAT(dims.rhs_contracting, ElementsAre(3));
  EXPECT_THAT(dims.lhs_ragged, IsEmpty());
}

TEST(Views, RaggedDot) {
  // {1: {1: [1], 2: [0]}, 2: [0], 3: [0]}
  std::string wire("\x0a\x06\x0a\x01\x01\x12\x01\x00\x12\x01\x00\x1a\x01\x00", 14);
  Attribute attribute = Attribute::Bytes(Field::kRaggedDotDimensionNumbers, wire);
  Instruction dot{.attributes = {&attribute, 1}};
  DotDimensions dims = DecodeDotDimensions(dot);
  EXPECT_TRUE(dims.ok);
  EXPECT_THAT(dims.lhs_contracting, ElementsAre(1));
  EXPECT_THAT(dims.rhs_contracting, ElementsAre(0));
  EXPECT_THAT(dims.lhs_ragged, ElementsAre(0));
  EXPECT_THAT(dims.rhs_group, ElementsAre(0));
}

// jaxlib's bytes for slice={[1:8:4],[0:9:3]} and padding=1_2x-1_2.
TEST(Views, SliceAndPadding) {
  Attribute ranges[] = {Attribute::Bytes(Field::kSliceDimensions, "\x08\x01\x10\x08\x18\x04"),
                        Attribute::Bytes(Field::kSliceDimensions, "\x10\x09\x18\x03")};
  auto slice = DecodeSlice(Instruction{.attributes = ranges});
  ASSERT_EQ(slice.size(), 2u);
  EXPECT_EQ(slice[0].start, 1);
  EXPECT_EQ(slice[0].limit, 8);
  EXPECT_EQ(slice[0].stride, 4);
  EXPECT_EQ(slice[1].start, 0);
  EXPECT_EQ(slice[1].stride, 3);
  std::string wire =
      "\x0a\x04\x08\x01\x10\x02\x0a\x0d\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x02";
  Attribute padding = Attribute::Bytes(Field::kPaddingConfig, wire);
  auto pad = DecodePadding(Instruction{.attributes = {&padding, 1}});
  ASSERT_EQ(pad.size(), 2u);
  EXPECT_EQ(pad[0].low, 1);
  EXPECT_EQ(pad[1].low, -1);
  EXPECT_EQ(pad[1].high, 2);
  EXPECT_EQ(pad[1].interior, 0);
}

TEST(Views, IntsRoundTripThroughKnownBytes) {
  std::vector<int64_t> values = {0, 127, 128, -1};
  std::string wire("\0\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
  EXPECT_EQ(EncodeInts(values), wire);
  EXPECT_EQ(DecodeInts(wire), values);
}

// jaxlib's bytes for a metadata with every field that we read.
TEST(Views, Metadata) {
  Metadata metadata = DecodeMetadata(
      "\x0a\x03neg\x12\x01x\x1a\x04"
      "f.py\x20\xac\x02\x88\x01\xad\x02\x90\x01\x02\x98\x01\x09\x78\x07");
  EXPECT_EQ(metadata.op_type, "neg");
  EXPECT_EQ(metadata.op_name, "x");
  EXPECT_EQ(metadata.source_file, "f.py");
  EXPECT_EQ(metadata.source_line, 300);
  EXPECT_EQ(metadata.source_end_line, 301);
  EXPECT_EQ(metadata.source_column, 2);
  EXPECT_EQ(metadata.source_end_column, 9);
  EXPECT_EQ(metadata.stack_frame_id, 7);
}

// stack_frame_id=6: 6 {file_location_id=6 parent_frame_id=6}, 5 {… 5, 3}, 2 {… 2, 2}, 1 {… 1, 1}
// (text counts parents from one more), locations at lines 17, 26, 27, 137.
TEST(Views, StackFramesOfARealProgram) {
  auto module = Load("programs/repro.pb");
  const Instruction* conv = Named(*module, "conv_general_dilated.2");
  int32_t id = DecodeMetadata(conv->metadata).stack_frame_id;
  EXPECT_EQ(id, 6);
  StackFrames frames(*module);
  std::vector<int32_t> lines;
  std::vector<std::string_view> functions;
  for (const StackFrames::Frame& frame : frames.Walk(id)) {
    lines.push_back(frame.line);
    functions.push_back(frame.function);
    EXPECT_THAT(frame.file, ::testing::EndsWith("programs.py"));
  }
  EXPECT_THAT(lines, ElementsAre(17, 26, 27, 137));
  EXPECT_THAT(functions, ElementsAre("conv", "repro.<locals>.<lambda>", "repro", "<module>"));
  StackFrames::Frame innermost = frames.Walk(id)[0];
  EXPECT_EQ(innermost.end_line, 18);
  EXPECT_EQ(innermost.column, 11);
  EXPECT_EQ(innermost.end_column, 115);
  EXPECT_THAT(frames.Walk(0), IsEmpty());
  EXPECT_THAT(frames.Walk(10000), IsEmpty());
  EXPECT_THAT(frames.Walk(-1), IsEmpty());
}

TEST(Views, StackFrameCyclesEnd) {
  // Two frames that are each other's parents.
  std::string table("\x22\x02\x10\x02\x22\x02\x10\x01", 8);
  Module module;
  module.attributes.push_back(Attribute::Bytes(Field{17}, table));
  EXPECT_EQ(StackFrames(module).Walk(1).size(), 2u);
}

TEST(Views, DamageIsFlagged) {
  EXPECT_FALSE(DecodeWindow("\x0a\x05\x08").ok);
  EXPECT_FALSE(DecodeWindow("\x0a\x02\x08\x80").ok);  // inside a dimension
  EXPECT_FALSE(DecodeWindow("\x08\x01").ok);          // a number where a message should be
  EXPECT_FALSE(DecodeConvolutionDimensions("\x3a\x01\x00").ok);
  Attribute attribute = Attribute::Bytes(Field::kDotDimensionNumbers, "\x0a\x01\x80");
  EXPECT_FALSE(DecodeDotDimensions(Instruction{.attributes = {&attribute, 1}}).ok);
  EXPECT_THAT(DecodeInts("\x05\x80"), ElementsAre(5));
}

TEST(Views, AbsentStrideIsZeroNotOne) {
  Window window = DecodeWindow("\x0a\x02\x08\x03");
  ASSERT_EQ(window.dimensions.size(), 1u);
  EXPECT_EQ(window.dimensions[0].size, 3);
  EXPECT_EQ(window.dimensions[0].stride, 0);
  EXPECT_EQ(window.dimensions[0].window_dilation, 0);
}

}  // namespace
}  // namespace eightfold::hlo
