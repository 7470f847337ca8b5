#include "hlo/proto/detect.h"

#include <algorithm>

#include "hlo/proto/fields.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

// The length-delimited fields of a message as far as it can be read: a last one that is longer than
// the message is cut there. `visit(field, bytes)` returns true to stop; so does the walk.
template <class Visit>
bool AnyBytesField(std::string_view message, Visit visit) {
  const char* at = message.data();
  const char* end = at + message.size();
  try {
    while (at != end) {
      const char* start = at;
      uint64_t tag = wire::Varint(at, end);
      if (static_cast<wire::Type>(tag & 7) == wire::Type::kBytes) {
        uint64_t length = wire::Varint(at, end);
        length = std::min(length, static_cast<uint64_t>(end - at));
        if (visit(tag >> 3, std::string_view(at, static_cast<size_t>(length)))) return true;
        at += length;
        continue;
      }
      wire::Cursor other({start, static_cast<size_t>(end - start)});
      other.Next();
      at = start + other.raw().size();
    }
  } catch (const wire::Damage&) {
    return false;
  }
  return false;
}

bool IsSpelledLikeOpcode(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool LooksLikeInstruction(std::string_view message) {
  bool has_name = false;
  return AnyBytesField(message, [&](uint64_t field, std::string_view bytes) {
    if (field == 1) has_name = true;
    return field == 2 && has_name && IsSpelledLikeOpcode(bytes);
  });
}

bool LooksLikeModule(std::string_view message) {
  return AnyBytesField(message, [](uint64_t field, std::string_view computation) {
    return field == module_field::kComputations &&
           AnyBytesField(computation, [](uint64_t inner, std::string_view instruction) {
             return inner == computation_field::kInstructions && LooksLikeInstruction(instruction);
           });
  });
}

}  // namespace

std::optional<ProtoKind> DetectProto(std::string_view bytes) {
  if (LooksLikeModule(bytes)) return ProtoKind::kModule;
  bool has_module = false;
  bool has_config = false;
  bool has_buffers = false;
  AnyBytesField(bytes, [&](uint64_t field, std::string_view message) {
    has_module |= field == outer_field::kModule && LooksLikeModule(message);
    has_config |= field == outer_field::kConfig;
    has_buffers |= field == outer_field::kBufferAssignment;
    return false;
  });
  if (!has_module) return std::nullopt;
  return has_config && !has_buffers ? ProtoKind::kModuleWithConfig : ProtoKind::kHloProto;
}

}  // namespace eightfold::hlo
