#ifndef EIGHTFOLD_HLO_VIEWS_H_
#define EIGHTFOLD_HLO_VIEWS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/module.h"

// Typed views of attributes kept in wire form. Decoding never fails loudly: bytes that are not the
// message they should be give `ok == false` and as much as could be read; the verifier reports
// those.
namespace eightfold::hlo {

struct WindowDimension {
  int64_t size = 0, stride = 1, padding_low = 0, padding_high = 0, window_dilation = 1,
          base_dilation = 1;
  bool reversal = false;
};
struct Window {
  bool ok = true;
  std::vector<WindowDimension> dimensions;  // one per spatial (or reduced) dimension
};
Window DecodeWindow(std::string_view wire);
std::string EncodeWindow(const Window& window);

struct ConvolutionDimensions {
  bool ok = true;
  int64_t input_batch = 0, input_feature = 0, kernel_input_feature = 0, kernel_output_feature = 0,
          output_batch = 0, output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};
ConvolutionDimensions DecodeConvolutionDimensions(std::string_view wire);
std::string EncodeConvolutionDimensions(const ConvolutionDimensions& dimensions);

struct DotDimensions {
  bool ok = true;
  std::vector<int64_t> lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
  std::vector<int64_t> lhs_ragged, rhs_group;  // ragged-dot only
};
// Of a dot, scaled-dot or ragged-dot.
DotDimensions DecodeDotDimensions(const Instruction& dot);

// A packed list of int64 (Field::kDimensions …).
std::vector<int64_t> DecodeInts(std::string_view wire);
std::string EncodeInts(std::span<const int64_t> values);
inline std::vector<int64_t> Dimensions(const Instruction& instruction) {
  return DecodeInts(instruction.Bytes(Field::kDimensions));
}

struct SliceRange {
  int64_t start = 0, limit = 0, stride = 1;
};
std::vector<SliceRange> DecodeSlice(const Instruction& slice);

struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
};
std::vector<PaddingDimension> DecodePadding(const Instruction& pad);

// GatherDimensionNumbers: which dimensions of the result are those of a slice (`offset`), which of
// the operand's are dropped from it (`collapsed`), and where an index vector points.
struct GatherDimensions {
  bool ok = true;
  std::vector<int64_t> offset, collapsed, start_index_map, operand_batching, indices_batching;
  int64_t index_vector_dim = 0;  // the rank of the indices: each index is a vector of one
};
GatherDimensions DecodeGatherDimensions(std::string_view wire);
std::string EncodeGatherDimensions(const GatherDimensions& dimensions);

// ScatterDimensionNumbers: the same for updates that are written.
struct ScatterDimensions {
  bool ok = true;
  std::vector<int64_t> update_window, inserted_window, to_operand, input_batching, indices_batching;
  int64_t index_vector_dim = 0;
};
ScatterDimensions DecodeScatterDimensions(std::string_view wire);
std::string EncodeScatterDimensions(const ScatterDimensions& dimensions);

// OpMetadata. Views into the module.
struct Metadata {
  std::string_view op_type, op_name, source_file;
  int32_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  int32_t stack_frame_id = 0;  // 1-based; 0: none
};
Metadata DecodeMetadata(std::string_view wire);

// The module's stack frame table (HloModuleProto field 17), decoded once.
class StackFrames {
 public:
  explicit StackFrames(const Module& module);
  struct Frame {
    std::string_view file, function;
    int32_t line = 0, column = 0, end_line = 0, end_column = 0;
    int32_t parent = 0;  // 1-based frame; 0: outermost
  };
  // Innermost first; empty for 0 and dangling ids. Cycles in a damaged table end the walk.
  std::vector<Frame> Walk(int32_t stack_frame_id) const;

 private:
  std::vector<Frame> frames_;
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_VIEWS_H_
