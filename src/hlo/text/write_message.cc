#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hlo/text/spelling.h"
#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/views.h"
#include "hlo/wire.h"

// Attributes whose values are messages of a spelling of their own.
namespace eightfold::hlo::text {
namespace {

using wire::Cursor;
using wire::Damage;

void Collect(const Cursor& cursor, std::vector<int64_t>& into) {
  cursor.Ints([&](int64_t value) { into.push_back(value); });
}

// Appends one string of labels: '?' for a dimension that has no role, digits for spatial ones.
void AppendLabels(std::string& out, std::pair<char, int64_t> first, std::pair<char, int64_t> second,
                  std::span<const int64_t> spatial) {
  // As many as any array has dimensions; protects from numbers that are none.
  constexpr int64_t kMost = 1024;
  int64_t last = std::max(first.second, second.second);
  for (int64_t dim : spatial) last = std::max(last, dim);
  std::vector<std::string> labels(static_cast<size_t>(std::clamp<int64_t>(last, 0, kMost)) + 1,
                                  "?");
  auto set = [&](int64_t dim, std::string label) {
    if (dim < 0 || dim > kMost) throw Damage(fmt::format("names dimension {}", dim));
    labels[static_cast<size_t>(dim)] = std::move(label);
  };
  set(first.second, std::string(1, first.first));
  set(second.second, std::string(1, second.first));
  for (size_t i = 0; i < spatial.size(); ++i) set(spatial[i], std::to_string(i));
  for (const std::string& label : labels) out += label;
}

struct TensorSparsity {
  int64_t num_non_zero = 0, block_size = 0, dimension = 0, stride = 0;
};

TensorSparsity DecodeTensorSparsity(std::string_view message) {
  TensorSparsity sparsity;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) sparsity.num_non_zero = cursor.Int();
    if (cursor.field() == 2) sparsity.block_size = cursor.Int();
    if (cursor.field() == 3) sparsity.dimension = cursor.Int();
    if (cursor.field() == 4) sparsity.stride = cursor.Int();
  }
  return sparsity;
}

double DoubleOf(const Cursor& cursor) { return std::bit_cast<double>(cursor.scalar()); }

}  // namespace

void Writer::WriteWindow(std::string_view wire) {
  Window window = DecodeWindow(wire);
  if (!window.ok) throw Damage("is damaged");
  if (window.dimensions.empty()) return;
  auto list = [&](std::string_view name, auto append) {
    out_ += name;
    for (size_t i = 0; i < window.dimensions.size(); ++i) {
      if (i != 0) out_ += 'x';
      append(window.dimensions[i]);
    }
  };
  auto any = [&](auto predicate) { return std::ranges::any_of(window.dimensions, predicate); };
  using Dim = WindowDimension;
  Begin("window");
  list("{size=", [&](const Dim& d) { AppendInt(out_, d.size); });
  if (any([](const Dim& d) { return d.stride != 1; })) {
    list(" stride=", [&](const Dim& d) { AppendInt(out_, d.stride); });
  }
  if (any([](const Dim& d) { return d.padding_low != 0 || d.padding_high != 0; })) {
    list(" pad=", [&](const Dim& d) {
      AppendInt(out_, d.padding_low);
      out_ += '_';
      AppendInt(out_, d.padding_high);
    });
  }
  if (any([](const Dim& d) { return d.base_dilation != 1; })) {
    list(" lhs_dilate=", [&](const Dim& d) { AppendInt(out_, d.base_dilation); });
  }
  if (any([](const Dim& d) { return d.window_dilation != 1; })) {
    list(" rhs_dilate=", [&](const Dim& d) { AppendInt(out_, d.window_dilation); });
  }
  if (any([](const Dim& d) { return d.reversal; })) {
    list(" rhs_reversal=", [&](const Dim& d) { out_ += d.reversal ? '1' : '0'; });
  }
  out_ += '}';
}

void Writer::WriteDimLabels(std::string_view wire) {
  ConvolutionDimensions dims = DecodeConvolutionDimensions(wire);
  if (!dims.ok) throw Damage("is damaged");
  Begin(TextAttribute::kDimLabels);
  AppendLabels(out_, {'b', dims.input_batch}, {'f', dims.input_feature}, dims.input_spatial);
  out_ += '_';
  AppendLabels(out_, {'i', dims.kernel_input_feature}, {'o', dims.kernel_output_feature},
               dims.kernel_spatial);
  out_ += "->";
  AppendLabels(out_, {'b', dims.output_batch}, {'f', dims.output_feature}, dims.output_spatial);
}

