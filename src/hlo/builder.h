#ifndef EIGHTFOLD_HLO_BUILDER_H_
#define EIGHTFOLD_HLO_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/module.h"
#include "hlo/views.h"

namespace eightfold::hlo {

// Builds one computation, instruction by instruction; result shapes are inferred. Operands that do
// not fit are programming mistakes: std::logic_error, with what the verifier would say. As in XLA
// nothing is broadcast by itself: Full, Like and Broadcast make operands of one shape.
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

  // While it lives, what the builder makes has the OpMetadata name `name`, after those of the
  // scopes around it: "network/block3/conv1". Reports show it.
  class Scope {
   public:
    Scope(Builder& b, std::string_view name);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { builder_.Rename(std::move(outer_)); }

   private:
    Builder& builder_;
    std::string outer_;
  };

  // An instruction with any attributes; `shape` null: inferred. The others are made with this one.
  Instruction* Make(Opcode opcode, std::span<Instruction* const> operands,
                    std::span<const Attribute> attributes = {}, const Shape* shape = nullptr,
                    std::span<Computation* const> called = {});

  Instruction* Parameter(int64_t number, const Shape* shape, std::string_view name = {});
  // A scalar, rounded to `type` (real types and pred).
  Instruction* Constant(PrimitiveType type, double value);
  // An array, its elements in row-major order, as many as `dims` make; no types below a byte.
  Instruction* ConstantArray(PrimitiveType type, std::span<const int64_t> dims,
                             std::span<const double> values);
  // The same for integers, which doubles hold up to 2^53 only; u64 from the same 64 bits.
  Instruction* ConstantInts(PrimitiveType type, std::span<const int64_t> dims,
                            std::span<const int64_t> values);
  // One value everywhere: a scalar constant, broadcast.
  Instruction* Full(PrimitiveType type, std::span<const int64_t> dims, double value);
  Instruction* Zeros(PrimitiveType type, std::span<const int64_t> dims) {
    return Full(type, dims, 0);
  }
  // `value` in the type and dimensions of `x`: the constants of formulas.
  Instruction* Like(Instruction* x, double value) {
    return Full(x->shape->type, x->shape->dims, value);
  }
  Instruction* ZerosLike(Instruction* x) { return Like(x, 0); }
  // 0, 1, 2 … along `dimension`.
  Instruction* Iota(PrimitiveType type, std::span<const int64_t> dims, int64_t dimension);
  // The same with the dimensions of `x`.
  Instruction* IotaLike(Instruction* x, PrimitiveType type, int64_t dimension) {
    return Iota(type, x->shape->dims, dimension);
  }

