#include "rewrite/graph_text.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <utility>

namespace eightfold::rewrite {
namespace {

struct KnownOp {
  std::string_view name;
  GraphOpKind kind;
  size_t operands;  // how many it has
};
constexpr KnownOp kKnownOps[] = {
    {"conv", GraphOpKind::kConv, 0},   {"add", GraphOpKind::kAdd, 2},
    {"scale", GraphOpKind::kScale, 2}, {"invscale", GraphOpKind::kInvscale, 2},
    {"min", GraphOpKind::kMin, 2},     {"max", GraphOpKind::kMax, 2},
    {"relu", GraphOpKind::kRelu, 1},   {"elu", GraphOpKind::kElu, 1},
    {"amax", GraphOpKind::kAmax, 1},
};

// What a convolution's graph can hold.
bool IsGraphType(hlo::PrimitiveType type) {
  return type == hlo::PrimitiveType::kF8E4M3FN || type == hlo::PrimitiveType::kF8E5M2 ||
         (hlo::IsFloating(type) && hlo::BitWidth(type) > 8);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<GraphOp>> Parse() {
    while (at_ < text_.size()) EF_CHECK_OK(ParseOp());
    if (ops_.empty()) return Fail("its serialized graph is empty");
    return std::move(ops_);
  }

 private:
  tl::unexpected<Error> Wrong(std::string_view what) const {
    return Fail(fmt::format("its serialized graph is damaged at character {}: {}", at_, what));
  }

  Result<void> Expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return Wrong(fmt::format("no '{}'", c));
    ++at_;
    return {};
  }

  // The text up to `end`, which is skipped.
  Result<std::string_view> Until(char end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return Wrong(fmt::format("no '{}'", end));
    const std::string_view word = text_.substr(at_, found - at_);
    at_ = found + 1;
    return word;
  }

  Result<int64_t> Id() {
    int64_t id = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), id);
    if (error != std::errc() || id < 0) return Wrong("no id");
    at_ += static_cast<size_t>(end - begin);
    return id;
  }

  Result<void> ParseOp() {
    GraphOp op;
    EF_TRY(op.id, Id());
    EF_CHECK_OK(Expect(':'));
    EF_CHECK_OK(Expect('['));
    EF_TRY(std::string_view type, Until(']'));
    const std::optional<hlo::PrimitiveType> known = hlo::FindPrimitiveType(type);
    if (!known || !IsGraphType(*known)) {
      return Wrong(fmt::format("before it, \"{}\" is no type that graphs have", type));
    }
    op.type = *known;
    EF_TRY(op.name, Until('('));
    EF_CHECK_OK(ParseOperands(op));
    EF_CHECK_OK(Expect(';'));
    EF_CHECK_OK(Complete(op));
    if (!positions_.emplace(op.id, ops_.size()).second) {
      return Wrong(fmt::format("a second operation {}", op.id));
    }
    ops_.push_back(std::move(op));
    return {};
  }

  Result<void> ParseOperands(GraphOp& op) {
    while (at_ < text_.size() && text_[at_] != ')') {
      if (!op.operands.empty()) EF_CHECK_OK(Expect(','));
      EF_TRY(int64_t id, Id());
      const auto found = positions_.find(id);
      if (found == positions_.end()) {
        return Wrong(fmt::format("operation {} uses {}, which is not before it", op.id, id));
      }
      if (ops_[found->second].kind == GraphOpKind::kAmax) {
        return Wrong(fmt::format("operation {} uses an amax", op.id));
      }
      op.operands.push_back(found->second);
    }
    return Expect(')');
  }

  // Finds out what the operation is, and whether it has an operand from outside.
  Result<void> Complete(GraphOp& op) {
    const KnownOp* known = nullptr;
    for (const KnownOp& candidate : kKnownOps) {
      if (candidate.name == op.name) known = &candidate;
    }
    if (known == nullptr) {
      return Wrong(fmt::format("before it is the unknown operation \"{}\"", op.name));
    }
    op.kind = known->kind;
    if ((op.kind == GraphOpKind::kConv) != ops_.empty()) {
      return Wrong("the first operation, and no other, must be the convolution");
    }
    op.takes_external = known->operands == 2 && op.operands.size() == 1;
    if (op.operands.size() + (op.takes_external ? 1 : 0) != known->operands) {
      return Wrong(fmt::format("\"{}\" cannot have {} operands here", op.name, op.operands.size()));
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<GraphOp> ops_;
  std::unordered_map<int64_t, size_t> positions_;  // by id
};

}  // namespace

Result<std::vector<GraphOp>> ParseGraph(std::string_view text) { return Parser(text).Parse(); }

}  // namespace eightfold::rewrite