void Writer::WriteSlice(const Instruction& slice) {
  std::vector<SliceRange> ranges = DecodeSlice(slice);
  bool strides = std::ranges::any_of(ranges, [](const SliceRange& r) { return r.stride != 1; });
  Begin(TextAttribute::kSlice);
  out_ += '{';
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i != 0) out_ += ", ";
    out_ += '[';
    AppendInt(out_, ranges[i].start);
    out_ += ':';
    AppendInt(out_, ranges[i].limit);
    if (strides) {
      out_ += ':';
      AppendInt(out_, ranges[i].stride);
    }
    out_ += ']';
  }
  out_ += '}';
}

void Writer::WritePadding(const Instruction& pad) {
  std::vector<PaddingDimension> dims = DecodePadding(pad);
  bool interior = std::ranges::any_of(dims, [](const auto& d) { return d.interior != 0; });
  Begin(TextAttribute::kPadding);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) out_ += 'x';
    AppendInt(out_, dims[i].low);
    out_ += '_';
    AppendInt(out_, dims[i].high);
    if (interior) {
      out_ += '_';
      AppendInt(out_, dims[i].interior);
    }
  }
}

void Writer::WritePermuteSizes(const Instruction& permute) {
  std::vector<int64_t> sizes = DecodeInts(permute.Bytes(Field::kDynamicSliceSizes));
  if (sizes.empty()) return;
  // One list after the other, each as long as the operand has dimensions.
  size_t rank = permute.operands.empty() ? 0 : permute.operands[0]->shape->rank();
  if (rank == 0) rank = sizes.size();
  Begin(TextAttribute::kSliceSizes);
  out_ += '{';
  for (size_t i = 0; i < sizes.size(); i += rank) {
    if (i != 0) out_ += ',';
    AppendInts(out_, std::span(sizes).subspan(i, std::min(rank, sizes.size() - i)));
  }
  out_ += '}';
}

void Writer::WritePrecision(std::string_view wire) {
  std::vector<int64_t> precisions;
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() == 1) Collect(cursor, precisions);
  }
  if (std::ranges::all_of(precisions, [](int64_t precision) { return precision == 0; })) return;
  Begin(TextAttribute::kOperandPrecision);
  out_ += '{';
  for (size_t i = 0; i < precisions.size(); ++i) {
    if (i != 0) out_ += ',';
    std::string_view name = PrecisionSpelling().Name(static_cast<uint64_t>(precisions[i]));
    if (name.empty()) throw Damage(fmt::format("precision {} has no spelling", precisions[i]));
    out_ += name;
  }
  out_ += '}';
}

void Writer::WritePairs(const Instruction& permute) {
  Begin(TextAttribute::kSourceTargetPairs);
  out_ += '{';
  bool first = true;
  for (const Attribute& attribute : permute.attributes) {
    if (attribute.field != Field::kSourceTargetPairs) continue;
    int64_t pair[2] = {0, 0};
    for (Cursor cursor(attribute.bytes); cursor.Next();) {
      if (cursor.field() == 1 || cursor.field() == 2) pair[cursor.field() - 1] = cursor.Int();
    }
    if (!first) out_ += ',';
    first = false;
    AppendInts(out_, pair);
  }
  out_ += '}';
}

// Text has them the other way round: `entry` is the proto's exit sharding.
void Writer::WriteDomain(const Instruction& domain) {
  const Attribute* entry = domain.Find(Field::kDomainExitSharding);
  const Attribute* exit = domain.Find(Field::kDomainEntrySharding);
  if (entry == nullptr || exit == nullptr) return;
  out_ += ", domain={kind=\"sharding\", entry=";
  AppendSharding(out_, entry->bytes);
  out_ += ", exit=";
  AppendSharding(out_, exit->bytes);
  out_ += '}';
}

void Writer::WriteLayoutConstraints(const Instruction& call) {
  if (call.Int(Field::kConstrainLayout) == 0) return;
  Begin(TextAttribute::kOperandLayoutConstraints);
  out_ += '{';
  bool first = true;
  for (const Attribute& attribute : call.attributes) {
    if (attribute.field != Field::kOperandShapesWithLayout) continue;
    if (!first) out_ += ", ";
    first = false;
    AppendWireShape(attribute.bytes);
  }
  out_ += '}';
}

