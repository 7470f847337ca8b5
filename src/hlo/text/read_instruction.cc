#include <fmt/format.h>

#include "hlo/text/reader.h"
#include "hlo/text/word_table.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

// `X` of `X-start`, and the asynchronous opcode that the ending means.
std::string_view StripAsync(std::string_view word, Opcode* opcode) {
  constexpr std::pair<std::string_view, Opcode> kEndings[] = {
      {"-start", Opcode::kAsyncStart},
      {"-update", Opcode::kAsyncUpdate},
      {"-done", Opcode::kAsyncDone},
  };
  for (const auto& [ending, meaning] : kEndings) {
    if (!word.ends_with(ending)) continue;
    *opcode = meaning;
    return word.substr(0, word.size() - ending.size());
  }
  return {};
}

// As FindOpcode, but fast.
int LookUpOpcode(std::string_view text) {
  static const WordTable table(kOpcodeCount, [](int i) { return Name(static_cast<Opcode>(i)); });
  return table.Find(text);
}

}  // namespace

bool Reader::ReadStatement(Scope& scope) {
  std::string_view name = in_.Name();
  bool is_root = name == "ROOT" && in_.Peek() != '=';
  if (is_root) {
    if (scope.root != nullptr) {
      return in_.Fail(name, "a computation has only one ROOT",
                      fmt::format("%{} is marked already", scope.root->name));
    }
    name = in_.Name();
  }
  if (name.empty()) return in_.Expected("an instruction or `}`");
  if (!in_.Accept('=')) return in_.Expected(fmt::format("`=` after %{}", name));
  const Shape* shape = nullptr;
  if (!shapes_.ReadIfAny(&shape)) return false;
  Instruction* made = nullptr;
  if (!ReadInstruction(scope, name, shape, 0, &made)) return false;
  if (is_root) scope.root = made;
  return true;
}

bool Reader::ReadInstruction(Scope& scope, std::string_view name, const Shape* shape, int depth,
                             Instruction** made) {
  Draft draft;
  draft.name = name;
  draft.shape = shape;
  draft.operands = operand_stack_.size();
  draft.predecessors = predecessor_stack_.size();
  draft.references = reference_stack_.size();
  draft.called = called_stack_.size();
  draft.attributes = attributes_.Mark();
  return ReadOpcode(draft) && ReadOperands(scope, draft, depth) && CheckOperands(draft) &&
         ReadAttributes(scope, draft) && Build(scope, draft, made);
}

bool Reader::ReadOpcode(Draft& draft) {
  std::string_view word;
  if (!in_.ReadWord(&word, "an opcode")) return false;
  draft.opcode_word = word;
  int found = LookUpOpcode(word);
  if (found >= 0) {
    draft.opcode = static_cast<Opcode>(found);
    draft.info = &Info(draft.opcode);
    return true;
  }
  found = LookUpOpcode(StripAsync(word, &draft.opcode));
  if (found < 0) return UnknownOpcode(word);
  draft.wrapped = static_cast<Opcode>(found);
  draft.info = &Info(draft.opcode == Opcode::kAsyncStart ? *draft.wrapped : draft.opcode);
  return true;
}

