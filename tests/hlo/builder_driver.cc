// Writes a module made with Builder, one of everything, to standard output as a HloModuleProto:
// builder_oracle_test.py lets XLA run it.
#include <cstdio>
#include <vector>

#include "hlo/builder.h"
#include "print_proto.h"

namespace eightfold::hlo {
namespace {

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;

struct Program {
  Module module;

  const Shape* Array(PrimitiveType type, std::vector<int64_t> dims) {
    return module.shapes.ArrayWithDefaultLayout(type, dims);
  }

  Computation* Sum() {
    Builder b(module, "sum");
    Instruction* x = b.Parameter(0, Array(kF32, {}));
    return b.Build(b.Add(x, b.Parameter(1, Array(kF32, {}))));
  }

  // Three rounds of x = 2 x + round.
  Instruction* Loop(Builder& b, Instruction* x) {
    Instruction* start = b.Tuple({b.Constant(kS32, 0), x});
    Builder when(module, "condition");
    Instruction* state = when.Parameter(0, start->shape);
    Computation* condition =
        when.Build(when.Compare(when.GetTupleElement(state, 0), when.Constant(kS32, 3), "LT"));
    Builder step(module, "body");
    state = step.Parameter(0, start->shape);
    Instruction* round = step.GetTupleElement(state, 0);
    Instruction* two = step.Broadcast(step.Constant(kF32, 2), {2, 3});
    Instruction* added = step.Broadcast(step.Convert(round, kF32), {2, 3});
    Instruction* next = step.Add(step.Multiply(step.GetTupleElement(state, 1), two), added);
    Computation* body = step.Build(step.Tuple({step.Add(round, step.Constant(kS32, 1)), next}));
    return b.GetTupleElement(b.While(condition, body, start), 1);
  }

  Instruction* Choice(Builder& b, Instruction* selector, Instruction* x) {
    std::vector<Computation*> branches;
    for (Opcode opcode : {Opcode::kNegate, Opcode::kAbs, Opcode::kSign}) {
      Builder branch(module, Name(opcode));
      branches.push_back(branch.Build(branch.Unary(opcode, branch.Parameter(0, x->shape))));
    }
    std::vector<Instruction*> arguments(branches.size(), x);
    return b.Conditional(selector, branches, arguments);
  }

  // A 1-D convolution over the rows of x[batch, width], kernel of two taps.
  Instruction* Convolution(Builder& b, Instruction* x) {
    Instruction* input = b.Reshape(x, {2, 3, 1});
    Instruction* taps = b.Concatenate(
        {b.Reshape(b.Constant(kF32, 1), {1, 1, 1}), b.Reshape(b.Constant(kF32, -1), {1, 1, 1})}, 0);
    Window window;
    window.dimensions = {{.size = 2, .stride = 1, .padding_low = 0, .padding_high = 1}};
    ConvolutionDimensions dims{.input_batch = 0,
                               .input_feature = 2,
                               .kernel_input_feature = 1,
                               .kernel_output_feature = 2,
                               .output_batch = 0,
                               .output_feature = 2,
                               .input_spatial = {1},
                               .kernel_spatial = {0},
                               .output_spatial = {1}};
    return b.Reshape(b.Conv(input, taps, window, dims), {2, 3});
  }

  Instruction* Moves(Builder& b, Instruction* x) {
    std::vector<PaddingDimension> padding = {{1, 0, 0}, {0, 1, 1}};
    Instruction* padded = b.Pad(x, b.Constant(kF32, 9), padding);  // [3, 6]
    std::vector<SliceRange> ranges = {{1, 3, 1}, {0, 6, 2}};
    Instruction* sliced = b.Slice(padded, ranges);  // x again
    Instruction* one = b.Constant(kS32, 1);
    std::vector<Instruction*> starts = {one, one};
    std::vector<int64_t> sizes = {1, 2};
    Instruction* part = b.DynamicSlice(sliced, starts, sizes);
    starts[0] = b.Constant(kS32, 0);
    return b.Transpose(b.DynamicUpdateSlice(sliced, part, starts), {1, 0});
  }

