// What may follow a convolution: the operations that the rewrite absorbs, and what looks like them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "maker.h"

namespace eightfold::differential {

void Maker::Follow() {
  Instruction* value = Recent(tensors_);
  switch (choices_.Below(20)) {
    default:
      Keep(AddOther(value));
      return;
    case 3:
    case 4:
    case 5:
      Keep(Scale(value, Opcode::kMultiply));
      return;
    case 6:
      Keep(Scale(value, Opcode::kDivide));
      return;
    case 7:
    case 8:
    case 9:
      Keep(Relu(value));
      return;
    case 10:
      Keep(Relu6(value));
      return;
    case 11:
      Keep(Elu(value));
      return;
    case 12:
      Keep(LeakyRelu(value));
      return;
    case 13:
    case 14:
      Keep(Saturate(value));
      return;
    case 15:
      Amax(value, true);
      return;
    case 16:
      Amax(value, choices_.OneIn(2));
      return;
    case 17:
      Keep(OtherType(value));
      return;
    case 18:
      // A value and its |amax|, as delayed scaling has it.
      Amax(value, true);
      Keep(Saturate(choices_.OneIn(2) ? value : Scale(value, Opcode::kMultiply)));
      return;
    case 19:
      Keep(DeadEnd(value));
      return;
  }
}

Instruction* Maker::AddOther(Instruction* value) {
  if (Miss()) return builder_.Subtract(value, PickLike(value));
  return EitherOrder(Opcode::kAdd, value, choices_.OneIn(60) ? value : PickLike(value));
}

Instruction* Maker::Scale(Instruction* value, Opcode opcode) {
  if (Miss()) {
    Instruction* other = PickLike(value);
    return EitherOrder(opcode, value, other);
  }
  Instruction* scale = Spread(PickScalar(value->shape->type), value);
  if (opcode == Opcode::kDivide && !choices_.OneIn(12)) return builder_.Divide(value, scale);
  return EitherOrder(opcode, value, scale);
}

Instruction* Maker::Relu(Instruction* value) {
  if (Miss()) {
    switch (choices_.Below(4)) {
      case 0:
        return builder_.Maximum(value, Fill(0.5, value));
      case 1:
        return builder_.Maximum(value, Fill(-0.0, value));
      case 2:
        return builder_.Minimum(value, Fill(0, value));
      default:
        return EitherOrder(Opcode::kMaximum, value, PickLike(value));
    }
  }
  return EitherOrder(Opcode::kMaximum, value, Fill(0, value));
}

Instruction* Maker::Relu6(Instruction* value) {
  const PrimitiveType type = value->shape->type;
  const double low = Miss() ? -1 : 0;
  const double high = Miss() ? 4 : 6;
  switch (choices_.Below(4)) {
    default:
      return builder_.Clamp(Fill(low, value), value, Fill(high, value));
    case 2:
      return builder_.Clamp(builder_.Constant(type, low), value, builder_.Constant(type, high));
    case 3:
      return builder_.Minimum(builder_.Maximum(value, Fill(low, value)), Fill(high, value));
  }
}

// `value` > 0, or something close to it.
Instruction* Maker::Positive(Instruction* value) {
  if (Miss()) {
    switch (choices_.Below(4)) {
      case 0:
        return builder_.Compare(value, Fill(0, value), "GE");
      case 1:
        return builder_.Compare(Fill(0, value), value, "LT");
      case 2:
        return builder_.Compare(value, Fill(1, value), "GT");
      default:
        return builder_.Compare(PickLike(value), Fill(0, value), "GT");
    }
  }
  return builder_.Compare(value, Fill(0, value), "GT");
}

Instruction* Maker::Elu(Instruction* value) {
  // Users in another order.
  Instruction* exponential = choices_.OneIn(2) ? builder_.Unary(Opcode::kExpm1, value) : nullptr;
  Instruction* positive = Positive(value);
  if (exponential == nullptr) {
    const bool plain = Miss();
    exponential = builder_.Unary(plain ? Opcode::kExp : Opcode::kExpm1, value);
  }
  if (Miss()) return builder_.Select(positive, exponential, value);
  if (Miss()) return builder_.Select(positive, PickLike(value), exponential);
  if (choices_.OneIn(16)) Keep(choices_.OneIn(2) ? exponential : AddOther(exponential));
  return builder_.Select(positive, value, exponential);
}

Instruction* Maker::LeakyRelu(Instruction* value) {
  // With a slope that is no constant, it is none.
  auto scale = [&] {
    return choices_.OneIn(6) ? Scale(value, Opcode::kMultiply)
                             : EitherOrder(Opcode::kMultiply, value, Fill(0.25, value));
  };
  Instruction* scaled = choices_.OneIn(2) ? scale() : nullptr;
  Instruction* positive = Positive(value);
  if (scaled == nullptr) scaled = scale();
  if (choices_.OneIn(16)) Keep(scaled);
  if (Miss()) return builder_.Select(positive, scaled, value);
  if (choices_.OneIn(8)) return builder_.Maximum(value, scaled);
  return builder_.Select(positive, value, scaled);
}

Instruction* Maker::Saturate(Instruction* value) {
  using enum PrimitiveType;
  const PrimitiveType to = choices_.Of({kF8E4M3FN, kF8E4M3FN, kF8E5M2});
  PrimitiveType bounds = to;
  if (Miss()) bounds = choices_.Of({kF8E5M2, kF8E4M3FN, kF8E4M3FNUZ});
  const PrimitiveType type = value->shape->type;
  // What a value's type does not hold would become nan, which stock takes for any bound.
  const double largest = type == kF8E4M3FN ? 448 : 57344;
  const double high = std::min(bounds == kF8E4M3FN ? 448.0
                               : bounds == kF8E5M2 ? 57344.0
                                                   : 240.0,
                               largest);
  const double low = Miss() ? 0 : -high;
  Instruction* clamped = nullptr;
  switch (choices_.Below(6)) {
    default:
      clamped = builder_.Clamp(Fill(low, value), value, Fill(high, value));
      break;
    case 3:
      clamped = builder_.Clamp(builder_.Constant(type, low), value, builder_.Constant(type, high));
      break;
    case 4:
      clamped = builder_.Minimum(builder_.Maximum(value, Fill(low, value)), Fill(high, value));
      break;
    case 5:
      clamped = value;
      break;
  }
  if (clamped != value && choices_.OneIn(12)) Keep(clamped);
  return builder_.Convert(clamped, to);
}

Instruction* Maker::OtherType(Instruction* value) {
  using enum PrimitiveType;
  return builder_.Convert(value, choices_.Of({kBF16, kF32, kF16}));
}

// Nothing that is absorbed.
Instruction* Maker::DeadEnd(Instruction* value) {
  switch (choices_.Below(5)) {
    case 0:
      return builder_.Unary(Opcode::kNegate, value);
    case 1:
      return builder_.Unary(Opcode::kTanh, value);
    case 2:
      return builder_.Multiply(value, value);
    case 3:
      return builder_.Unary(Opcode::kAbs, value);
    default:
      return builder_.Unary(Opcode::kCopy, value);
  }
}

hlo::Computation* Maker::Reducer(PrimitiveType type, bool maximum) {
  hlo::Builder reducer(module_, fmt::format("reducer{}.{}", reducers_++, name_));
  const hlo::Shape* scalar = module_.shapes.ArrayWithDefaultLayout(type, {});
  Instruction* a = reducer.Parameter(0, scalar);
  Instruction* b = reducer.Parameter(1, scalar);
  if (choices_.OneIn(8)) std::swap(a, b);
  if (choices_.OneIn(24)) return reducer.Build(reducer.Maximum(reducer.Unary(Opcode::kAbs, a), b));
  return reducer.Build(reducer.Binary(maximum ? Opcode::kMaximum : Opcode::kMinimum, a, b));
}

void Maker::Amax(Instruction* value, bool absolute) {
  const PrimitiveType type = value->shape->type;
  Instruction* source = value;
  if (absolute) {
    source = builder_.Unary(Opcode::kAbs, value);
    if (choices_.OneIn(16)) Keep(source);
  }
  if (choices_.OneIn(10)) source = builder_.Convert(source, PrimitiveType::kF32);
  Instruction* init = nullptr;
  const PrimitiveType source_type = source->shape->type;
  switch (choices_.Below(12)) {
    default:
      init = builder_.Constant(source_type, 0);
      break;
    case 8:
      init = builder_.Constant(source_type, -1);
      break;
    case 9:
      init = builder_.Constant(source_type, 1);
      break;
    case 10:
      init = builder_.Constant(source_type, type == PrimitiveType::kF8E4M3FN
                                                ? -448.0
                                                : -std::numeric_limits<double>::infinity());
      break;
    case 11:
      init = Parameter(source_type, {});
      break;
  }
  std::vector<int64_t> over(source->shape->rank());
  std::iota(over.begin(), over.end(), 0);
  if (Miss()) over.pop_back();
  Instruction* amax = builder_.Reduce(source, init, over, Reducer(source_type, !Miss()));
  all_.push_back(amax);
  if (amax->shape->IsScalar()) scalars_.push_back(amax);
}

}  // namespace eightfold::differential
