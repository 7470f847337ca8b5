#include "hlo/views.h"

#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;

// Calls `visit(cursor)` for every field until the end or the first damage; false for damage.
template <class Visit>
bool ForEachField(std::string_view message, Visit visit) {
  try {
    for (Cursor cursor(message); cursor.Next();) visit(cursor);
    return true;
  } catch (const wire::Damage&) {
    return false;
  }
}

void Append(const Cursor& cursor, std::vector<int64_t>& to) {
  cursor.Ints([&](int64_t value) { to.push_back(value); });
}

// Scalars of proto3 that are zero are not written.
void AddInt(protozero::pbf_writer& writer, uint32_t field, int64_t value) {
  if (value != 0) writer.add_int64(field, value);
}

void AddInts(protozero::pbf_writer& writer, uint32_t field, std::span<const int64_t> values) {
  if (!values.empty()) writer.add_packed_int64(field, values.begin(), values.end());
}

// Zero where the message says nothing: a stride of 0 is wrong, not 1.
WindowDimension DecodeWindowDimension(std::string_view message, bool& ok) {
  WindowDimension dim{.stride = 0, .window_dilation = 0, .base_dilation = 0};
  ok = ForEachField(message,
                    [&](const Cursor& cursor) {
                      switch (cursor.field()) {
                        case 1:
                          dim.size = cursor.Int();
                          break;
                        case 2:
                          dim.stride = cursor.Int();
                          break;
                        case 3:
                          dim.padding_low = cursor.Int();
                          break;
                        case 4:
                          dim.padding_high = cursor.Int();
                          break;
                        case 5:
                          dim.window_dilation = cursor.Int();
                          break;
                        case 6:
                          dim.base_dilation = cursor.Int();
                          break;
                        case 7:
                          dim.reversal = cursor.Int() != 0;
                          break;
                      }
                    }) &&
       ok;
  return dim;
}

}  // namespace

Window DecodeWindow(std::string_view wire) {
  Window window;
  bool walked = ForEachField(wire, [&](const Cursor& cursor) {
    if (cursor.field() != 1) return;
    window.dimensions.push_back(DecodeWindowDimension(cursor.Message(), window.ok));
  });
  window.ok = window.ok && walked;
  return window;
}

std::string EncodeWindow(const Window& window) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const WindowDimension& dim : window.dimensions) {
    protozero::pbf_writer one(writer, 1);
    AddInt(one, 1, dim.size);
    AddInt(one, 2, dim.stride);
    AddInt(one, 3, dim.padding_low);
    AddInt(one, 4, dim.padding_high);
    AddInt(one, 5, dim.window_dilation);
    AddInt(one, 6, dim.base_dilation);
    AddInt(one, 7, dim.reversal ? 1 : 0);
  }
  return out;
}

ConvolutionDimensions DecodeConvolutionDimensions(std::string_view wire) {
  ConvolutionDimensions dims;
  dims.ok = ForEachField(wire, [&](const Cursor& cursor) {
    switch (cursor.field()) {
      case 3:
        dims.kernel_input_feature = cursor.Int();
        break;
      case 4:
        dims.kernel_output_feature = cursor.Int();
        break;
      case 6:
        Append(cursor, dims.kernel_spatial);
        break;
      case 7:
        dims.input_batch = cursor.Int();
        break;
      case 8:
        dims.input_feature = cursor.Int();
        break;
      case 9:
        dims.output_batch = cursor.Int();
        break;
      case 10:
        dims.output_feature = cursor.Int();
        break;
      case 11:
        Append(cursor, dims.input_spatial);
        break;
      case 12:
        Append(cursor, dims.output_spatial);
        break;
    }
  });
  return dims;
}

std::string EncodeConvolutionDimensions(const ConvolutionDimensions& dims) {
  std::string out;
  protozero::pbf_writer writer(out);
  AddInt(writer, 3, dims.kernel_input_feature);
  AddInt(writer, 4, dims.kernel_output_feature);
  AddInts(writer, 6, dims.kernel_spatial);
  AddInt(writer, 7, dims.input_batch);
  AddInt(writer, 8, dims.input_feature);
  AddInt(writer, 9, dims.output_batch);
  AddInt(writer, 10, dims.output_feature);
  AddInts(writer, 11, dims.input_spatial);
  AddInts(writer, 12, dims.output_spatial);
  return out;
}

