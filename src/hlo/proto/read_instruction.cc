#include "hlo/proto/read_instruction.h"

#include <fmt/format.h>

#include <algorithm>

#include "hlo/proto/fields.h"

namespace eightfold::hlo {
namespace {

using wire::Cursor;
using wire::Damage;

// OpMetadata's strings must be UTF-8, else XLA refuses the whole module.
void CheckMetadata(std::string_view message) {
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case 1:   // op_type
      case 2:   // op_name
      case 3:   // source_file
      case 12:  // deduplicated_name
      case 16:  // scheduling_name
        wire::Under([&] { return fmt::format("field {}", cursor.field()); },
                    [&] { cursor.String(); });
        break;
    }
  }
}

void CheckFrontendAttributes(std::string_view message) {
  if (wire::IsAscii(message)) return;
  for (Cursor map(message); map.Next();) {
    if (map.field() != 1) continue;
    for (Cursor entry(map.Message()); entry.Next();) {
      if (entry.field() == 1 || entry.field() == 2) entry.String();
    }
  }
}

wire::Type WireType(FieldKind kind) {
  switch (kind) {
    case FieldKind::kScalar:
      return wire::Type::kVarint;
    case FieldKind::kFloat:
      return wire::Type::kFixed32;
    default:
      return wire::Type::kBytes;
  }
}

Attribute::Wire AttributeWire(wire::Type type) {
  switch (type) {
    case wire::Type::kVarint:
      return Attribute::Wire::kVarint;
    case wire::Type::kFixed64:
      return Attribute::Wire::kFixed64;
    case wire::Type::kFixed32:
      return Attribute::Wire::kFixed32;
    case wire::Type::kBytes:
      break;
  }
  return Attribute::Wire::kBytes;
}

bool MayRepeat(FieldKind kind) {
  return kind == FieldKind::kMessages || kind == FieldKind::kUnknown;
}

}  // namespace

Attribute ToAttribute(const Cursor& cursor) {
  return {Field{cursor.field()}, AttributeWire(cursor.type()),
          cursor.type() == wire::Type::kBytes ? 0 : cursor.scalar(),
          cursor.type() == wire::Type::kBytes ? cursor.bytes() : std::string_view()};
}

void Joined::Clear() {
  view_ = {};
  owned_.clear();
}

void Joined::Append(std::string_view piece) {
  if (IsEmpty()) {
    view_ = piece;
    return;
  }
  if (owned_.empty()) owned_ = view_;
  owned_ += piece;
}

void Joined::AppendInts(const Cursor& cursor) {
  if (cursor.type() == wire::Type::kVarint) {
    if (owned_.empty()) owned_ = view_;
    protozero::add_varint_to_buffer(&owned_, cursor.scalar());
    return;
  }
  cursor.Ints([](int64_t) {});  // every varint must be whole
  Append(cursor.Message());
}

std::string_view Joined::Take(Arena& arena) const {
  return owned_.empty() ? view_ : arena.Copy(std::string_view(owned_));
}

void InstructionReader::Read(std::string_view message, Instruction& to, InstructionLinks& links) {
  for (Joined* part : {&shape_, &metadata_, &called_, &operands_, &control_predecessors_}) {
    part->Clear();
  }
  attributes_.clear();
  tidy_ = true;
  bool has_opcode = false;
  for (Cursor cursor(message); cursor.Next();) {
    has_opcode |= cursor.field() == static_cast<uint32_t>(Field::kOpcode);
    wire::Under([&] { return InstructionFieldName(cursor.field()); },
                [&] { ReadField(cursor, to); });
  }
  if (to.name.empty()) throw Damage("has no name");
  if (!has_opcode) throw Damage("has no opcode");
  if (shape_.IsEmpty()) throw Damage("has no shape");
  Arena& arena = module_.arena;
  to.shape =
      wire::Under([] { return "shape"; }, [&] { return shapes_.Decode(shape_.Take(arena)); });
  to.metadata = metadata_.Take(arena);
  wire::Under([] { return "metadata"; }, [&] { CheckMetadata(to.metadata); });
  links = {operands_.Take(arena), control_predecessors_.Take(arena), called_.Take(arena)};
  if (!tidy_) TidyAttributes();
  to.attributes = arena.Copy(attributes_);
}

