#include <fmt/format.h>

#include "hlo/proto/proto.h"
#include "hlo/text/reader.h"

namespace eightfold::hlo::text {

using protozero::pbf_writer;

namespace {

constexpr Field kRecoveryTable{20};

}  // namespace

// OriginalArrayProto: `{"o2" {1,2}}`, or `{}` for none.
bool Reader::ReadOriginalArray(std::string* wire) {
  std::string_view name;
  std::vector<int64_t> index;
  if (!in_.Expect('{')) return false;
  if (in_.Accept('}')) return true;
  if (!in_.ReadString(&name)) return false;
  if (!name.empty()) pbf_writer(*wire).add_string(1, name.data(), name.size());
  if (in_.Peek() == '{' && !in_.ReadInts(&index)) return false;
  AppendPacked(wire, 2, index);
  return in_.Expect('}');
}

// The module that the string `quoted` holds as text, as HloModuleProto. XLA puts the quotes of that
// text into the string unescaped, so that only modules without quotes can be read again.
bool Reader::ReadRecoveryModule(std::string_view quoted, std::string* wire) {
  const char* start = in_.at();
  if (recovery_depth_ == kDeepestRecovery) {
    return in_.Fail(start, 1, "recovery modules nest too deep");
  }
  auto source = Source::FromBytes("recovery module", std::string(quoted));
  Module module;
  Reader reader(*source, module, recovery_depth_ + 1);
  module.source = source;
  auto located = [&](const Error& error) {
    return in_.Fail(start - 1, 1,
                    fmt::format("the recovery module that ends here cannot be read: line {}: {}",
                                error.where.line, error.what),
                    error.next);
  };
  if (!reader.Read()) return located(reader.TakeError());
  auto proto = WriteProto(module);
  if (!proto) return located(proto.error());
  *wire = *std::move(proto);
  return true;
}

bool Reader::ReadRecoveryTable() {
  std::string table;
  if (!in_.Expect('{')) return false;
  while (!in_.Accept('}')) {
    std::string entry, old_array, new_array, module;
    std::string_view text;
    if (!ReadOriginalArray(&old_array) || !in_.Expect(':') || !ReadOriginalArray(&new_array) ||
        !in_.Expect(',') || !in_.ReadString(&text)) {
      return false;
    }
    if (!text.empty() && !ReadRecoveryModule(text, &module)) return false;
    pbf_writer writer(entry);
    if (!old_array.empty()) writer.add_message(1, old_array);
    if (!new_array.empty()) writer.add_message(2, new_array);
    if (!text.empty()) writer.add_message(3, module);
    pbf_writer(table).add_message(1, entry);
    in_.Accept(',');
  }
  module_.attributes.push_back(
      Attribute::Bytes(kRecoveryTable, module_.arena.Copy(std::string_view(table))));
  return true;
}

}  // namespace eightfold::hlo::text