DotDimensions DecodeDotDimensions(const Instruction& dot) {
  DotDimensions dims;
  std::string_view plain = dot.Bytes(Field::kDotDimensionNumbers);
  bool ok = ForEachField(dot.Bytes(Field::kRaggedDotDimensionNumbers), [&](const Cursor& cursor) {
    if (cursor.field() == 1) plain = cursor.Message();
    if (cursor.field() == 2) Append(cursor, dims.lhs_ragged);
    if (cursor.field() == 3) Append(cursor, dims.rhs_group);
  });
  dims.ok = ForEachField(plain,
                         [&](const Cursor& cursor) {
                           switch (cursor.field()) {
                             case 1:
                               Append(cursor, dims.lhs_contracting);
                               break;
                             case 2:
                               Append(cursor, dims.rhs_contracting);
                               break;
                             case 3:
                               Append(cursor, dims.lhs_batch);
                               break;
                             case 4:
                               Append(cursor, dims.rhs_batch);
                               break;
                           }
                         }) &&
            ok;
  return dims;
}

std::vector<int64_t> DecodeInts(std::string_view wire) {
  std::vector<int64_t> values;
  try {
    const char* at = wire.data();
    const char* end = at + wire.size();
    while (at != end) values.push_back(static_cast<int64_t>(wire::Varint(at, end)));
  } catch (const wire::Damage&) {
    return values;
  }
  return values;
}

std::string EncodeInts(std::span<const int64_t> values) { return wire::PackInts(values); }

std::vector<SliceRange> DecodeSlice(const Instruction& slice) {
  std::vector<SliceRange> ranges;
  for (const Attribute& attribute : slice.attributes) {
    if (attribute.field != Field::kSliceDimensions) continue;
    SliceRange& range = ranges.emplace_back(SliceRange{.stride = 0});
    ForEachField(attribute.bytes, [&](const Cursor& cursor) {
      if (cursor.field() == 1) range.start = cursor.Int();
      if (cursor.field() == 2) range.limit = cursor.Int();
      if (cursor.field() == 3) range.stride = cursor.Int();
    });
  }
  return ranges;
}

std::vector<PaddingDimension> DecodePadding(const Instruction& pad) {
  std::vector<PaddingDimension> dims;
  ForEachField(pad.Bytes(Field::kPaddingConfig), [&](const Cursor& outer) {
    if (outer.field() != 1) return;
    PaddingDimension& dim = dims.emplace_back();
    ForEachField(outer.Message(), [&](const Cursor& cursor) {
      if (cursor.field() == 1) dim.low = cursor.Int();
      if (cursor.field() == 2) dim.high = cursor.Int();
      if (cursor.field() == 3) dim.interior = cursor.Int();
    });
  });
  return dims;
}

namespace {

// Both messages have lists in fields 1, 2, 3, 5 and 6 and one number in field 4.
struct IndexFields {
  std::vector<int64_t>* lists[7] = {};  // by field number; null: none
  int64_t* index_vector_dim = nullptr;
};

bool DecodeIndexFields(std::string_view wire, const IndexFields& to) {
  return ForEachField(wire, [&](const Cursor& cursor) {
    if (cursor.field() == 4) *to.index_vector_dim = cursor.Int();
    if (cursor.field() < 7 && to.lists[cursor.field()] != nullptr) {
      Append(cursor, *to.lists[cursor.field()]);
    }
  });
}

std::string EncodeIndexFields(const IndexFields& from) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (uint32_t field : {1, 2, 3, 4, 5, 6}) {
    if (field == 4) {
      AddInt(writer, field, *from.index_vector_dim);
    } else {
      AddInts(writer, field, *from.lists[field]);
    }
  }
  return out;
}

IndexFields FieldsOf(GatherDimensions& dims) {
  return {.lists = {nullptr, &dims.offset, &dims.collapsed, &dims.start_index_map, nullptr,
                    &dims.operand_batching, &dims.indices_batching},
          .index_vector_dim = &dims.index_vector_dim};
}

IndexFields FieldsOf(ScatterDimensions& dims) {
  return {.lists = {nullptr, &dims.update_window, &dims.inserted_window, &dims.to_operand, nullptr,
                    &dims.input_batching, &dims.indices_batching},
          .index_vector_dim = &dims.index_vector_dim};
}

}  // namespace

