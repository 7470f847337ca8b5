#include "hlo/to_string.h"

#include <charconv>
#include <vector>

#include "base/arena.h"
#include "hlo/shape_codec.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;

// The fields of LayoutProto that text shows, decoded from Shape::layout_extra.
struct LayoutExtra {
  std::string tiles;
  int64_t tail_padding = 1;
  int64_t index_type = 0;
  int64_t pointer_type = 0;
  int64_t element_bits = 0;
  int64_t memory_space = 0;
  std::string splits;
  std::string_view physical_shape;
  int64_t metadata_prefix = 0;
};

void AppendTile(std::string& out, std::string_view tile) {
  out += '(';
  bool first = true;
  for (Cursor cursor(tile); cursor.Next();) {
    if (cursor.field() != 1) continue;
    cursor.Ints([&](int64_t dim) {
      if (!first) out += ',';
      first = false;
      if (dim == kCombineDimension) {
        out += '*';
      } else {
        AppendInt(out, dim);
      }
    });
  }
  out += ')';
}

// "(dimension:index,index)"
void AppendSplit(std::string& out, std::string_view split) {
  int64_t dimension = 0;
  std::string indices;
  for (Cursor cursor(split); cursor.Next();) {
    if (cursor.field() == 1) dimension = cursor.Int();
    if (cursor.field() != 2) continue;
    cursor.Ints([&](int64_t index) {
      if (!indices.empty()) indices += ',';
      AppendInt(indices, index);
    });
  }
  out += '(';
  AppendInt(out, dimension);
  out += ':';
  out += indices;
  out += ')';
}

LayoutExtra DecodeExtra(std::string_view message) {
  LayoutExtra extra;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case 6:
        AppendTile(extra.tiles, cursor.Message());
        break;
      case 7:
        extra.element_bits = cursor.Int();
        break;
      case 8:
        extra.memory_space = cursor.Int();
        break;
      case 10:
        extra.physical_shape = cursor.Message();
        break;
      case 11:
        extra.index_type = cursor.Int();
        break;
      case 12:
        extra.pointer_type = cursor.Int();
        break;
      case 15:
        extra.metadata_prefix = cursor.Int();
        break;
      case 16:
        extra.tail_padding = cursor.Int();
        break;
      case 17:
        AppendSplit(extra.splits, cursor.Message());
        break;
      default:
        break;
    }
  }
  return extra;
}

std::string_view TypeName(int64_t number) {
  return Name(number > 0 && number < kPrimitiveTypeCount ? static_cast<PrimitiveType>(number)
                                                         : PrimitiveType::kInvalid);
}

void AppendNumber(std::string& out, std::string_view before, int64_t value) {
  out += before;
  out += '(';
  AppendInt(out, value);
  out += ')';
}

void AppendPhysicalShape(std::string& out, std::string_view message);

// ":T(8,128)E(4)S(1)": the order and the omissions are XLA's.
void AppendExtra(std::string& out, std::string_view message) {
  LayoutExtra extra = DecodeExtra(message);
  size_t colon = out.size();
  out += ':';
  if (!extra.tiles.empty()) (out += 'T') += extra.tiles;
  if (extra.tail_padding > 1) AppendNumber(out, "L", extra.tail_padding);
  if (extra.index_type != 0) ((out += "#(") += TypeName(extra.index_type)) += ')';
  if (extra.pointer_type != 0) ((out += "*(") += TypeName(extra.pointer_type)) += ')';
  if (extra.element_bits != 0) AppendNumber(out, "E", extra.element_bits);
  if (extra.memory_space != 0) AppendNumber(out, "S", extra.memory_space);
  if (!extra.splits.empty()) (out += "SC") += extra.splits;
  if (!extra.physical_shape.empty()) AppendPhysicalShape(out, extra.physical_shape);
  if (extra.metadata_prefix > 0) AppendNumber(out, "M", extra.metadata_prefix);
  if (out.size() == colon + 1) out.pop_back();
}

void AppendDimensions(std::string& out, const Shape& shape) {
  out += '[';
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (i != 0) out += ',';
    if (shape.dims[i] == kUnbounded) {
      out += '?';
      continue;
    }
    if (!shape.dynamic.empty() && shape.dynamic[i]) out += "<=";
    AppendInt(out, shape.dims[i]);
  }
  out += ']';
}

// A shape that is not a tuple and not a buffer.
void AppendLeaf(std::string& out, const Shape& shape, bool with_layout) {
  out += Name(shape.type);
  AppendDimensions(out, shape);
  if (!with_layout || !shape.has_layout) return;
  if (shape.minor_to_major.empty() && shape.layout_extra.empty()) return;
  size_t brace = out.size();
  out += '{';
  for (size_t i = 0; i < shape.minor_to_major.size(); ++i) {
    if (i != 0) out += ',';
    AppendInt(out, shape.minor_to_major[i]);
  }
  if (!shape.layout_extra.empty()) {
    size_t before_extra = out.size();
    try {
      AppendExtra(out, shape.layout_extra);
    } catch (const wire::Damage&) {
      out.resize(before_extra);
    }
  }
  if (out.size() == brace + 1) {
    out.pop_back();
  } else {
    out += '}';
  }
}

// Physical shapes belong to the sparse layouts of old versions and are plain arrays; one that
// holds another in its own layout shows that one's type and dimensions only.
void AppendPhysicalShape(std::string& out, std::string_view message) {
  Arena arena;
  ShapeTable table(arena);
  ShapeDecoder decoder(table);
  Shape shape = *decoder.Decode(message);
  std::string own;
  for (Cursor cursor(shape.layout_extra); cursor.Next();) {
    if (cursor.field() != 10) own += cursor.raw();
  }
  shape.layout_extra = own;
  out += "P(";
  if (shape.IsArray()) {
    AppendLeaf(out, shape, /*with_layout=*/true);
  } else {
    AppendShape(out, shape, /*with_layout=*/false);
  }
  out += ')';
}

}  // namespace

void AppendInt(std::string& out, int64_t value) {
  if (value >= 0 && value < 10) {
    out += static_cast<char>('0' + value);
    return;
  }
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void AppendShape(std::string& out, const Shape& shape, bool with_layout) {
  if (shape.tuple.empty() && shape.type != PrimitiveType::kTuple) {
    AppendLeaf(out, shape, with_layout);
    return;
  }
  struct Frame {
    const Shape* shape;
    size_t next;
  };
  std::vector<Frame> stack;
  auto open = [&](const Shape& tuple) {
    out += tuple.type == PrimitiveType::kBuffer ? "b(" : "(";
    stack.push_back({&tuple, 0});
  };
  open(shape);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next == top.shape->tuple.size()) {
      out += ')';
      stack.pop_back();
      continue;
    }
    if (top.next != 0) {
      out += ", ";
      // XLA numbers every fifth element for human readers.
      if (top.next % 5 == 0) {
        out += "/*index=";
        AppendInt(out, static_cast<int64_t>(top.next));
        out += "*/";
      }
    }
    const Shape& element = *top.shape->tuple[top.next++];
    if (element.type == PrimitiveType::kTuple || !element.tuple.empty()) {
      open(element);
    } else {
      AppendLeaf(out, element, with_layout);
    }
  }
}

std::string ToString(const Shape& shape, bool with_layout) {
  std::string out;
  AppendShape(out, shape, with_layout);
  return out;
}

}  // namespace eightfold::hlo