  // Values whose names are in builder_oracle_test.py.
  void Data(Builder& b, Instruction* x, std::vector<Instruction*>& results) {
    std::vector<int64_t> dims = {2, 3};
    std::vector<double> real = {0.5, -1, 2, 1e30, 0, -3};
    std::vector<int64_t> whole = {1, -2, int64_t{1} << 62, -(int64_t{1} << 62), 0, 5};
    results.push_back(b.ConstantArray(PrimitiveType::kF32, dims, real));
    results.push_back(
        b.ConstantArray(PrimitiveType::kPred, dims, std::vector<double>{1, 0, 0, 1, 1, 0}));
    results.push_back(
        b.ConstantArray(PrimitiveType::kU8, dims, std::vector<double>{1, 0, 200, 1, 255, 0}));
    Instruction* wide = b.ConstantInts(PrimitiveType::kS64, dims, whole);
    results.push_back(wide);
    results.push_back(b.ConstantInts(PrimitiveType::kU64, dims, whole));
    results.push_back(b.Reverse(x, {1}));
    Instruction* bytes = b.BitcastConvert(x, PrimitiveType::kU8);
    results.push_back(bytes);
    results.push_back(b.BitcastConvert(b.OptimizationBarrier(bytes), PrimitiveType::kF32));
    results.push_back(b.ShiftRightArithmetic(wide, b.Like(wide, 3)));
    results.push_back(b.ShiftRightLogical(wide, b.Like(wide, 3)));
    results.push_back(b.Remainder(wide, b.Like(wide, 3)));
    results.push_back(b.PopulationCount(wide));
    results.push_back(b.Not(b.Xor(wide, b.Like(wide, 6))));
    Instruction* parts[] = {x, b.IotaLike(x, kS32, 1)};
    Builder less(module, "less");
    Instruction* left = less.Parameter(0, Array(kF32, {}));
    Instruction* right = less.Parameter(1, Array(kF32, {}));
    less.Parameter(2, Array(kS32, {}));
    less.Parameter(3, Array(kS32, {}));
    Instruction* sorted = b.Sort(parts, 1, less.Build(less.Less(left, right)));
    for (Instruction* element : b.Elements(sorted)) results.push_back(element);
    for (auto reducer : {b.AddReducer(kF32), b.MaxReducer(kF32), b.MinReducer(kF32)}) {
      results.push_back(b.Reduce(x, b.Constant(kF32, 0), {1}, reducer));
    }
  }

  Computation* Main() {
    Computation* sum = Sum();
    Builder b(module, "main");
    Instruction* x = b.Parameter(0, Array(kF32, {2, 3}), "x");
    Instruction* selector = b.Parameter(1, Array(kS32, {}), "selector");
    Instruction* looped = Loop(b, x);
    Instruction* product = b.Dot(x, looped, {.lhs_contracting = {1}, .rhs_contracting = {1}});
    Instruction* total = b.Reduce(product, b.Constant(kF32, 0.5), {0}, sum);
    Instruction* counted = b.Convert(b.Iota(kS32, std::vector<int64_t>{2, 3}, 1), kF32);
    Instruction* clamped =
        b.Clamp(b.Constant(kF32, -1), b.Subtract(x, counted), b.Constant(kF32, 1));
    Instruction* selected = b.Select(b.Compare(x, counted, "GT"), x, clamped);
    std::vector<Instruction*> results = {
        looped, product, total, selected, Choice(b, selector, x), Convolution(b, x), Moves(b, x)};
    Data(b, x, results);
    return b.Build(b.Tuple(results));
  }
};

int Run() {
  Program program;
  program.module.name = "built";
  program.module.entry = program.Main();
  return PrintProto(program.module);
}

}  // namespace
}  // namespace eightfold::hlo

int main() { return eightfold::hlo::Run(); }
