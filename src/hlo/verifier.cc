#include "hlo/verifier.h"

#include <fmt/format.h>

#include <vector>

#include "hlo/verify_internal.h"

namespace eightfold::hlo {
namespace {

// Whether `name` is part of a source that is text: there, a name is followed by a space, `=` or a
// comment, none of which starts a field behind the name in a proto.
bool IsInText(const Module& module, std::string_view name) {
  if (module.source == nullptr || name.empty() || !module.source->Contains(name)) return false;
  std::string_view bytes = module.source->bytes();
  auto end = static_cast<size_t>(name.data() + name.size() - bytes.data());
  constexpr std::string_view kFollowing = " \t\r\n=/{";
  return end < bytes.size() && kFollowing.find(bytes[end]) != std::string_view::npos;
}

Location Place(const Module& module, std::string_view name, std::string path) {
  if (IsInText(module, module.InSource(name))) return Locate(module, name);
  Location where{.field_path = std::move(path)};
  if (module.source != nullptr) where.file = module.source->name();
  return where;
}

}  // namespace

bool Verdict::Fail(const Instruction& where, const std::string& what, std::string next) {
  const Computation* parent = where.parent;
  std::string path = parent == nullptr ? std::string()
                                       : fmt::format("computations[{}].instructions[{}]",
                                                     parent->index, where.index);
  error_ = Error{.what = fmt::format("%{} in computation %{}: {}", where.name,
                                     parent == nullptr ? std::string_view() : parent->name, what),
                 .where = Place(module_, where.name, std::move(path)),
                 .next = std::move(next)};
  return false;
}

bool Verdict::Fail(const Computation& where, const std::string& what, std::string next) {
  error_ = Error{.what = fmt::format("computation %{}: {}", where.name, what),
                 .where = Place(module_, where.name, fmt::format("computations[{}]", where.index)),
                 .next = std::move(next)};
  return false;
}

bool Verdict::Fail(std::string what, std::string next) {
  Location where;
  if (module_.source != nullptr) where.file = module_.source->name();
  error_ = Error{.what = std::move(what), .where = std::move(where), .next = std::move(next)};
  return false;
}

bool Compatible(const Shape& a, const Shape& b) {
  if (a.bare == b.bare) return true;
  // Differ, or one is dynamic, or they belong to two tables. Tuples nest: a worklist, not
  // recursion.
  std::vector<std::pair<const Shape*, const Shape*>> pending = {{&a, &b}};
  while (!pending.empty()) {
    auto [x, y] = pending.back();
    pending.pop_back();
    if (x->bare == y->bare) continue;
    if (x->type != y->type || x->rank() != y->rank() || x->tuple.size() != y->tuple.size()) {
      return false;
    }
    for (size_t i = 0; i < x->rank(); ++i) {
      bool dynamic =
          (!x->dynamic.empty() && x->dynamic[i]) || (!y->dynamic.empty() && y->dynamic[i]);
      if (x->dims[i] != y->dims[i] && !dynamic) return false;
    }
    for (size_t i = 0; i < x->tuple.size(); ++i) pending.emplace_back(x->tuple[i], y->tuple[i]);
  }
  return true;
}

namespace {

bool Check(Verdict& verdict) {
  StructureCheck structure(verdict);
  if (!structure.CheckModule()) return false;
  // One computation after the other is checked in full while it is in the cache; those that call
  // something behind them wait until all structure is known to be sound.
  ShapeCheck shapes(verdict);
  std::vector<const Computation*> waiting;
  for (const Computation* computation : verdict.module().computations) {
    bool callees_first = true;
    if (!structure.CheckComputation(*computation, &callees_first) ||
        !CheckSchedule(verdict, *computation)) {
      return false;
    }
    if (!callees_first) {
      waiting.push_back(computation);
    } else if (!shapes.CheckComputation(*computation)) {
      return false;
    }
  }
  if (!waiting.empty() && !structure.CheckCallCycles()) return false;
  for (const Computation* computation : waiting) {
    if (!shapes.CheckComputation(*computation)) return false;
  }
  return CheckModuleFields(verdict);
}

}  // namespace

Result<void> Verify(const Module& module) {
  Verdict verdict(module);
  if (Check(verdict)) return {};
  return tl::unexpected(verdict.TakeError());
}

Result<void> VerifyInstruction(const Module& module, const Instruction& instruction) {
  Verdict verdict(module);
  if (ShapeCheck(verdict).CheckInstruction(instruction)) return {};
  return tl::unexpected(verdict.TakeError());
}

}  // namespace eightfold::hlo