void Writer::WriteReplication(const Instruction& parameter) {
  const Attribute* replication = parameter.Find(Field::kParameterReplication);
  if (replication == nullptr) return;
  std::vector<int64_t> leaves;
  for (Cursor cursor(replication->bytes); cursor.Next();) {
    if (cursor.field() == 1) Collect(cursor, leaves);
  }
  if (leaves.empty()) return;
  Begin(TextAttribute::kParameterReplication);
  out_ += '{';
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i != 0) out_ += ',';
    out_ += leaves[i] != 0 ? "true" : "false";
  }
  out_ += '}';
}

void Writer::WriteOutputAliasing(const Instruction& instruction) {
  bool first = true;
  for (const Attribute& attribute : instruction.attributes) {
    if (attribute.field != Field::kOutputOperandAliasing) continue;
    std::vector<int64_t> output, operand_index;
    int64_t operand = 0;
    for (Cursor cursor(attribute.bytes); cursor.Next();) {
      if (cursor.field() == 1) Collect(cursor, output);
      if (cursor.field() == 2) operand = cursor.Int();
      if (cursor.field() == 3) Collect(cursor, operand_index);
    }
    if (first) {
      Begin(TextAttribute::kOutputToOperandAliasing);
      out_ += '{';
    } else {
      out_ += ", ";
    }
    first = false;
    AppendInts(out_, output);
    out_ += ": (";
    AppendInt(out_, operand);
    out_ += ", ";
    AppendInts(out_, operand_index);
    out_ += ')';
  }
  if (!first) out_ += '}';
}

void Writer::WriteStatistics(std::string_view wire) {
  int64_t visualized = 0;
  std::string list;
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() == 1) visualized = cursor.Int();
    if (cursor.field() != 2) continue;
    std::string_view name;
    double value = 0;
    for (Cursor statistic(cursor.Message()); statistic.Next();) {
      if (statistic.field() == 1) name = statistic.Message();
      if (statistic.field() == 2) value = DoubleOf(statistic);
    }
    ((list += ',') += name) += '=';
    AppendDouble(list, value);
  }
  if (list.empty()) return;
  out_ += ", statistics={visualizing_index=";
  AppendInt(out_, visualized);
  (out_ += list) += '}';
}

void Writer::WriteResultAccuracy(std::string_view wire) {
  int64_t mode = 0;
  bool has_tolerance = false;
  double atol = 0;
  double rtol = 0;
  int64_t ulps = 0;
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() == 1) mode = cursor.Int();
    if (cursor.field() != 2) continue;
    has_tolerance = true;
    for (Cursor tolerance(cursor.Message()); tolerance.Next();) {
      if (tolerance.field() == 1) atol = DoubleOf(tolerance);
      if (tolerance.field() == 2) rtol = DoubleOf(tolerance);
      if (tolerance.field() == 3) ulps = tolerance.Int();
    }
  }
  if (has_tolerance) {
    out_ += ", result_accuracy={tolerance={atol=";
    AppendDouble(out_, atol);
    out_ += ",rtol=";
    AppendDouble(out_, rtol);
    out_ += ",ulps=";
    AppendInt(out_, ulps);
    out_ += "}}";
  } else if (mode == 1) {
    out_ += ", result_accuracy={mode=highest}";
  }
}

void Writer::WriteSparsity(std::string_view wire) {
  size_t start = out_.size();
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() != 1 && cursor.field() != 2) continue;
    if (out_.size() == start) {
      Begin(TextAttribute::kSparsityConfig);
      out_ += '{';
    } else {
      out_ += ' ';
    }
    TensorSparsity sparsity = DecodeTensorSparsity(cursor.Message());
    out_ += cursor.field() == 1 ? "lhs" : "rhs";
    fmt::format_to(std::back_inserter(out_), "={{sparsity={}x{} dimension={} stride={}}}",
                   sparsity.num_non_zero, sparsity.block_size, sparsity.dimension, sparsity.stride);
  }
  if (out_.size() != start) out_ += '}';
}

void Writer::WriteLiteralAttribute(std::string_view wire) {
  if (wire.empty()) return;
  Literal literal = Literal::Decode(wire);
  Begin(TextAttribute::kLiteral);
  AppendWireShape(literal.shape());
  out_ += ' ';
  AppendLiteral(out_, wire);
}

}  // namespace eightfold::hlo::text
