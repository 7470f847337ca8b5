#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "hlo/shape_codec.h"
#include "hlo/text/reader.h"

namespace eightfold::hlo::text {

bool Compatible(const Shape& a, const Shape& b) {
  if (a.bare == b.bare) return true;
  std::vector<std::pair<const Shape*, const Shape*>> pending = {{&a, &b}};
  while (!pending.empty()) {
    auto [x, y] = pending.back();
    pending.pop_back();
    if (x->type != y->type || !std::ranges::equal(x->dims, y->dims) ||
        x->tuple.size() != y->tuple.size()) {
      return false;
    }
    for (size_t i = 0; i < x->tuple.size(); ++i) pending.emplace_back(x->tuple[i], y->tuple[i]);
  }
  return true;
}

std::string_view ComparisonType(PrimitiveType type) {
  if (IsSigned(type)) return "SIGNED";
  return IsUnsigned(type) || type == PrimitiveType::kPred ? "UNSIGNED" : "FLOAT";
}

bool Reader::Build(Scope& scope, Draft& draft, Instruction** made) {
  auto* instruction = module_.arena.New<Instruction>();
  *made = instruction;
  instruction->name = draft.name;
  instruction->opcode = draft.opcode;
  instruction->shape = draft.shape;
  instruction->metadata = draft.metadata;
  instruction->backend_config = draft.backend_config;
  infer_ |= draft.shape == nullptr;
  if (draft.opcode == Opcode::kFusion) fusions_.push_back(instruction);
  TakeReferences(scope, draft, instruction);
  if (!draft.wrapped) {
    if (draft.opcode == Opcode::kCompare || draft.opcode == Opcode::kOutfeed) {
      AddOperandDefault(draft, instruction);
    }
    attributes_.AddDefaults(draft.opcode, draft.attributes, instruction->operands.size(),
                            draft.seen);
    TakeCalled(draft, instruction);
  } else if (draft.opcode == Opcode::kAsyncStart && !BuildWrapped(draft, instruction)) {
    return false;
  }
  if (!draft.thread.empty()) {
    attributes_.Push(Attribute::Bytes(Field::kAsyncExecutionThread, draft.thread));
  }
  instruction->attributes = attributes_.Take(draft.attributes);
  scope.instructions.push_back(instruction);
  if (draft.name.empty()) {
    // Its name is made up at the end, from this.
    instruction->name = draft.opcode_word;
    scope.anonymous.push_back(instruction);
    return true;
  }
  uint64_t hash = HashBytes(draft.name);
  name_hashes_.push_back(hash);
  if (const Instruction* other = scope.names.Add(instruction, hash); other != nullptr) {
    Location before = Locate(module_, other->name);
    return in_.Fail(draft.name, fmt::format("%{} is defined twice in this computation", draft.name),
                    fmt::format("the other one is in line {}", before.line));
  }
  return true;
}

void Reader::TakeReferences(Scope& scope, const Draft& draft, Instruction* user) {
  auto take = [this](std::vector<Instruction*>& stack, size_t from) {
    std::span<Instruction* const> top(stack.data() + from, stack.size() - from);
    std::span<Instruction*> taken = module_.arena.Copy(top);
    stack.resize(from);
    return taken;
  };
  user->operands = take(operand_stack_, draft.operands);
  user->control_predecessors = take(predecessor_stack_, draft.predecessors);
  for (size_t i = draft.references; i < reference_stack_.size(); ++i) {
    const Reference& reference = reference_stack_[i];
    Instruction** slot = reference.is_predecessor
                             ? &user->control_predecessors[reference.index - draft.predecessors]
                             : &user->operands[reference.index - draft.operands];
    scope.pending.push_back(
        {slot, user, reference.name, reference.declared_text, reference.declared});
  }
  reference_stack_.resize(draft.references);
}

void Reader::TakeCalled(const Draft& draft, Instruction* user) {
  auto first = called_stack_.begin() + static_cast<ptrdiff_t>(draft.called);
  if (first == called_stack_.end()) return;
  std::stable_sort(first, called_stack_.end(),
                   [](const CalledRef& a, const CalledRef& b) { return a.slot < b.slot; });
  user->called =
      module_.arena.NewArray<Computation*>(static_cast<size_t>(called_stack_.end() - first));
  for (size_t i = 0; i < user->called.size(); ++i) {
    const CalledRef& called = first[static_cast<ptrdiff_t>(i)];
    user->called[i] = called.computation;
    if (called.computation == nullptr) {
      pending_computations_.push_back({&user->called[i], called.name});
    }
  }
  called_stack_.erase(first, called_stack_.end());
}

// `X-start(operands), attributes` is an async-start of a computation made for it: parameters, and X
// with the attributes of X.
bool Reader::BuildWrapped(Draft& draft, Instruction* start) {
  Arena& arena = module_.arena;
  const Shape* shape = start->shape;
  size_t operands = start->operands.size();
  if (shape == nullptr || !shape->IsTuple() || shape->tuple.size() < 2 ||
      !shape->tuple[0]->IsTuple() || shape->tuple[0]->tuple.size() != operands) {
    return in_.Fail(
        draft.opcode_word,
        fmt::format("the shape of {} must be a tuple of operands and result", draft.opcode_word),
        "for example ((f32[4]), f32[8], s32[])");
  }
  auto* root = arena.New<Instruction>();
  root->name = Name(*draft.wrapped);
  root->opcode = *draft.wrapped;
  root->shape = shape->tuple[1];
  root->backend_config = draft.backend_config;
  attributes_.AddDefaults(root->opcode, draft.attributes, operands, draft.seen);
  std::vector<Attribute> common = attributes_.TakeCommon(draft.attributes);
  root->attributes = attributes_.Take(draft.attributes);
  for (const Attribute& attribute : common) attributes_.Push(attribute);
  TakeCalled(draft, root);

  auto* computation = arena.New<Computation>();
  computation->root = root;
  computation->execution_thread = draft.thread == "main" ? std::string_view() : draft.thread;
  computation->instructions = arena.NewArray<Instruction*>(operands + 1);
  root->operands = arena.NewArray<Instruction*>(operands);
  for (size_t i = 0; i < operands; ++i) {
    auto* parameter = arena.New<Instruction>();
    parameter->name = i == 0 ? "async_param" : arena.Copy(fmt::format("async_param.{}", i));
    parameter->opcode = Opcode::kParameter;
    parameter->shape = shape->tuple[0]->tuple[i];
    if (i != 0) {
      Attribute number = Attribute::Varint(Field::kParameterNumber, i);
      parameter->attributes = arena.Copy(std::span<const Attribute>(&number, 1));
    }
    computation->instructions[i] = root->operands[i] = parameter;
  }
  computation->instructions[operands] = root;
  for (const Instruction* instruction : computation->instructions) {
    name_hashes_.push_back(HashBytes(instruction->name));
  }
  FinishInstructions(module_, *computation);
  computations_.push_back(computation);
  wrapped_computations_.push_back(computation);
  start->called = arena.NewArray<Computation*>(1);
  start->called[0] = computation;
  return true;
}

// The attributes that follow from the first operand's shape, which may not be known yet: then they
// stay empty until the module ends.
void Reader::AddOperandDefault(const Draft& draft, Instruction* user) {
  Field field = draft.opcode == Opcode::kCompare ? Field::kComparisonType : Field::kOutfeedShape;
  if (attributes_.Has(field, draft.attributes) || user->operands.empty()) return;
  const Instruction* operand = user->operands[0];
  bool known = operand != nullptr && operand->shape != nullptr;
  attributes_.Push(
      Attribute::Bytes(field, known ? OperandDefault(field, *operand->shape) : std::string_view()));
  if (!known) operand_defaults_.push_back(user);
}

std::string_view Reader::OperandDefault(Field field, const Shape& operand) {
  if (field == Field::kComparisonType) return ComparisonType(operand.type);
  return module_.arena.Copy(std::string_view(EncodeShape(operand)));
}

void Reader::FillOperandDefaults() {
  for (Instruction* user : operand_defaults_) {
    for (Attribute& attribute : user->attributes) {
      bool is_default =
          attribute.field == Field::kComparisonType || attribute.field == Field::kOutfeedShape;
      if (!is_default) continue;
      attribute.bytes = OperandDefault(attribute.field, *user->operands[0]->shape);
    }
  }
}

bool Reader::CheckDeclared(const Instruction& operand, const Shape& declared,
                           std::string_view where) {
  if (operand.shape == nullptr) {
    declared_shapes_.push_back({&operand, &declared, where});
    return true;
  }
  if (operand.shape->bare == declared.bare) [[likely]]
    return true;
  if (Compatible(*operand.shape, declared)) return true;
  return in_.Fail(where, fmt::format("%{} has the shape {}, not {}", operand.name,
                                     ToString(*operand.shape, false), ToString(declared, false)));
}

}  // namespace eightfold::hlo::text
