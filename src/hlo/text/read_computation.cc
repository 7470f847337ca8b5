#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "hlo/text/reader.h"

namespace eightfold::hlo::text {

Reader::Scope& Reader::OpenScope() {
  if (level_ == scopes_.size()) scopes_.push_back(std::make_unique<Scope>());
  Scope& scope = *scopes_[level_++];
  scope.names.Clear();
  scope.instructions.clear();
  scope.anonymous.clear();
  scope.pending.clear();
  scope.root = nullptr;
  return scope;
}

bool Reader::ReadComputation(std::string_view name, bool is_entry) {
  const Shape* result = nullptr;
  std::string_view where;
  Computation* computation = nullptr;
  if (in_.Peek() == '(' && !ReadSignature(&result, &where)) return false;
  if (in_.Peek() != '{') return in_.Expected("`{` and the instructions");
  if (!ReadBody(name, &computation)) return false;
  if (is_entry) {
    if (module_.entry != nullptr) {
      return in_.Fail(name, "a module has only one ENTRY",
                      fmt::format("%{} is one already", module_.entry->name));
    }
    module_.entry = computation;
  }
  if (result == nullptr) return true;
  if (computation->root->shape == nullptr) {
    signatures_.push_back({computation, result, where});
  } else if (!Compatible(*result, *computation->root->shape)) {
    return in_.Fail(where, fmt::format("the result of %{} is {}, but its root %{} is {}", name,
                                       ToString(*result, false), computation->root->name,
                                       ToString(*computation->root->shape, false)));
  }
  return true;
}

// Names and shapes of parameters are repeated by the parameters themselves, which count.
bool Reader::ReadSignature(const Shape** result, std::string_view* where) {
  if (!in_.ReadList('(', ')', [&] {
        std::string_view name = in_.Name();
        const Shape* ignored = nullptr;
        if (name.empty()) return in_.Expected("a parameter");
        return in_.Expect(':') && shapes_.Read(&ignored);
      })) {
    return false;
  }
  if (!in_.AcceptText("->")) return in_.Expected("`->` and the result");
  in_.SkipSpace();
  const char* start = in_.at();
  if (!shapes_.Read(result)) return false;
  *where = {start, static_cast<size_t>(in_.at() - start)};
  return true;
}

bool Reader::ReadBody(std::string_view name, Computation** made) {
  if (level_ == kDeepest) {
    return in_.Fail(in_.at(), 1, fmt::format("computations nest deeper than {} here", kDeepest));
  }
  in_.Expect('{');
  Scope& scope = OpenScope();
  while (in_.Peek() != '}') {
    if (in_.failed() || !ReadStatement(scope)) return false;
  }
  auto* computation = module_.arena.New<Computation>();
  computation->name = name;
  *made = computation;
  if (scope.instructions.empty()) {
    return in_.Fail(name.empty() ? std::string_view(in_.at(), 1) : name,
                    "a computation without instructions");
  }
  if (!CloseComputation(scope, computation)) return false;
  in_.Accept('}');
  const char* before = in_.at();
  if (name.empty() || !in_.Accept(',') || !in_.AcceptText("execution_thread=")) {
    in_.MoveTo(before);
  } else {
    std::string_view thread;
    if (!in_.ReadString(&thread)) return false;
    if (thread != "main") computation->execution_thread = thread;
  }
  return true;
}

bool Reader::ReadLoneInstruction(std::string_view name) {
  if (name != "ROOT" || in_.Peek() == '=') in_.MoveTo(name.data());
  Scope& scope = OpenScope();
  if (!ReadStatement(scope)) return false;
  if (!in_.AtEnd()) return in_.Expected("nothing behind a lone instruction");
  auto* computation = module_.arena.New<Computation>();
  computation->name = "_";
  module_.name = "_";
  module_.is_scheduled = true;
  module_.entry = computation;
  return CloseComputation(scope, computation);
}

bool Reader::CloseComputation(Scope& scope, Computation* computation) {
  if (!ResolvePending(scope, *computation)) return false;
  NameAnonymous(scope);
  computation->root = scope.root != nullptr ? scope.root : scope.instructions.back();
  computation->instructions = module_.arena.Copy(scope.instructions);
  FinishInstructions(module_, *computation);
  if (std::ranges::find(computation->parameters, nullptr) != computation->parameters.end()) {
    return BadParameters(scope, *computation);
  }
  computations_.push_back(computation);
  --level_;
  if (computation->name.empty()) {
    inline_computations_.push_back(computation);
    return true;
  }
  if (const Computation* other = computation_names_.Add(computation); other != nullptr) {
    return in_.Fail(computation->name,
                    fmt::format("computation %{} is defined twice", computation->name),
                    fmt::format("the other one is in line {}", Locate(module_, other->name).line));
  }
  return true;
}

// Nested operands are called after their opcode: abs.anon, abs.anon.1 …
void Reader::NameAnonymous(Scope& scope) {
  std::unordered_map<std::string_view, size_t> next;
  for (Instruction* nested : scope.anonymous) {
    size_t& number = next[nested->name];
    std::string base = std::string(nested->name) + ".anon";
    std::string name;
    do {
      name = number == 0 ? base : fmt::format("{}.{}", base, number);
      ++number;
    } while (scope.names.Find(name) != nullptr);
    nested->name = module_.arena.Copy(std::string_view(name));
    name_hashes_.push_back(HashBytes(nested->name));
    scope.names.Add(nested, name_hashes_.back());
  }
}

bool Reader::ResolvePending(Scope& scope, const Computation& computation) {
  for (const PendingInstruction& pending : scope.pending) {
    Instruction* found = scope.names.Find(pending.name);
    if (found == nullptr) return Undefined(scope, pending, computation);
    *pending.slot = found;
    if (pending.declared != nullptr &&
        !CheckDeclared(*found, *pending.declared, pending.declared_text)) {
      return false;
    }
  }
  return true;
}

bool Reader::Undefined(const Scope& scope, const PendingInstruction& pending,
                       const Computation& computation) {
  std::vector<std::string_view> names;
  for (const Instruction* instruction : scope.instructions) names.push_back(instruction->name);
  std::string_view nearest = Nearest(pending.name, names);
  std::string where = computation.name.empty() ? "this computation"
                                               : fmt::format("computation %{}", computation.name);
  std::string_view shown = pending.name;
  if (shown.data()[-1] == '%') shown = {shown.data() - 1, shown.size() + 1};
  return in_.Fail(shown, fmt::format("operand %{} is not defined in {}", pending.name, where),
                  nearest.empty()
                      ? "names are local to a computation"
                      : fmt::format("%{} is; names are local to a computation", nearest));
}

// Some parameter number is missing: tells which one took its place.
bool Reader::BadParameters(const Scope& scope, const Computation& computation) {
  size_t count = computation.parameters.size();
  std::vector<const Instruction*> by_number(count);
  for (const Instruction* parameter : scope.instructions) {
    if (parameter->opcode != Opcode::kParameter) continue;
    auto number = static_cast<size_t>(parameter->parameter_number());
    if (number >= count) {
      return in_.Fail(
          parameter->name,
          fmt::format(
              "%{} is parameter {}, but {} has only {}", parameter->name, number,
              computation.name.empty() ? "the computation" : fmt::format("%{}", computation.name),
              count),
          "parameters are numbered 0, 1, 2 … without gaps");
    }
    if (by_number[number] != nullptr) {
      return in_.Fail(parameter->name,
                      fmt::format("%{} and %{} are both parameter {}", by_number[number]->name,
                                  parameter->name, number));
    }
    by_number[number] = parameter;
  }
  return true;
}

}  // namespace eightfold::hlo::text