void InstructionReader::ReadField(const Cursor& cursor, Instruction& to) {
  switch (Field{cursor.field()}) {
    case Field::kName:
      to.name = cursor.String();
      break;
    case Field::kOpcode:
      to.opcode = ReadOpcode(cursor.Message());
      break;
    case Field::kShape:
      shape_.Append(cursor.Message());
      break;
    case Field::kMetadata:
      metadata_.Append(cursor.Message());
      break;
    case Field::kId:
      to.id = cursor.Int();
      break;
    case Field::kOperandIds:
      operands_.AppendInts(cursor);
      break;
    case Field::kControlPredecessorIds:
      control_predecessors_.AppendInts(cursor);
      break;
    case Field::kCalledComputationIds:
      called_.AppendInts(cursor);
      break;
    case Field::kBackendConfig:
      to.backend_config = cursor.Message();
      break;
    default:
      ReadAttribute(cursor);
  }
}

void InstructionReader::ReadAttribute(const Cursor& cursor) {
  FieldKind kind = InstructionFieldKind(cursor.field());
  if (kind != FieldKind::kUnknown && cursor.type() != WireType(kind)) {
    if (kind != FieldKind::kInts || cursor.type() != wire::Type::kVarint) {
      throw Damage(fmt::format("has wire type {}, must be {}", wire::Name(cursor.type()),
                               wire::Name(WireType(kind))));
    }
    tidy_ = false;  // a list that is not packed
  }
  if (kind == FieldKind::kString) cursor.String();
  auto field = Field{cursor.field()};
  // XLA writes these two even when they say nothing.
  if (field == Field::kFrontendAttributes || field == Field::kStatisticsViz) {
    if (cursor.bytes().empty()) return;
    if (field == Field::kFrontendAttributes) CheckFrontendAttributes(cursor.bytes());
  }
  if (!attributes_.empty()) {
    Field last = attributes_.back().field;
    if (field < last || (field == last && !MayRepeat(kind))) tidy_ = false;
  }
  attributes_.push_back(ToAttribute(cursor));
}

// Groups the attributes by field and gives each known one that may not repeat its usual form, as
// protobuf prescribes: the last scalar or string counts, messages are merged, lists are joined.
void InstructionReader::TidyAttributes() {
  std::ranges::stable_sort(attributes_, {}, [](const Attribute& a) { return a.field; });
  std::vector<Attribute> tidy;
  for (size_t i = 0; i < attributes_.size();) {
    size_t end = i + 1;
    while (end < attributes_.size() && attributes_[end].field == attributes_[i].field) ++end;
    std::span<const Attribute> run(&attributes_[i], end - i);
    FieldKind kind = InstructionFieldKind(static_cast<uint32_t>(run[0].field));
    if (MayRepeat(kind)) {
      tidy.insert(tidy.end(), run.begin(), run.end());
    } else if (kind == FieldKind::kMessage || kind == FieldKind::kInts) {
      tidy.push_back(MergeRun(run, kind == FieldKind::kInts));
    } else {
      tidy.push_back(run.back());
    }
    i = end;
  }
  attributes_.swap(tidy);
}

Attribute InstructionReader::MergeRun(std::span<const Attribute> run, bool as_ints) {
  std::string merged;
  for (const Attribute& part : run) {
    if (as_ints && part.wire == Attribute::Wire::kVarint) {
      protozero::add_varint_to_buffer(&merged, part.scalar);
    } else {
      merged += part.bytes;
    }
  }
  return Attribute::Bytes(run[0].field, module_.arena.Copy(std::string_view(merged)));
}

Opcode InstructionReader::ReadOpcode(std::string_view name) {
  size_t size = name.size();
  auto byte = [&](size_t i) { return static_cast<unsigned char>(name[i]); };
  size_t hash = size == 0 ? 0 : size * 7 + byte(0) * 131 + byte(size / 2) * 31 + byte(size - 1);
  KnownOpcode& known = opcodes_[hash % opcodes_.size()];
  if (known.name == name && size != 0) return known.opcode;
  auto found = FindOpcode(name);
  if (!found) {
    std::string_view near = NearestOpcode(name);
    if (!wire::IsUtf8(name)) throw Damage("is not UTF-8");
    throw Damage(fmt::format("\"{}\" is not an opcode", name),
                 near.empty() ? "" : fmt::format("did you mean {}?", near));
  }
  known = {Name(*found), *found};
  return *found;
}

}  // namespace eightfold::hlo
