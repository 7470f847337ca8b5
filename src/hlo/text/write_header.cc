#include <algorithm>
#include <map>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

using wire::Cursor;

// Fields of HloModuleProto.
constexpr uint32_t kHostProgramShape = 4;
constexpr uint32_t kInputOutputAlias = 8;
constexpr uint32_t kBufferDonor = 18;
constexpr uint32_t kModuleFrontendAttributes = 19;
constexpr uint32_t kRecoveryTable = 20;
// Fields of HloModuleConfigProto.
constexpr uint32_t kConfigEntryLayout = 1;
constexpr uint32_t kAliasPassthroughParams = 17;
constexpr uint32_t kAllowPropagationToOutput = 27;
constexpr uint32_t kAllowPropagationToParameters = 33;

struct Alias {
  std::vector<int64_t> output_index;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  int64_t kind = 0;
};

void Collect(const Cursor& cursor, std::vector<int64_t>& into) {
  cursor.Ints([&](int64_t value) { into.push_back(value); });
}

// All payloads of one field of the module, in order.
std::vector<std::string_view> Payloads(const Module& module, uint32_t field) {
  std::vector<std::string_view> payloads;
  for (const Attribute& attribute : module.attributes) {
    if (attribute.field == Field{field} && attribute.wire == Attribute::Wire::kBytes) {
      payloads.push_back(attribute.bytes);
    }
  }
  return payloads;
}

}  // namespace

const Attribute* Writer::FindConfig(uint32_t field) const {
  auto it = std::ranges::find(module_.config, Field{field}, &Attribute::field);
  return it == module_.config.end() ? nullptr : &*it;
}

void Writer::WriteAliasing() {
  std::vector<Alias> aliases;
  for (std::string_view payload : Payloads(module_, kInputOutputAlias)) {
    for (Cursor entries(payload); entries.Next();) {
      if (entries.field() != 1) continue;
      Alias& alias = aliases.emplace_back();
      for (Cursor entry(entries.Message()); entry.Next();) {
        if (entry.field() == 1) Collect(entry, alias.output_index);
        if (entry.field() == 2) alias.parameter = entry.Int();
        if (entry.field() == 3) Collect(entry, alias.parameter_index);
        if (entry.field() == 4) alias.kind = entry.Int();
      }
    }
  }
  if (aliases.empty()) return;
  std::ranges::stable_sort(aliases, {}, &Alias::output_index);
  out_ += ", input_output_alias={ ";
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (i != 0) out_ += ", ";
    AppendInts(out_, aliases[i].output_index);
    out_ += ": (";
    AppendInt(out_, aliases[i].parameter);
    out_ += ", ";
    AppendInts(out_, aliases[i].parameter_index);
    out_ += aliases[i].kind == 2 ? ", must-alias)" : ", may-alias)";
  }
  out_ += " }";
}

void Writer::WriteDonors() {
  std::vector<std::pair<int64_t, std::vector<int64_t>>> donors;
  for (std::string_view payload : Payloads(module_, kBufferDonor)) {
    for (Cursor entries(payload); entries.Next();) {
      if (entries.field() != 1) continue;
      auto& [parameter, index] = donors.emplace_back();
      for (Cursor entry(entries.Message()); entry.Next();) {
        if (entry.field() == 1) parameter = entry.Int();
        if (entry.field() == 2) Collect(entry, index);
      }
    }
  }
  if (donors.empty()) return;
  std::ranges::sort(donors);
  out_ += ", buffer_donor={ ";
  for (size_t i = 0; i < donors.size(); ++i) {
    if (i != 0) out_ += ", ";
    out_ += '(';
    AppendInt(out_, donors[i].first);
    out_ += ", ";
    AppendInts(out_, donors[i].second);
    out_ += ')';
  }
  out_ += " }";
}

