#ifndef EIGHTFOLD_HLO_WIRE_H_
#define EIGHTFOLD_HLO_WIRE_H_

#include <cstdint>
#include <cstring>
#include <exception>
#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>
#include <utility>

// Walking over protobuf messages in wire form, for the code that decodes them. Varints are
// protozero's; the field loop is our own because lengths above 4 GB, groups and bad field numbers
// must be errors and because unknown fields are kept as the bytes they were.
namespace eightfold::hlo::wire {

// Wire types of protobuf; the two group types are refused.
enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Bytes that are not the message they should be. Thrown and caught inside a decoder: public
// functions turn it into an Error or an `ok` flag.
class Damage : public std::exception {
 public:
  explicit Damage(std::string what, std::string next = {})
      : what_(std::move(what)), next_(std::move(next)) {}
  const char* what() const noexcept override { return what_.c_str(); }
  // Advice, as in Error.
  const std::string& next() const { return next_; }
  // Field path from the message that was being read inwards, e.g. "layout.minor_to_major".
  const std::string& path() const { return path_; }
  // Called by each level that the exception passes on its way out.
  void Prepend(const std::string& step) {
    bool is_plain = path_.empty() || path_[0] == '[';
    path_ = step + (is_plain ? "" : ".") + path_;
  }

 private:
  std::string what_;
  std::string next_;
  std::string path_;
};

[[noreturn]] void ThrowTruncated();
[[noreturn]] void ThrowBadVarint();

// Decodes a varint at `at` and moves it behind.
inline uint64_t Varint(const char*& at, const char* end) {
  if (at != end && static_cast<signed char>(*at) >= 0) return static_cast<uint64_t>(*at++);
  try {
    return protozero::decode_varint(&at, end);
  } catch (const protozero::end_of_buffer_exception&) {
    ThrowTruncated();
  } catch (const protozero::exception&) {
    ThrowBadVarint();
  }
}

// The fields of one message, in the order they are in. Throws Damage.
class Cursor {
 public:
  explicit Cursor(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  // Moves to the next field; false behind the last one.
  bool Next() {
    if (at_ == end_) return false;
    start_ = at_;
    uint64_t tag = Varint(at_, end_);
    field_ = static_cast<uint32_t>(tag >> 3);
    if (tag >> 32 != 0 || field_ == 0 || field_ > kLargestField) ThrowBadField(tag >> 3);
    type_ = static_cast<Type>(tag & 7);
    switch (type_) {
      case Type::kVarint:
        scalar_ = Varint(at_, end_);
        break;
      case Type::kBytes: {
        uint64_t length = Varint(at_, end_);
        if (length > static_cast<uint64_t>(end_ - at_)) ThrowBadLength(length);
        bytes_ = {at_, static_cast<size_t>(length)};
        at_ += length;
        break;
      }
      case Type::kFixed64:
        scalar_ = Fixed<uint64_t>();
        break;
      case Type::kFixed32:
        scalar_ = Fixed<uint32_t>();
        break;
      default:
        ThrowBadType(static_cast<int>(type_));
    }
    return true;
  }

  uint32_t field() const { return field_; }
  Type type() const { return type_; }
  // Unchecked values, for callers that look at type() themselves.
  uint64_t scalar() const { return scalar_; }
  std::string_view bytes() const { return bytes_; }
  // Tag and value as they stand in the message.
  std::string_view raw() const { return {start_, static_cast<size_t>(at_ - start_)}; }

  // Values whose wire type must be right.
  int64_t Int() const {
    if (type_ != Type::kVarint) ThrowWrongType(Type::kVarint);
    return static_cast<int64_t>(scalar_);
  }
  std::string_view Message() const {
    if (type_ != Type::kBytes) ThrowWrongType(Type::kBytes);
    return bytes_;
  }
  // A proto3 string: must be UTF-8.
  std::string_view String() const;
  // Calls `visit(int64_t)` for the values of a repeated integer field, packed or not.
  template <class Visit>
  void Ints(Visit visit) const {
    if (type_ == Type::kVarint) return visit(static_cast<int64_t>(scalar_));
    if (type_ != Type::kBytes) ThrowWrongType(Type::kBytes);
    const char* at = bytes_.data();
    const char* end = at + bytes_.size();
    while (at != end) visit(static_cast<int64_t>(Varint(at, end)));
  }

 private:
  static constexpr uint32_t kLargestField = (uint32_t{1} << 29) - 1;

  template <class T>
  T Fixed() {
    if (end_ - at_ < static_cast<ptrdiff_t>(sizeof(T))) ThrowTruncated();
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  [[noreturn]] static void ThrowBadField(uint64_t field);
  [[noreturn]] static void ThrowBadType(int type);
  [[noreturn]] void ThrowBadLength(uint64_t length) const;
  [[noreturn]] void ThrowWrongType(Type wanted) const;

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;
  uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  uint64_t scalar_ = 0;
  std::string_view bytes_;
};

// Runs `body`; a Damage that passes through gets `step()` in front of its path.
template <class Step, class Body>
decltype(auto) Under(Step step, Body body) {
  try {
    return body();
  } catch (Damage& damage) {
    damage.Prepend(step());
    throw;
  }
}

bool IsUtf8(std::string_view text);
bool IsAscii(std::string_view text);
// "varint", "length-delimited" …
std::string_view Name(Type type);

// How many values a packed list has.
inline size_t CountInts(std::string_view packed) {
  size_t count = 0;
  for (char c : packed) count += static_cast<signed char>(c) >= 0;
  return count;
}

// The wire form of a packed list.
template <class Range>
std::string PackInts(const Range& values) {
  std::string out;
  for (auto value : values) {
    protozero::add_varint_to_buffer(&out, static_cast<uint64_t>(value));
  }
  return out;
}

}  // namespace eightfold::hlo::wire

#endif  // EIGHTFOLD_HLO_WIRE_H_
