#include <fmt/format.h>

#include "hlo/text/attribute_reader.h"

namespace eightfold::hlo::text {
namespace {

struct Key {
  std::string_view name;
  uint32_t field;  // of OpMetadata
  enum class Kind : uint8_t { kString, kInt, kProfileType, kPayload } kind = Kind::kString;
};

constexpr Key kKeys[] = {
    {"op_name", 2},
    {"stack_frame_id", 15, Key::Kind::kInt},
    {"source_file", 3},
    {"source_line", 4, Key::Kind::kInt},
    {"op_type", 1},
    {"source_end_line", 17, Key::Kind::kInt},
    {"source_column", 18, Key::Kind::kInt},
    {"source_end_column", 19, Key::Kind::kInt},
    {"deduplicated_name", 12},
    {"scheduling_name", 16},
    {"profile_type", 5, Key::Kind::kProfileType},
    {"metadata_payload", 20, Key::Kind::kPayload},
    {"size_of_generated_code_in_bytes", 8, Key::Kind::kInt},
    {"size_of_memory_working_set_in_bytes", 9, Key::Kind::kInt},
};

// Most of a module's text is metadata, so these are written in one piece each.
char* PutVarint(char* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

void AppendString(std::string* wire, uint32_t field, std::string_view value) {
  char head[20];
  char* to = PutVarint(PutVarint(head, field << 3 | 2), value.size());
  wire->append(head, to);
  wire->append(value);
}

void AppendInt(std::string* wire, uint32_t field, int32_t value) {
  char bytes[20];
  char* to =
      PutVarint(PutVarint(bytes, field << 3), static_cast<uint64_t>(static_cast<int64_t>(value)));
  wire->append(bytes, to);
}

bool ReadValue(Scanner& in, const Key& key, std::string* wire) {
  std::string_view text;
  switch (key.kind) {
    case Key::Kind::kString:
      if (!in.ReadString(&text)) return false;
      if (!text.empty()) AppendString(wire, key.field, text);
      return true;
    case Key::Kind::kInt: {
      int32_t number = 0;
      if (!in.ReadInt32(&number)) return false;
      if (number != 0) AppendInt(wire, key.field, number);
      return true;
    }
    case Key::Kind::kProfileType: {
      std::vector<int64_t> types;
      if (!in.ReadInts(&types)) return false;
      AppendPacked(wire, key.field, types);
      return true;
    }
    case Key::Kind::kPayload: {
      if (!in.ReadString(&text)) return false;
      std::string payload;
      AppendString(&payload, 1, text);
      AppendString(wire, key.field, payload);
      return true;
    }
  }
  return false;
}

}  // namespace

bool ReadMetadata(Scanner& in, std::string* wire) {
  if (!in.Expect('{')) return false;
  uint32_t seen = 0;
  while (!in.Accept('}')) {
    std::string_view name;
    if (!in.ReadWord(&name, "op_name, source_file …")) return false;
    size_t i = 0;
    while (i < std::size(kKeys) && kKeys[i].name != name) ++i;
    if (i == std::size(kKeys)) {
      std::vector<std::string_view> known;
      for (const Key& key : kKeys) known.push_back(key.name);
      std::string_view nearest = Nearest(name, known);
      return in.Fail(name, fmt::format("metadata has no {}", name),
                     nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
    }
    if ((seen >> i & 1) != 0) return in.Fail(name, fmt::format("{} is given twice", name));
    seen |= 1u << i;
    if (!in.Expect('=') || !ReadValue(in, kKeys[i], wire)) return false;
    in.Accept(',');
  }
  return true;
}

}  // namespace eightfold::hlo::text
