#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_MAKER_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_MAKER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "hlo/builder.h"
#include "hlo/module.h"
#include "hlo/views.h"

namespace eightfold::differential {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

// Makes one computation from choices. Values go into pools, from which later steps take operands,
// recent ones more often, so that convolutions grow chains of operations, share values and meet.
class Maker {
 public:
  Maker(hlo::Module& module, std::string_view name, Choices& choices)
      : module_(module), builder_(module, name), name_(name), choices_(choices) {}

  hlo::Computation* Make();

 private:
  using Dims = std::vector<int64_t>;

  // --- maker.cc: pools and small pieces
  void ChooseFamily();
  void Step();
  Instruction* Root();
  Instruction* Parameter(PrimitiveType type, const Dims& dims);
  Instruction* Keep(Instruction* tensor);  // into the pool; returns it
  // The last one most of the time, else any; in a chain always the last.
  Instruction* Recent(const std::vector<Instruction*>& pool);
  Instruction* PickLike(const Instruction* tensor);  // an operand of the same type and shape
  Instruction* PickScalar(PrimitiveType type);
  Instruction* Fill(double value, const Instruction* like);
  Instruction* Spread(Instruction* scalar, const Instruction* like);
  Instruction* EitherOrder(Opcode opcode, Instruction* a, Instruction* b);
  static Dims DimsOf(const Instruction* value) {
    return {value->shape->dims.begin(), value->shape->dims.end()};
  }
  // A near miss: something that looks like the pattern and is not.
  bool Miss() { return choices_.OneIn(20); }

  // --- maker_conv.cc
  struct Filter {
    Dims kernel;  // spatial sizes
    int64_t input_features = 0, output_features = 0;
    std::vector<int64_t> layout;  // where spatial dimensions, input and output features stand
  };
  void Convolution();
  Instruction* PickInput();
  Instruction* FilterParameter(const Filter& filter, PrimitiveType wide, bool bare);
  PrimitiveType NarrowType();
  Instruction* Scaled(Instruction* narrow, PrimitiveType wide);
  Instruction* ScaleMiss(Instruction* converted);
  Instruction* Reversed(Instruction* filter, const hlo::ConvolutionDimensions& dims);
  hlo::Window ChooseWindow(const Instruction* input, const hlo::ConvolutionDimensions& dims,
                           const Dims& kernel);
  void ChooseWindowDimension(hlo::WindowDimension& window, int64_t input);
  Instruction* Convolve(Instruction* input, Instruction* filter, const hlo::Window& window,
                        const hlo::ConvolutionDimensions& dims, int64_t feature_groups,
                        int64_t batch_groups, PrimitiveType type);
  void Decorate(Instruction* convolution);

  // --- maker_ops.cc: what may follow a convolution
  void Follow();
  Instruction* AddOther(Instruction* value);
  Instruction* Scale(Instruction* value, Opcode opcode);
  Instruction* Relu(Instruction* value);
  Instruction* Relu6(Instruction* value);
  Instruction* Elu(Instruction* value);
  Instruction* LeakyRelu(Instruction* value);
  Instruction* Saturate(Instruction* value);
  Instruction* Positive(Instruction* value);
  Instruction* OtherType(Instruction* value);
  Instruction* DeadEnd(Instruction* value);
  void Amax(Instruction* value, bool absolute);
  hlo::Computation* Reducer(PrimitiveType type, bool maximum);

  hlo::Module& module_;
  hlo::Builder builder_;
  std::string name_;
  Choices& choices_;
  bool chain_ = false;
  int spatial_ = 2;            // spatial dimensions of every tensor
  std::vector<int64_t> main_;  // the shape that most tensors have
  int64_t batch_at_ = 0, feature_at_ = 0;
  std::vector<int64_t> spatial_at_;
  std::vector<int64_t> filter_layout_;
  int64_t parameters_ = 0;
  int convolutions_ = 0;
  int reducers_ = 0;
  std::vector<Instruction*> tensors_, scalars_, operands_, filters_, all_;
};

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_MAKER_H_