// The config's layout when there is one, as in XLA; else the program shape that stands for it; else
// the entry computation's own shapes.
void Writer::WriteEntryLayout() {
  const Attribute* layout = FindConfig(kConfigEntryLayout);
  if (layout == nullptr) layout = module_.Find(kHostProgramShape);
  std::vector<const Shape*> parameters;
  const Shape* result = nullptr;
  if (layout != nullptr) {
    for (Cursor cursor(layout->bytes); cursor.Next();) {
      if (cursor.field() == 1) parameters.push_back(shape_decoder_.Decode(cursor.Message()));
      if (cursor.field() == 2) result = shape_decoder_.Decode(cursor.Message());
    }
  }
  if (result == nullptr && module_.entry != nullptr && module_.entry->root != nullptr) {
    parameters.clear();
    for (const Instruction* parameter : module_.entry->parameters) {
      if (parameter != nullptr) parameters.push_back(parameter->shape);
    }
    result = module_.entry->root->shape;
  }
  if (result == nullptr) return;
  out_ += ", entry_computation_layout={(";
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i != 0) out_ += ", ";
    if (i != 0 && i % 5 == 0) {
      out_ += "/*index=";
      AppendInt(out_, static_cast<int64_t>(i));
      out_ += "*/";
    }
    hlo::AppendShape(out_, *parameters[i], /*with_layout=*/true);
  }
  out_ += ")->";
  hlo::AppendShape(out_, *result, /*with_layout=*/true);
  out_ += '}';
}

void Writer::WriteBools(std::string_view name, uint32_t config_field) {
  std::vector<bool> flags;
  for (const Attribute& attribute : module_.config) {
    if (attribute.field != Field{config_field}) continue;
    if (attribute.wire == Attribute::Wire::kVarint) flags.push_back(attribute.scalar != 0);
    for (char flag : attribute.bytes) flags.push_back(flag != 0);
  }
  // One `false` is the default.
  if (flags.empty() || (flags.size() == 1 && !flags[0])) return;
  Begin(name);
  char before = '{';
  for (bool flag : flags) {
    (out_ += before) += flag ? "true" : "false";
    before = ',';
  }
  out_ += '}';
}

void Writer::WriteFrontendAttributes(std::string_view wire) {
  // Sorted by key, and the last of several with one key: what XLA's map does.
  std::map<std::string_view, std::string_view> values;
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() != 1) continue;
    std::string_view key;
    std::string_view value;
    for (Cursor entry(cursor.Message()); entry.Next();) {
      if (entry.field() == 1) key = entry.Message();
      if (entry.field() == 2) value = entry.Message();
    }
    values[key] = value;
  }
  if (values.empty()) return;
  Begin("frontend_attributes");
  char before = '{';
  for (const auto& [key, value] : values) {
    ((out_ += before) += key) += '=';
    AppendRawOrQuoted(out_, value);
    before = ',';
  }
  out_ += '}';
}

void Writer::WriteHeader() {
  (out_ += "HloModule ") += module_.name.empty() ? "module" : module_.name;
  if (module_.is_scheduled) out_ += ", is_scheduled=true";
  const Attribute* passthrough = FindConfig(kAliasPassthroughParams);
  if (passthrough != nullptr && passthrough->scalar != 0) out_ += ", alias_passthrough_params=true";
  WriteAliasing();
  WriteDonors();
  WriteEntryLayout();
  WriteBools("allow_spmd_sharding_propagation_to_parameters", kAllowPropagationToParameters);
  WriteBools("allow_spmd_sharding_propagation_to_output", kAllowPropagationToOutput);
  if (module_.replica_count != 1) {
    Begin("replica_count");
    AppendInt(out_, module_.replica_count);
  }
  if (module_.num_partitions != 1) {
    Begin("num_partitions");
    AppendInt(out_, module_.num_partitions);
  }
  for (std::string_view payload : Payloads(module_, kModuleFrontendAttributes)) {
    WriteFrontendAttributes(payload);
  }
  for (const Attribute& attribute : module_.attributes) {
    if (attribute.wire == Attribute::Wire::kText) (out_ += ", ") += attribute.bytes;
    if (attribute.field == Field{kRecoveryTable} && attribute.wire == Attribute::Wire::kBytes) {
      WriteRecoveryTable(attribute.bytes);
    }
  }
  out_ += "\n\n";
  if (options_.metadata) metadata_.AppendTables(out_);
}

}  // namespace eightfold::hlo::text
