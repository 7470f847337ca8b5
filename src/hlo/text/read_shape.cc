#include <fmt/format.h>

#include "base/hash.h"
#include "hlo/shape_codec.h"
#include "hlo/text/shape_reader.h"

namespace eightfold::hlo::text {

namespace {

// The last character of `/*index=5*/`; null for another comment, which may hold parentheses.
const char* SkipIndex(const char* at, const char* end) {
  constexpr std::string_view kStart = "/*index=";
  if (!std::string_view(at, static_cast<size_t>(end - at)).starts_with(kStart)) return nullptr;
  at += kStart.size();
  while (at < end && Is(*at, kDigit)) ++at;
  return end - at >= 2 && at[0] == '*' && at[1] == '/' ? at + 1 : nullptr;
}

}  // namespace

bool ShapeReader::StartsHere() {
  char c = in_.Peek();
  if (c == '(') return true;
  if (!Is(c, kNameStart)) return false;
  const char* start = in_.at();
  std::string_view word = in_.WordHere();
  bool is_buffer = word == "b" && in_.Here() == '(';
  bool is_array = in_.Peek() == '[';
  in_.MoveTo(start);
  return is_array || is_buffer;
}

std::string_view ShapeReader::Span() const {
  const char* start = in_.at();
  const char* end = in_.end();
  const char* p = start;
  if (p < end && *p == '(') {
    int depth = 0;
    for (; p < end; ++p) {
      if (*p == '(') ++depth;
      if (*p == ')' && --depth == 0) return {start, static_cast<size_t>(p + 1 - start)};
      if (*p == '/' && (p = SkipIndex(p, end)) == nullptr) return {};
    }
    return {};
  }
  while (p < end && Is(*p, kNameChar)) ++p;
  if (p == end || *p != '[') return {};
  while (p < end && *p != ']') ++p;
  if (p == end) return {};
  ++p;
  // A brace is a layout only when a number or colon follows: `-> f32[2] {` opens a computation. One
  // that is set off is rare and needs parsing.
  auto is_layout = [end](const char* at) {
    return end - at >= 2 && *at == '{' && (Is(at[1], kDigit) || at[1] == ':' || at[1] == ' ');
  };
  if (is_layout(p)) {
    while (p < end && *p != '}') ++p;
    if (p == end) return {};
    ++p;
  } else if (p < end && Is(*p, kSkipStart)) {
    const char* next = p;
    while (next < end && Is(*next, kSpaceChar)) ++next;
    if (next < end && (*next == '/' || is_layout(next))) return {};
  }
  return {start, static_cast<size_t>(p - start)};
}

bool ShapeReader::ReadKnown(std::string_view span, uint64_t hash, const Shape** shape) {
  const Cached& cached = cache_[hash % cache_.size()];
  if (cached.hash != hash || cached.text != span) return false;
  in_.MoveTo(span.data() + span.size());
  *shape = cached.shape;
  return true;
}

bool ShapeReader::ReadNew(std::string_view span, uint64_t hash, const Shape** shape) {
  const char* start = in_.at();
  if (!Parse(0, shape)) return false;
  if (!span.empty() && in_.at() == start + span.size()) {
    cache_[hash % cache_.size()] = {hash, span, *shape};
  }
  return true;
}

bool ShapeReader::Read(const Shape** shape) {
  in_.SkipSpace();
  std::string_view span = Span();
  uint64_t hash = span.empty() ? 0 : HashBytes(span);
  return (!span.empty() && ReadKnown(span, hash, shape)) || ReadNew(span, hash, shape);
}

bool ShapeReader::ReadIfAny(const Shape** shape) {
  in_.SkipSpace();
  std::string_view span = Span();
  uint64_t hash = span.empty() ? 0 : HashBytes(span);
  if (!span.empty() && ReadKnown(span, hash, shape)) [[likely]]
    return true;
  return !StartsHere() || ReadNew(span, hash, shape);
}

bool ShapeReader::Parse(int depth, const Shape** shape) {
  if (in_.Peek() == '(') return ParseTuple(depth, shape);
  const char* start = in_.at();
  if (in_.WordHere() == "b" && in_.Accept('(')) {
    const Shape* inner = nullptr;
    if (!ParseArray(&inner) || !in_.Expect(')')) return false;
    *shape = shapes_.Intern({.type = PrimitiveType::kBuffer, .tuple = {&inner, 1}});
    return true;
  }
  in_.MoveTo(start);
  return ParseArray(shape);
}

bool ShapeReader::ParseTuple(int depth, const Shape** shape) {
  if (depth == kDeepestShape) {
    return in_.Fail(in_.at(), 1, fmt::format("tuples nest deeper than {} here", kDeepestShape));
  }
  std::vector<const Shape*> elements;
  if (!in_.ReadList('(', ')', [&] {
        elements.emplace_back();
        return Parse(depth + 1, &elements.back());
      })) {
    return false;
  }
  *shape = shapes_.Tuple(elements);
  return true;
}

bool ShapeReader::ParseArray(const Shape** shape) {
  std::string_view word;
  if (!in_.ReadWord(&word, "a shape")) return false;
  auto type = FindPrimitiveType(word);
  if (!type || *type == PrimitiveType::kTuple || *type == PrimitiveType::kBuffer) {
    return in_.Fail(word, fmt::format("`{}` is not an element type", word));
  }
  Shape made{.type = *type};
  if (!ParseDims(&made)) return false;
  if (!made.IsArray()) {
    if (!made.dims.empty()) return in_.Fail(word, fmt::format("{} has no dimensions", word));
    *shape = shapes_.Intern(made);
    return true;
  }
  made.has_layout = true;
  order_.resize(made.rank());
  for (size_t i = 0; i < order_.size(); ++i)
    order_[i] = static_cast<int64_t>(order_.size() - 1 - i);
  made.minor_to_major = order_;
  std::string extra;
  const char* before = in_.at();
  if (in_.Accept('{')) {
    char next = in_.Peek();
    if (!Is(next, kDigit) && next != ':' && next != '}') {
      in_.MoveTo(before);  // not a layout: a computation's body
    } else if (next == '}') {
      return in_.Fail(before, 2, "a layout in braces must not be empty");
    } else {
      made.layout_extra = {};
      if (!ParseLayout(&made)) return false;
    }
  }
  *shape = shapes_.Intern(made);
  return true;
}

bool ShapeReader::ParseDims(Shape* shape) {
  dims_.clear();
  dynamic_.clear();
  bool any_dynamic = false;
  if (!in_.ReadList('[', ']', [&] {
        bool unbounded = in_.Accept('?');
        bool bounded = !unbounded && in_.AcceptText("<=");
        int64_t size = kUnbounded;
        const char* start = in_.at();
        if (!unbounded && !in_.ReadInt(&size)) return false;
        if (!unbounded && size < 0) {
          return in_.Fail(start, static_cast<size_t>(in_.at() - start), "a dimension is negative");
        }
        dims_.push_back(size);
        dynamic_.push_back(unbounded || bounded);
        any_dynamic |= unbounded || bounded;
        return true;
      })) {
    return false;
  }
  shape->dims = dims_;
  static_assert(sizeof(bool) == 1);
  if (any_dynamic)
    shape->dynamic = {reinterpret_cast<const bool*>(dynamic_.data()), dynamic_.size()};
  return true;
}

}  // namespace eightfold::hlo::text