GatherDimensions DecodeGatherDimensions(std::string_view wire) {
  GatherDimensions dims;
  dims.ok = DecodeIndexFields(wire, FieldsOf(dims));
  return dims;
}

std::string EncodeGatherDimensions(const GatherDimensions& dimensions) {
  GatherDimensions dims = dimensions;
  return EncodeIndexFields(FieldsOf(dims));
}

ScatterDimensions DecodeScatterDimensions(std::string_view wire) {
  ScatterDimensions dims;
  dims.ok = DecodeIndexFields(wire, FieldsOf(dims));
  return dims;
}

std::string EncodeScatterDimensions(const ScatterDimensions& dimensions) {
  ScatterDimensions dims = dimensions;
  return EncodeIndexFields(FieldsOf(dims));
}

Metadata DecodeMetadata(std::string_view wire) {
  Metadata metadata;
  ForEachField(wire, [&](const Cursor& cursor) {
    switch (cursor.field()) {
      case 1:
        metadata.op_type = cursor.Message();
        break;
      case 2:
        metadata.op_name = cursor.Message();
        break;
      case 3:
        metadata.source_file = cursor.Message();
        break;
      case 4:
        metadata.source_line = static_cast<int32_t>(cursor.Int());
        break;
      case 15:
        metadata.stack_frame_id = static_cast<int32_t>(cursor.Int());
        break;
      case 17:
        metadata.source_end_line = static_cast<int32_t>(cursor.Int());
        break;
      case 18:
        metadata.source_column = static_cast<int32_t>(cursor.Int());
        break;
      case 19:
        metadata.source_end_column = static_cast<int32_t>(cursor.Int());
        break;
    }
  });
  return metadata;
}

namespace {

// A StackFrameIndexProto as it stands: ids are 1-based positions in these lists.
struct FrameTables {
  std::vector<std::string_view> files, functions, locations, frames;
};

StackFrames::Frame DecodeFrame(const FrameTables& tables, std::string_view frame_wire) {
  StackFrames::Frame frame;
  int64_t location = 0;
  ForEachField(frame_wire, [&](const Cursor& cursor) {
    if (cursor.field() == 1) location = cursor.Int();
    if (cursor.field() == 2) frame.parent = static_cast<int32_t>(cursor.Int());
  });
  auto at = [](const std::vector<std::string_view>& list, int64_t id) {
    bool valid = id >= 1 && static_cast<uint64_t>(id) <= list.size();
    return valid ? list[static_cast<size_t>(id - 1)] : std::string_view();
  };
  ForEachField(at(tables.locations, location), [&](const Cursor& cursor) {
    int64_t value = cursor.Int();
    switch (cursor.field()) {
      case 1:
        frame.file = at(tables.files, value);
        break;
      case 2:
        frame.function = at(tables.functions, value);
        break;
      case 3:
        frame.line = static_cast<int32_t>(value);
        break;
      case 4:
        frame.column = static_cast<int32_t>(value);
        break;
      case 5:
        frame.end_line = static_cast<int32_t>(value);
        break;
      case 6:
        frame.end_column = static_cast<int32_t>(value);
        break;
    }
  });
  return frame;
}

}  // namespace

StackFrames::StackFrames(const Module& module) {
  constexpr uint32_t kStackFrameIndex = 17;
  const Attribute* index = module.Find(kStackFrameIndex);
  if (index == nullptr) return;
  FrameTables tables;
  ForEachField(index->bytes, [&](const Cursor& cursor) {
    if (cursor.field() == 1) tables.files.push_back(cursor.Message());
    if (cursor.field() == 2) tables.functions.push_back(cursor.Message());
    if (cursor.field() == 3) tables.locations.push_back(cursor.Message());
    if (cursor.field() == 4) tables.frames.push_back(cursor.Message());
  });
  frames_.reserve(tables.frames.size());
  for (std::string_view wire : tables.frames) frames_.push_back(DecodeFrame(tables, wire));
}

std::vector<StackFrames::Frame> StackFrames::Walk(int32_t stack_frame_id) const {
  std::vector<Frame> walk;
  int32_t id = stack_frame_id;
  // A walk longer than the table goes in circles.
  while (id >= 1 && static_cast<size_t>(id) <= frames_.size() && walk.size() < frames_.size()) {
    walk.push_back(frames_[static_cast<size_t>(id - 1)]);
    id = walk.back().parent;
  }
  return walk;
}

}  // namespace eightfold::hlo
