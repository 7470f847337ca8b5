#include "hlo/shape.h"

#include <algorithm>

#include "base/hash.h"

namespace eightfold::hlo {
namespace {

template <class T>
std::string_view AsBytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

uint64_t HashShape(const Shape& shape) {
  uint64_t hash = static_cast<uint64_t>(shape.type) * 2 + shape.has_layout;
  hash = HashBytes(AsBytes(shape.dims), hash);
  hash = HashBytes(AsBytes(shape.dynamic), hash);
  hash = HashBytes(AsBytes(shape.minor_to_major), hash);
  hash = HashBytes(AsBytes(shape.tuple), hash);
  if (!shape.layout_extra.empty()) hash = HashBytes(shape.layout_extra, hash);
  if (!shape.unknown.empty()) hash = HashBytes(shape.unknown, hash);
  return hash;
}

bool Equal(const Shape& a, const Shape& b) {
  return a.type == b.type && a.has_layout == b.has_layout && std::ranges::equal(a.dims, b.dims) &&
         std::ranges::equal(a.dynamic, b.dynamic) &&
         std::ranges::equal(a.minor_to_major, b.minor_to_major) &&
         std::ranges::equal(a.tuple, b.tuple) && a.layout_extra == b.layout_extra &&
         a.unknown == b.unknown;
}

}  // namespace

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape.dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return -1;
  }
  return count;
}

int64_t ByteSize(const Shape& shape) {
  int64_t total = 0;
  std::vector<const Shape*> pending = {&shape};
  while (!pending.empty()) {
    const Shape* at = pending.back();
    pending.pop_back();
    pending.insert(pending.end(), at->tuple.begin(), at->tuple.end());
    if (!at->IsArray()) continue;
    int64_t bits = 0;
    int64_t count = ElementCount(*at);
    if (count < 0 || __builtin_mul_overflow(count, BitWidth(at->type), &bits) ||
        __builtin_add_overflow(total, bits / 8 + (bits % 8 != 0), &total)) {
      return -1;
    }
  }
  return total;
}

const Shape* ShapeTable::Intern(const Shape& shape) {
  uint64_t hash = HashShape(shape);
  auto [it, end] = shapes_.equal_range(hash);
  for (; it != end; ++it) {
    if (Equal(*it->second, shape)) return it->second;
  }
  auto* made = arena_.New<Shape>(shape);
  made->dims = arena_.Copy(shape.dims);
  made->dynamic = arena_.Copy(shape.dynamic);
  made->minor_to_major = arena_.Copy(shape.minor_to_major);
  made->tuple = arena_.Copy(shape.tuple);
  made->layout_extra = arena_.Copy(shape.layout_extra);
  made->unknown = arena_.Copy(shape.unknown);
  shapes_.emplace(hash, made);
  made->bare = Bare(*made);
  return made;
}

const Shape* ShapeTable::Bare(const Shape& shape) {
  bool is_bare = !shape.has_layout;
  std::vector<const Shape*> elements(shape.tuple.begin(), shape.tuple.end());
  for (const Shape*& element : elements) {
    is_bare = is_bare && element->bare == element;
    element = element->bare;
  }
  if (is_bare) return &shape;
  Shape bare = shape;
  bare.has_layout = false;
  bare.minor_to_major = {};
  bare.layout_extra = {};
  bare.tuple = elements;
  return Intern(bare);
}

const Shape* ShapeTable::Array(PrimitiveType type, std::span<const int64_t> dims) {
  return Intern(Shape{.type = type, .dims = dims});
}

const Shape* ShapeTable::ArrayWithDefaultLayout(PrimitiveType type, std::span<const int64_t> dims) {
  std::vector<int64_t> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return Intern(Shape{.type = type, .has_layout = true, .dims = dims, .minor_to_major = order});
}

const Shape* ShapeTable::Tuple(std::span<const Shape* const> elements) {
  return Intern(Shape{.type = PrimitiveType::kTuple, .tuple = elements});
}

const Shape* ShapeTable::Import(const Shape& foreign) {
  // Post-order over the tuple tree without recursion: an element is imported before its tuple.
  struct Frame {
    const Shape* from;
    std::vector<const Shape*> done;
  };
  std::vector<Frame> stack;
  stack.push_back({&foreign, {}});
  while (true) {
    Frame& top = stack.back();
    if (top.done.size() < top.from->tuple.size()) {
      stack.push_back({top.from->tuple[top.done.size()], {}});
      continue;
    }
    Shape copy = *top.from;
    copy.tuple = top.done;
    const Shape* imported = Intern(copy);
    stack.pop_back();
    if (stack.empty()) return imported;
    stack.back().done.push_back(imported);
  }
}

}  // namespace eightfold::hlo
