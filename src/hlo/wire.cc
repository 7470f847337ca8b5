#include "hlo/wire.h"

#include <fmt/format.h>

namespace eightfold::hlo::wire {

void ThrowTruncated() { throw Damage("ends in the middle of a value"); }

void ThrowBadVarint() { throw Damage("a varint is longer than 10 bytes"); }

void Cursor::ThrowBadField(uint64_t field) {
  throw Damage(fmt::format("field number {} is impossible", field));
}

void Cursor::ThrowBadType(int type) {
  if (type == 3 || type == 4) throw Damage("has a group, which XLA never writes");
  throw Damage(fmt::format("wire type {} does not exist", type));
}

void Cursor::ThrowBadLength(uint64_t length) const {
  throw Damage(fmt::format("field {} says it is {} bytes long, but only {} are left", field_,
                           length, end_ - at_));
}

void Cursor::ThrowWrongType(Type wanted) const {
  throw Damage(fmt::format("has wire type {}, must be {}", Name(type_), Name(wanted)));
}

std::string_view Cursor::String() const {
  std::string_view text = Message();
  if (!IsUtf8(text)) throw Damage("is not UTF-8");
  return text;
}

bool IsAscii(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  uint64_t seen = 0;
  for (; end - at >= 8; at += 8) {
    uint64_t eight;
    std::memcpy(&eight, at, 8);
    seen |= eight;
  }
  for (; at != end; ++at) seen |= static_cast<uint64_t>(static_cast<unsigned char>(*at));
  return (seen & 0x8080808080808080u) == 0;
}

bool IsUtf8(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    uint64_t eight = 0;
    while (end - at >= 8) {
      std::memcpy(&eight, at, 8);
      if ((eight & 0x8080808080808080u) != 0) break;
      at += 8;
    }
    if (at == end) break;
    auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
    if (byte(0) < 0x80) {
      ++at;
      continue;
    }
    int length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
    if (byte(0) < 0xC2 || byte(0) > 0xF4 || end - at < length) return false;
    for (int i = 1; i < length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    // Overlong forms, surrogates and code points above U+10FFFF.
    if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
        (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F)) {
      return false;
    }
    at += length;
  }
  return true;
}

std::string_view Name(Type type) {
  switch (type) {
    case Type::kVarint:
      return "varint";
    case Type::kFixed64:
      return "64-bit";
    case Type::kBytes:
      return "length-delimited";
    case Type::kFixed32:
      return "32-bit";
  }
  return "unknown";
}

}  // namespace eightfold::hlo::wire