  Instruction* Unary(Opcode opcode, Instruction* x) { return Make(opcode, {&x, 1}); }
  Instruction* Negate(Instruction* x) { return Unary(Opcode::kNegate, x); }
  Instruction* Abs(Instruction* x) { return Unary(Opcode::kAbs, x); }
  Instruction* Exp(Instruction* x) { return Unary(Opcode::kExp, x); }
  Instruction* Log(Instruction* x) { return Unary(Opcode::kLog, x); }
  Instruction* Tanh(Instruction* x) { return Unary(Opcode::kTanh, x); }
  Instruction* Sqrt(Instruction* x) { return Unary(Opcode::kSqrt, x); }
  Instruction* Rsqrt(Instruction* x) { return Unary(Opcode::kRsqrt, x); }
  Instruction* Sign(Instruction* x) { return Unary(Opcode::kSign, x); }
  Instruction* Not(Instruction* x) { return Unary(Opcode::kNot, x); }
  Instruction* PopulationCount(Instruction* x) { return Unary(Opcode::kPopulationCount, x); }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Add(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Subtract(Instruction* a, Instruction* b) { return Binary(Opcode::kSubtract, a, b); }
  Instruction* Multiply(Instruction* a, Instruction* b) { return Binary(Opcode::kMultiply, a, b); }
  Instruction* Divide(Instruction* a, Instruction* b) { return Binary(Opcode::kDivide, a, b); }
  Instruction* Maximum(Instruction* a, Instruction* b) { return Binary(Opcode::kMaximum, a, b); }
  Instruction* Minimum(Instruction* a, Instruction* b) { return Binary(Opcode::kMinimum, a, b); }
  Instruction* Power(Instruction* a, Instruction* b) { return Binary(Opcode::kPower, a, b); }
  // The sign of the dividend, as % of C.
  Instruction* Remainder(Instruction* a, Instruction* b) {
    return Binary(Opcode::kRemainder, a, b);
  }
  // Of pred and integers.
  Instruction* And(Instruction* a, Instruction* b) { return Binary(Opcode::kAnd, a, b); }
  Instruction* Or(Instruction* a, Instruction* b) { return Binary(Opcode::kOr, a, b); }
  Instruction* Xor(Instruction* a, Instruction* b) { return Binary(Opcode::kXor, a, b); }
  // Shifts by the width of the type or more give 0 (arithmetic ones: the sign).
  Instruction* ShiftLeft(Instruction* x, Instruction* by) {
    return Binary(Opcode::kShiftLeft, x, by);
  }
  Instruction* ShiftRightLogical(Instruction* x, Instruction* by) {
    return Binary(Opcode::kShiftRightLogical, x, by);
  }
  Instruction* ShiftRightArithmetic(Instruction* x, Instruction* by) {
    return Binary(Opcode::kShiftRightArithmetic, x, by);
  }
  // `direction`: EQ, NE, GE, GT, LE or LT.
  Instruction* Compare(Instruction* a, Instruction* b, std::string_view direction);
  Instruction* Equal(Instruction* a, Instruction* b) { return Compare(a, b, "EQ"); }
  Instruction* NotEqual(Instruction* a, Instruction* b) { return Compare(a, b, "NE"); }
  Instruction* Less(Instruction* a, Instruction* b) { return Compare(a, b, "LT"); }
  Instruction* LessEqual(Instruction* a, Instruction* b) { return Compare(a, b, "LE"); }
  Instruction* Greater(Instruction* a, Instruction* b) { return Compare(a, b, "GT"); }
  Instruction* GreaterEqual(Instruction* a, Instruction* b) { return Compare(a, b, "GE"); }
  Instruction* Select(Instruction* predicate, Instruction* on_true, Instruction* on_false);
  Instruction* Clamp(Instruction* low, Instruction* x, Instruction* high);
  Instruction* Convert(Instruction* x, PrimitiveType type);
  // The same bits as another type. Between widths the elements along a new or lost last dimension
  // are the parts, lowest bits first: u64[3] <-> u8[3,8].
  Instruction* BitcastConvert(Instruction* x, PrimitiveType type);

  // `dimensions[i]` is the dimension of the result that dimension i of `x` becomes.
  Instruction* Broadcast(Instruction* x, std::span<const int64_t> dims,
                         std::span<const int64_t> dimensions = {});
  Instruction* Reshape(Instruction* x, std::span<const int64_t> dims);
  // Dimension i of the result is dimension `permutation[i]` of `x`.
  Instruction* Transpose(Instruction* x, std::span<const int64_t> permutation);
  // One range per dimension.
  Instruction* Slice(Instruction* x, std::span<const SliceRange> ranges);
  Instruction* Reverse(Instruction* x, std::span<const int64_t> dimensions);
  Instruction* Concatenate(std::span<Instruction* const> parts, int64_t dimension);
  Instruction* Pad(Instruction* x, Instruction* value, std::span<const PaddingDimension> padding);
  // `starts`: one integer scalar per dimension.
  Instruction* DynamicSlice(Instruction* x, std::span<Instruction* const> starts,
                            std::span<const int64_t> sizes);
  Instruction* DynamicUpdateSlice(Instruction* x, Instruction* update,
                                  std::span<Instruction* const> starts);
  // Slices of `x` of `slice_sizes` that start at `indices`; starts out of range are moved inside.
  Instruction* Gather(Instruction* x, Instruction* indices, const GatherDimensions& dimensions,
                      std::span<const int64_t> slice_sizes);
  // `x` with `updates` combined into it at `indices`; those out of range are left out. `combiner`:
  // (old, update) -> new, scalars. `unique_indices` promises that no element is met twice.
  Instruction* Scatter(Instruction* x, Instruction* indices, Instruction* updates,
                       const ScatterDimensions& dimensions, Computation* combiner,
                       bool unique_indices = false);
  // `comparator`: (a of operand 0, b of operand 0, a of operand 1 …) -> whether a comes first. A
  // tuple for more than one operand.
  Instruction* Sort(std::span<Instruction* const> operands, int64_t dimension,
                    Computation* comparator, bool is_stable = true);

  // `reducer`: (scalar, scalar) -> scalar.
  Instruction* Reduce(Instruction* x, Instruction* init, std::span<const int64_t> dimensions,
                      Computation* reducer);
  // Arrays of the same dimensions together. `reducer`: (accumulators…, values…) -> tuple of
  // accumulators, all scalars.
  Instruction* ReduceMany(std::span<Instruction* const> xs, std::span<Instruction* const> inits,
                          std::span<const int64_t> dimensions, Computation* reducer);
  // One window dimension per dimension of `x`.
  Instruction* ReduceWindow(Instruction* x, Instruction* init, const Window& window,
                            Computation* reducer);
  // (scalar, scalar) -> scalar of a binary operation: for Reduce and Scatter, made once per module.
  Computation* Reducer(Opcode opcode, PrimitiveType type);
  Computation* AddReducer(PrimitiveType type) { return Reducer(Opcode::kAdd, type); }
  Computation* MaxReducer(PrimitiveType type) { return Reducer(Opcode::kMaximum, type); }
  Computation* MinReducer(PrimitiveType type) { return Reducer(Opcode::kMinimum, type); }
  Computation* AndReducer(PrimitiveType type) { return Reducer(Opcode::kAnd, type); }
  Computation* OrReducer(PrimitiveType type) { return Reducer(Opcode::kOr, type); }
  // (old, new) -> new: the combiner of a scatter that overwrites.
  Computation* SetCombiner(PrimitiveType type);

  // `type` kInvalid: the wider operand type.
  Instruction* Dot(Instruction* lhs, Instruction* rhs, const DotDimensions& dimensions,
                   PrimitiveType type = PrimitiveType::kInvalid);
  Instruction* Conv(Instruction* input, Instruction* kernel, const Window& window,
                    const ConvolutionDimensions& dimensions,
                    PrimitiveType type = PrimitiveType::kInvalid, int64_t feature_groups = 1);

  Instruction* Tuple(std::span<Instruction* const> elements);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  // All of them.
  std::vector<Instruction*> Elements(Instruction* tuple);
  // `x` (an array or tuple) as it is, but nothing is moved or merged across.
  Instruction* OptimizationBarrier(Instruction* x) {
    return Unary(Opcode::kOptimizationBarrier, x);
  }
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
  Instruction* Full(PrimitiveType type, Numbers dims, double value) {
    return Full(type, View(dims), value);
  }
  Instruction* Zeros(PrimitiveType type, Numbers dims) { return Full(type, View(dims), 0); }
  Instruction* Iota(PrimitiveType type, Numbers dims, int64_t dimension) {
    return Iota(type, View(dims), dimension);
  }
  Instruction* Broadcast(Instruction* x, Numbers dims, Numbers dimensions = {}) {
    return Broadcast(x, View(dims), View(dimensions));
  }
  Instruction* Reshape(Instruction* x, Numbers dims) { return Reshape(x, View(dims)); }
  Instruction* Transpose(Instruction* x, Numbers permutation) {
    return Transpose(x, View(permutation));
  }
  Instruction* Slice(Instruction* x, std::initializer_list<SliceRange> ranges) {
    return Slice(x, View(ranges));
  }
  Instruction* Pad(Instruction* x, Instruction* value,
                   std::initializer_list<PaddingDimension> padding) {
    return Pad(x, value, View(padding));
  }
  Instruction* Reverse(Instruction* x, Numbers dimensions) { return Reverse(x, View(dimensions)); }
  Instruction* DynamicSlice(Instruction* x, Values starts, Numbers sizes) {
    return DynamicSlice(x, View(starts), View(sizes));
  }
  Instruction* DynamicUpdateSlice(Instruction* x, Instruction* update, Values starts) {
    return DynamicUpdateSlice(x, update, View(starts));
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

  Module& module() { return module_; }
  // A shape of the module, in the default layout: for Parameter.
  const Shape* Array(PrimitiveType type, std::span<const int64_t> dims) {
    return module_.shapes.ArrayWithDefaultLayout(type, dims);
  }
  const Shape* Array(PrimitiveType type, Numbers dims) { return Array(type, View(dims)); }

 private:
  template <class T>
  static std::span<const T> View(std::initializer_list<T> list) {
    return {list.begin(), list.size()};
  }
  // A string or message attribute whose payload is copied into the module.
  Attribute Payload(Field field, std::string_view bytes) {
    return Attribute::Bytes(field, module_.arena.Copy(bytes));
  }
  Attribute Ints(Field field, std::span<const int64_t> values) {
    return Payload(field, EncodeInts(values));
  }
  Instruction* ConstantBits(PrimitiveType type, std::span<const int64_t> dims,
                            std::span<const uint64_t> bits);
  // A computation of this name that the module has already, or null.
  Computation* Find(std::string_view name) const;
  // Throws what the verifier says about `instruction`, if anything.
  void Check(const Instruction& instruction) const;
  // Gives `instruction` the element type `type`, unless that is kInvalid.
  Instruction* WithType(Instruction* instruction, PrimitiveType type);

  Module& module_;
  Computation* computation_;
  // What Scope says from here on.
  void Rename(std::string op_name);

  std::vector<Instruction*> instructions_;
  std::string op_name_;
  std::string_view metadata_;  // of op_name_, in the module's arena
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_BUILDER_H_