bool Reader::UnknownOpcode(std::string_view word) {
  std::string_view nearest = NearestOpcode(word);
  return in_.Fail(word, fmt::format("there is no opcode {}", word),
                  nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

bool Reader::ReadOperands(Scope& scope, Draft& draft, int depth) {
  if (!in_.Expect('(')) return false;
  if (draft.opcode == Opcode::kParameter) return ReadParameterNumber();
  if (draft.opcode == Opcode::kConstant) return ReadConstant(draft);
  while (!in_.Accept(')')) {
    if (!ReadOperand(scope, depth)) return false;
    if (in_.Accept(',')) continue;
    if (!in_.Accept(')')) return in_.Expected("`,` or `)`");
    break;
  }
  return true;
}

bool Reader::ReadOperand(Scope& scope, int depth) {
  const Shape* declared = nullptr;
  std::string_view declared_text;
  if (in_.Peek() != '%') {
    const char* start = in_.at();
    if (!shapes_.ReadIfAny(&declared)) return false;
    declared_text = {start, static_cast<size_t>(in_.at() - start)};
  }
  bool is_name = in_.Peek() == '%';
  std::string_view name = in_.Name();
  if (name.empty()) return in_.Expected("an operand");
  if (!is_name && in_.Peek() == '(') {
    if (depth == kDeepest) {
      return in_.Fail(name, fmt::format("operands nest deeper than {} here", kDeepest),
                      "give the inner instructions names");
    }
    in_.MoveTo(name.data());
    Instruction* nested = nullptr;
    if (!ReadInstruction(scope, {}, declared, depth + 1, &nested)) return false;
    operand_stack_.push_back(nested);
    return true;
  }
  Instruction* operand = scope.names.Find(name);
  if (operand == nullptr) {
    reference_stack_.push_back({operand_stack_.size(), false, name, declared_text, declared});
  } else if (declared != nullptr && !CheckDeclared(*operand, *declared, declared_text)) {
    return false;
  }
  operand_stack_.push_back(operand);
  return true;
}

bool Reader::ReadParameterNumber() {
  in_.SkipSpace();
  const char* start = in_.at();
  int64_t number = 0;
  if (!in_.ReadInt(&number)) return false;
  if (number < 0) {
    return in_.Fail(start, static_cast<size_t>(in_.at() - start), "parameters count from 0");
  }
  if (number != 0) {
    attributes_.Push(Attribute::Varint(Field::kParameterNumber, static_cast<uint64_t>(number)));
  }
  return in_.Expect(')');
}

// Literals have no dynamic dimensions and take a byte per element at least, so their constants have
// none and say nothing about element bits.
const Shape* Reader::LiteralShape(const Shape* shape) {
  constexpr uint32_t kElementBits = 7;
  if (shape->IsTuple()) {
    std::vector<const Shape*> elements;
    for (const Shape* element : shape->tuple) elements.push_back(LiteralShape(element));
    return module_.shapes.Tuple(elements);
  }
  if (shape->dynamic.empty() && shape->layout_extra.empty()) return shape;
  std::string extra;
  for (wire::Cursor cursor(shape->layout_extra); cursor.Next();) {
    if (cursor.field() != kElementBits) extra += cursor.raw();
  }
  Shape fixed = *shape;
  fixed.dynamic = {};
  fixed.layout_extra = extra;
  return module_.shapes.Intern(fixed);
}

bool Reader::ReadConstant(Draft& draft) {
  if (draft.shape == nullptr) {
    return in_.Fail(draft.opcode_word, "a constant needs its shape", "for example f32[2]");
  }
  draft.shape = LiteralShape(draft.shape);
  std::string wire;
  if (!ReadLiteral(in_, *draft.shape, &wire)) return false;
  if (!wire.empty()) {
    attributes_.Push(Attribute::Bytes(Field::kLiteral, module_.arena.Copy(std::string_view(wire))));
  }
  return in_.Expect(')');
}

bool Reader::CheckOperands(const Draft& draft) {
  auto count = static_cast<int>(operand_stack_.size() - draft.operands);
  int fewest = draft.info->fewest_operands, most = draft.info->most_operands;
  if (count < fewest || (most >= 0 && count > most)) [[unlikely]] {
    return in_.Fail(draft.opcode_word,
                    fmt::format("{} takes {}{} operand{}, not {}", draft.opcode_word,
                                fewest == most   ? ""
                                : count < fewest ? "at least "
                                                 : "at most ",
                                count < fewest ? fewest : most, fewest == 1 ? "" : "s", count));
  }
  if (draft.opcode != Opcode::kTuple || draft.shape == nullptr) return true;
  if (draft.shape->IsTuple() && draft.shape->tuple.size() == static_cast<size_t>(count))
    return true;
  return in_.Fail(draft.opcode_word, fmt::format("a tuple of {} operands cannot have the shape {}",
                                                 count, ToString(*draft.shape, false)));
}

bool Reader::ReadAttributes(Scope& scope, Draft& draft) {
  // Behind a nested operand, the comma may also lead to the next operand.
  bool is_nested = draft.name.empty();
  while (in_.Peek() == ',' && (!is_nested || IsAttributeNext())) {
    in_.Accept(',');
    if (!ReadAttribute(scope, draft)) return false;
  }
  return CheckAttributes(draft);
}

// Whether `, name=` follows.
bool Reader::IsAttributeNext() {
  const char* before = in_.at();
  in_.Accept(',');
  bool is_attribute = !in_.Word().empty() && in_.Here() == '=';
  in_.MoveTo(before);
  return is_attribute;
}

bool Reader::ReadAttribute(Scope& scope, Draft& draft) {
  std::string_view name = in_.Word();
  if (name.empty() || in_.Here() != '=') {
    if (!name.empty()) in_.MoveTo(name.data());
    return in_.Expected("an attribute as name=value");
  }
  in_.MoveTo(in_.at() + 1);
  int number = LookUpAttribute(name);
  if (number < 0) return ReadUnknownAttribute(name);
  auto index = static_cast<size_t>(number);
  if (draft.seen[index]) return in_.Fail(name, fmt::format("{} is given twice", name));
  draft.seen.set(index);
  auto which = static_cast<TextAttribute>(number);
  const TextAttributeInfo& info = Info(which);
  switch (info.codec) {
    case Codec::kMetadata:
      return attributes_.ReadMetadata(&draft.metadata);
    case Codec::kBackendConfig:
      return attributes_.ReadBackendConfig(&draft.backend_config);
    case Codec::kInstructions:
      return ReadPredecessors(scope);
    default:
      break;
  }
  bool is_async = draft.opcode == Opcode::kAsyncStart || draft.opcode == Opcode::kAsyncUpdate ||
                  draft.opcode == Opcode::kAsyncDone;
  if (is_async && which == TextAttribute::kAsyncExecutionThread) {
    return in_.ReadString(&draft.thread);
  }
  if (!draft.info->allowed[index]) {
    if (which == TextAttribute::kParameterReplication) {
      return in_.Fail(name, "only a parameter has parameter_replication");
    }
    return ReadUnknownAttribute(name);
  }
  if (info.codec == Codec::kComputation || info.codec == Codec::kComputations) {
    return ReadCalled(draft, which);
  }
  if (info.codec == Codec::kUnparsed) return ReadUnknownAttribute(name);
  return attributes_.Read(draft.wrapped.value_or(draft.opcode), which, draft.attributes);
}

bool Reader::ReadCalled(Draft& draft, TextAttribute which) {
  // The order of Instruction::called, which is proto's, is not always text's.
  switch (which) {
    case TextAttribute::kCondition:
    case TextAttribute::kScatter:
    case TextAttribute::kFalseComputation:
      return ReadCallee(1);
    case TextAttribute::kBranchComputations:
    case TextAttribute::kCalledComputations: {
      int slot = static_cast<int>(called_stack_.size() - draft.called);
      return in_.ReadList('{', '}', [&] { return ReadCallee(slot++); });
    }
    default:
      return ReadCallee(0);
  }
}

bool Reader::ReadCallee(int slot) {
  Computation* callee = nullptr;
  if (in_.Peek() == '{') {
    if (!ReadBody({}, &callee)) return false;
    called_stack_.push_back({slot, callee, {}});
    return true;
  }
  std::string_view name = in_.Name();
  if (name.empty()) return in_.Expected("a computation");
  callee = computation_names_.Find(name);
  called_stack_.push_back({slot, callee, name});
  return true;
}

bool Reader::ReadPredecessors(Scope& scope) {
  return in_.ReadList('{', '}', [&] {
    std::string_view name = in_.Name();
    if (name.empty()) return in_.Expected("an instruction");
    Instruction* found = scope.names.Find(name);
    if (found == nullptr) {
      reference_stack_.push_back({predecessor_stack_.size(), true, name, {}, nullptr});
    }
    predecessor_stack_.push_back(found);
    return true;
  });
}

bool Reader::ReadUnknownAttribute(std::string_view name) {
  // The value is everything without space in it, and brackets that follow: `mesh['x'=2] {'x'}`.
  const char* start = in_.at();
  while (true) {
    const char* before = in_.at();
    char next = in_.Here();
    std::string_view ignored;
    if (next == '"' || next == '\'') {
      if (!in_.ReadString(&ignored)) return false;
    } else if (next == '{' || next == '[' || next == '(') {
      if (!in_.SkipBrackets()) return false;
    } else {
      in_.SkipPlain();
    }
    if (in_.at() != before) continue;
    if (next != ' ' || in_.at() == start) break;
    next = in_.Peek();
    if (next == '{' || next == '[' || next == '(') continue;
    in_.MoveTo(before);
    break;
  }
  if (in_.at() == start) return in_.Expected(fmt::format("a value for {}", name));
  attributes_.Push({Field{}, Attribute::Wire::kText, 0,
                    std::string_view(name.data(), static_cast<size_t>(in_.at() - name.data()))});
  return true;
}

bool Reader::CheckAttributes(const Draft& draft) {
  AttributeSet missing = draft.info->required & ~draft.seen;
  if (missing.none()) [[likely]]
    return true;
  size_t first = missing._Find_first();
  return in_.Fail(draft.opcode_word, fmt::format("{} needs the attribute {}", draft.opcode_word,
                                                 Info(static_cast<TextAttribute>(first)).text));
}

}  // namespace eightfold::hlo::text
