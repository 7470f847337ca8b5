#ifndef EIGHTFOLD_HLO_BUILDER_H_
#define EIGHTFOLD_HLO_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/views.h"

namespace eightfold::hlo {

// Builds one computation, instruction by instruction; result shapes are inferred. Operands that do
// not fit are programming mistakes: std::logic_error, with what the verifier would say.
//
//   Builder b(module, "main");
//   Instruction* x = b.Parameter(0, module.shapes.ArrayWithDefaultLayout(kF32, dims), "x");
//   module.entry = b.Build(b.Add(x, x));
class Builder {
 public:
  // `name` must be new in the module.
  Builder(Module& module, std::string_view name);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // An instruction with any attributes; `shape` null: inferred. The others are made with this one.
  Instruction* Make(Opcode opcode, std::span<Instruction* const> operands,
                    std::span<const Attribute> attributes = {}, const Shape* shape = nullptr,
                    std::span<Computation* const> called = {});

  Instruction* Parameter(int64_t number, const Shape* shape, std::string_view name = {});
  // A scalar, rounded to `type` (real types and pred).
  Instruction* Constant(PrimitiveType type, double value);
  // 0, 1, 2 … along `dimension`.
  Instruction* Iota(PrimitiveType type, std::span<const int64_t> dims, int64_t dimension);

  Instruction* Unary(Opcode opcode, Instruction* x) { return Make(opcode, {&x, 1}); }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Add(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Subtract(Instruction* a, Instruction* b) { return Binary(Opcode::kSubtract, a, b); }
  Instruction* Multiply(Instruction* a, Instruction* b) { return Binary(Opcode::kMultiply, a, b); }
  Instruction* Divide(Instruction* a, Instruction* b) { return Binary(Opcode::kDivide, a, b); }
  Instruction* Maximum(Instruction* a, Instruction* b) { return Binary(Opcode::kMaximum, a, b); }
  Instruction* Minimum(Instruction* a, Instruction* b) { return Binary(Opcode::kMinimum, a, b); }
  // `direction`: EQ, NE, GE, GT, LE or LT.
  Instruction* Compare(Instruction* a, Instruction* b, std::string_view direction);
  Instruction* Select(Instruction* predicate, Instruction* on_true, Instruction* on_false);
  Instruction* Clamp(Instruction* low, Instruction* x, Instruction* high);
  Instruction* Convert(Instruction* x, PrimitiveType type);

  // `dimensions[i]` is the dimension of the result that dimension i of `x` becomes.
  Instruction* Broadcast(Instruction* x, std::span<const int64_t> dims,
                         std::span<const int64_t> dimensions = {});
  Instruction* Reshape(Instruction* x, std::span<const int64_t> dims);
  // Dimension i of the result is dimension `permutation[i]` of `x`.
  Instruction* Transpose(Instruction* x, std::span<const int64_t> permutation);
  // One range per dimension.
  Instruction* Slice(Instruction* x, std::span<const SliceRange> ranges);
  Instruction* Concatenate(std::span<Instruction* const> parts, int64_t dimension);
  Instruction* Pad(Instruction* x, Instruction* value, std::span<const PaddingDimension> padding);
  // `starts`: one integer scalar per dimension.
  Instruction* DynamicSlice(Instruction* x, std::span<Instruction* const> starts,
                            std::span<const int64_t> sizes);
  Instruction* DynamicUpdateSlice(Instruction* x, Instruction* update,
                                  std::span<Instruction* const> starts);
  // `reducer`: (scalar, scalar) -> scalar.
  Instruction* Reduce(Instruction* x, Instruction* init, std::span<const int64_t> dimensions,
                      Computation* reducer);

  // `type` kInvalid: the wider operand type.
  Instruction* Dot(Instruction* lhs, Instruction* rhs, const DotDimensions& dimensions,
                   PrimitiveType type = PrimitiveType::kInvalid);
  Instruction* Conv(Instruction* input, Instruction* kernel, const Window& window,
                    const ConvolutionDimensions& dimensions,
                    PrimitiveType type = PrimitiveType::kInvalid, int64_t feature_groups = 1);

  Instruction* Tuple(std::span<Instruction* const> elements);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  Instruction* Call(Computation* callee, std::span<Instruction* const> arguments);
  // Both take one parameter of the shape of `init`.
  Instruction* While(Computation* condition, Computation* body, Instruction* init);
  // `selector`: pred[] for two branches, true first, or s32[]; one argument per branch.
  Instruction* Conditional(Instruction* selector, std::span<Computation* const> branches,
                           std::span<Instruction* const> arguments);
  // `kind`: kLoop, kInput, kOutput or kCustom.
  Instruction* Fusion(std::string_view kind, Computation* fused,
                      std::span<Instruction* const> operands);
  Instruction* CustomCall(std::string_view target, std::span<Instruction* const> operands,
                          const Shape* shape, std::string_view backend_config = {});

  // The same with lists written in place.
  using Values = std::initializer_list<Instruction*>;
  using Numbers = std::initializer_list<int64_t>;
  Instruction* Make(Opcode opcode, Values operands) { return Make(opcode, View(operands)); }
  Instruction* Broadcast(Instruction* x, Numbers dims, Numbers dimensions = {}) {
    return Broadcast(x, View(dims), View(dimensions));
  }
  Instruction* Reshape(Instruction* x, Numbers dims) { return Reshape(x, View(dims)); }
  Instruction* Transpose(Instruction* x, Numbers permutation) {
    return Transpose(x, View(permutation));
  }
  Instruction* Concatenate(Values parts, int64_t dimension) {
    return Concatenate(View(parts), dimension);
  }
  Instruction* Reduce(Instruction* x, Instruction* init, Numbers dimensions, Computation* reducer) {
    return Reduce(x, init, View(dimensions), reducer);
  }
  Instruction* Tuple(Values elements) { return Tuple(View(elements)); }
  Instruction* Call(Computation* callee, Values arguments) { return Call(callee, View(arguments)); }
  Instruction* Fusion(std::string_view kind, Computation* fused, Values operands) {
    return Fusion(kind, fused, View(operands));
  }

  // Ends the computation and adds it to the module. The builder is spent.
  Computation* Build(Instruction* root);

 private:
  template <class T>
  static std::span<const T> View(std::initializer_list<T> list) {
    return {list.begin(), list.size()};
  }
  const Shape* Array(PrimitiveType type, std::span<const int64_t> dims) {
    return module_.shapes.ArrayWithDefaultLayout(type, dims);
  }
  // A string or message attribute whose payload is copied into the module.
  Attribute Payload(Field field, std::string_view bytes) {
    return Attribute::Bytes(field, module_.arena.Copy(bytes));
  }
  Attribute Ints(Field field, std::span<const int64_t> values) {
    return Payload(field, EncodeInts(values));
  }
  // Gives `instruction` the element type `type`, unless that is kInvalid.
  Instruction* WithType(Instruction* instruction, PrimitiveType type);

  Module& module_;
  Computation* computation_;
  std::vector<Instruction*> instructions_;
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_BUILDER_H_
