#ifndef EIGHTFOLD_HLO_INFER_INTERNAL_H_
#define EIGHTFOLD_HLO_INFER_INTERNAL_H_

#include <span>
#include <string>

#include "hlo/infer_shape.h"
#include "hlo/views.h"

// What the files of shape inference share. Operand counts and null operands are checked before any
// of these is called.
namespace eightfold::hlo {

inline const Shape& OperandShape(const Instruction& instruction, size_t n) {
  return *instruction.operands[n]->shape;
}
inline InferredShape Whole(const Shape* shape) { return {.whole = shape}; }
// An array of `type`; `like` gives dimensions and layout.
InferredShape ArrayLike(const Shape& like, PrimitiveType type);
// An array with the default layout; static unless a dynamic flag is set afterwards.
InferredShape ArrayOf(PrimitiveType type, std::vector<int64_t> dims);

// The wider of two element types that may meet in one operation; kInvalid when they may not.
PrimitiveType WiderType(PrimitiveType a, PrimitiveType b);
// Whether `dims` are distinct and each in [0, rank).
bool AreDimensions(std::span<const int64_t> dims, size_t rank);
// The dynamic flag of one dimension.
inline bool IsDynamic(const Shape& shape, size_t dim) {
  return !shape.dynamic.empty() && shape.dynamic[dim];
}
// Whether two dimensions may be the same size: equal, or one is dynamic.
bool SameSize(const Shape& a, size_t a_dim, const Shape& b, size_t b_dim);
// Shapes of the values that the called computation returns: its root, or the root's elements.
Result<std::vector<const Shape*>> CalledResults(const Instruction& instruction);
// What a reduction of several inputs gives: `one` in the type of the combiner's result, or a tuple
// of it in the types of its results.
InferredShape CombinedResult(InferredShape one, const Instruction& reduction,
                             const std::vector<const Shape*>& results);
// "f32[2,3]" without layout.
inline std::string Bare(const Shape& shape) { return ToString(shape, false); }

// infer_matrix.cc
Result<InferredShape> InferDot(const Instruction& dot);
Result<InferredShape> InferRaggedDot(const Instruction& dot);
Result<InferredShape> InferConvolution(const Instruction& convolution);
Result<InferredShape> InferReduceWindow(const Instruction& reduce_window);
Result<InferredShape> InferSelectAndScatter(const Instruction& select_and_scatter);

// infer_data.cc
Result<InferredShape> InferTranspose(const Instruction& transpose);
Result<InferredShape> InferReverse(const Instruction& reverse);
Result<InferredShape> InferConcatenate(const Instruction& concatenate);
Result<InferredShape> InferPad(const Instruction& pad);
Result<InferredShape> InferSlice(const Instruction& slice);
Result<InferredShape> InferDynamicSlice(const Instruction& dynamic_slice);
Result<InferredShape> InferDynamicUpdateSlice(const Instruction& update);
Result<InferredShape> InferGather(const Instruction& gather);
Result<InferredShape> InferReduce(const Instruction& reduce);
Result<InferredShape> InferMap(const Instruction& map);
Result<InferredShape> InferTopK(const Instruction& top_k);
Result<InferredShape> InferFft(const Instruction& fft);
Result<InferredShape> InferBatchNorm(const Instruction& batch_norm);
Result<InferredShape> InferSetDimensionSize(const Instruction& set);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_INFER_INTERNAL_H_
