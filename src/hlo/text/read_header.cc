#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hlo/shape_codec.h"
#include "hlo/text/reader.h"

namespace eightfold::hlo::text {

using protozero::pbf_writer;

namespace {

// Fields of HloModuleProto and HloModuleConfigProto.
constexpr Field kHostProgramShape{4}, kInputOutputAlias{8}, kStackFrameIndex{17}, kBufferDonor{18},
    kModuleFrontendAttributes{19};
constexpr Field kEntryLayout{1}, kAliasPassthrough{17};
constexpr std::array<std::string_view, 4> kSections = {"FileNames", "FunctionNames",
                                                       "FileLocations", "StackFrames"};
constexpr uint32_t kAllowToOutput = 27, kAllowToParameters = 33;

}  // namespace

bool Reader::ReadHeader() {
  std::string_view name = in_.Name();
  if (name.empty()) return in_.Expected("the module's name");
  module_.name = name;
  while (in_.Accept(',')) {
    std::string_view attribute = in_.Word();
    if (attribute.empty() || in_.Here() != '=') {
      return in_.Expected("an attribute of the module as name=value");
    }
    in_.MoveTo(in_.at() + 1);
    if (!ReadHeaderAttribute(attribute)) return false;
  }
  return true;
}

bool Reader::ReadHeaderAttribute(std::string_view name) {
  auto add = [this](Field field, std::string_view wire) {
    module_.attributes.push_back(Attribute::Bytes(field, wire));
    return true;
  };
  if (name == "is_scheduled") return in_.ReadBool(&module_.is_scheduled);
  if (name == "entry_computation_layout") return ReadEntryLayout();
  if (name == "input_output_alias") return ReadAliasing();
  if (name == "buffer_donor") return ReadBufferDonors();
  if (name == "frontend_attributes") {
    std::string_view wire;
    return attributes_.ReadFrontendAttributes(&wire) && add(kModuleFrontendAttributes, wire);
  }
  if (name == "replica_count" || name == "num_partitions") {
    module_.has_config = true;
    return in_.ReadInt(name == "replica_count" ? &module_.replica_count : &module_.num_partitions);
  }
  if (name == "alias_passthrough_params") {
    bool value = false;
    if (!in_.ReadBool(&value)) return false;
    module_.has_config = true;
    if (value) module_.config.push_back(Attribute::Varint(kAliasPassthrough, 1));
    return true;
  }
  if (name == "allow_spmd_sharding_propagation_to_output") return ReadHeaderBools(kAllowToOutput);
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return ReadHeaderBools(kAllowToParameters);
  }
  if (name == "origin_recovery_table") return ReadRecoveryTable();
  // Newer versions will have more: kept as it is.
  const char* start = in_.at();
  char first = in_.Peek();
  std::string_view ignored;
  if (first == '{' || first == '[' || first == '(') {
    if (!in_.SkipBrackets()) return false;
  } else if (first == '"' || first == '\'') {
    if (!in_.ReadString(&ignored)) return false;
  } else {
    in_.SkipPlain();
  }
  if (in_.at() == start) return in_.Expected(fmt::format("a value for {}", name));
  std::string_view verbatim(name.data(), static_cast<size_t>(in_.at() - name.data()));
  module_.attributes.push_back({Field{}, Attribute::Wire::kText, 0, verbatim});
  return true;
}

bool Reader::ReadEntryLayout() {
  std::vector<const Shape*> parameters;
  const Shape* result = nullptr;
  if (!in_.Expect('{') ||
      !in_.ReadList('(', ')', [&] { return shapes_.Read(&parameters.emplace_back()); })) {
    return false;
  }
  if (!in_.AcceptText("->")) return in_.Expected("`->` and the result");
  if (!shapes_.Read(&result)) return false;
  std::string_view layout = ProgramShape(parameters, *result);
  module_.has_config = true;
  module_.config.push_back(Attribute::Bytes(kEntryLayout, layout));
  module_.attributes.push_back(Attribute::Bytes(kHostProgramShape, layout));
  return in_.Expect('}');
}

// ProgramShapeProto. XLA wants a name for every parameter and calls them p0, p1 … itself.
std::string_view Reader::ProgramShape(std::span<const Shape* const> parameters,
                                      const Shape& result) {
  std::string wire;
  pbf_writer writer(wire);
  for (const Shape* parameter : parameters) writer.add_message(1, EncodeShape(*parameter));
  writer.add_message(2, EncodeShape(result));
  for (size_t i = 0; i < parameters.size(); ++i) writer.add_string(3, fmt::format("p{}", i));
  return module_.arena.Copy(std::string_view(wire));
}

bool Reader::ReadHeaderBools(uint32_t config_field) {
  std::string flags;
  if (!in_.ReadList('{', '}', [&] {
        bool value = false;
        if (!in_.ReadBool(&value)) return false;
        flags.push_back(value ? 1 : 0);
        return true;
      })) {
    return false;
  }
  module_.has_config = true;
  module_.config.push_back(
      Attribute::Bytes(Field{config_field}, module_.arena.Copy(std::string_view(flags))));
  return true;
}

bool Reader::ReadAliasing() {
  std::string wire;
  if (!in_.ReadList('{', '}', [&] {
        in_.SkipSpace();
        const char* start = in_.at();
        std::vector<int64_t> output, index;
        int64_t parameter = 0;
        if (!in_.ReadInts(&output) || !in_.Expect(':') || !in_.Expect('(') ||
            !in_.ReadInt(&parameter) || !in_.Expect(',') || !in_.ReadInts(&index)) {
          return false;
        }
        aliases_.push_back(
            {{start, static_cast<size_t>(in_.at() - start)}, output, index, parameter});
        bool must = false;
        if (in_.Accept(',')) {
          must = in_.AcceptWord("must-alias");
          if (!must && !in_.AcceptWord("may-alias")) {
            return in_.Expected("may-alias or must-alias");
          }
        }
        std::string entry;
        AppendPacked(&entry, 1, output);
        if (parameter != 0) pbf_writer(entry).add_int64(2, parameter);
        AppendPacked(&entry, 3, index);
        pbf_writer(entry).add_enum(4, must ? 2 : 1);
        pbf_writer(wire).add_message(1, entry);
        return in_.Expect(')');
      })) {
    return false;
  }
  module_.attributes.push_back(
      Attribute::Bytes(kInputOutputAlias, module_.arena.Copy(std::string_view(wire))));
  return true;
}

bool Reader::CheckAliasing() {
  auto has = [](const Shape* shape, const std::vector<int64_t>& index) {
    for (int64_t i : index) {
      if (static_cast<uint64_t>(i) >= shape->tuple.size()) return false;
      shape = shape->tuple[static_cast<size_t>(i)];
    }
    return true;
  };
  const Computation& entry = *module_.entry;
  for (const Alias& alias : aliases_) {
    auto number = static_cast<size_t>(alias.parameter);
    if (!has(entry.root->shape, alias.output)) {
      return in_.Fail(alias.where, fmt::format("the result of %{} is {}, which has no {{{}}}",
                                               entry.name, ToString(*entry.root->shape, false),
                                               fmt::join(alias.output, ",")));
    }
    if (number >= entry.parameters.size() ||
        !has(entry.parameters[number]->shape, alias.parameter_index)) {
      return in_.Fail(alias.where,
                      fmt::format("%{} has no parameter ({}, {{{}}})", entry.name, alias.parameter,
                                  fmt::join(alias.parameter_index, ",")));
    }
  }
  return true;
}

bool Reader::ReadBufferDonors() {
  std::string wire;
  if (!in_.ReadList('{', '}', [&] {
        std::vector<int64_t> index;
        int64_t parameter = 0;
        if (!in_.Expect('(') || !in_.ReadInt(&parameter) || !in_.Expect(',') ||
            !in_.ReadInts(&index)) {
          return false;
        }
        std::string entry;
        if (parameter != 0) pbf_writer(entry).add_int64(1, parameter);
        AppendPacked(&entry, 2, index);
        pbf_writer(wire).add_message(1, entry);
        return in_.Expect(')');
      })) {
    return false;
  }
  module_.attributes.push_back(
      Attribute::Bytes(kBufferDonor, module_.arena.Copy(std::string_view(wire))));
  return true;
}

bool IsTable(std::string_view word) {
  return std::ranges::find(kSections, word) != kSections.end();
}

bool Reader::ReadTables() {
  std::string wire;
  bool any = false;
  for (std::string_view section : kSections) {
    const char* start = in_.at();
    if (!in_.AcceptWord(section)) {
      if (any) return in_.Expected(fmt::format("the table {}", section));
      return true;
    }
    if (in_.Peek() == '{' || in_.Peek() == '(') {  // a computation of that name
      in_.MoveTo(start);
      return true;
    }
    any = true;
    if (!ReadTable(section, &wire)) return false;
  }
  module_.attributes.push_back(
      Attribute::Bytes(kStackFrameIndex, module_.arena.Copy(std::string_view(wire))));
  return true;
}

bool Reader::ReadTable(std::string_view section, std::string* wire) {
  struct Key {
    std::string_view name;
    uint32_t field;
  };
  constexpr std::array<Key, 6> kLocation = {{{"file_name_id", 1},
                                             {"function_name_id", 2},
                                             {"line", 3},
                                             {"column", 4},
                                             {"end_line", 5},
                                             {"end_column", 6}}};
  constexpr std::array<Key, 2> kFrame = {{{"file_location_id", 1}, {"parent_frame_id", 2}}};
  bool is_strings = section.ends_with("Names");
  bool is_frames = section == "StackFrames";
  std::span<const Key> keys = is_frames ? std::span<const Key>(kFrame) : kLocation;
  uint32_t field = section == "FileNames" ? 1 : section == "FunctionNames" ? 2 : is_frames ? 4 : 3;
  for (int64_t row = 1; Is(in_.Peek(), kDigit); ++row) {
    const char* start = in_.at();
    int64_t number = 0;
    if (!in_.ReadInt(&number)) return false;
    if (number != row) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      fmt::format("row {} of {} must have the number {}", row, section, row));
    }
    if (is_strings) {
      std::string_view text;
      if (!in_.ReadString(&text)) return false;
      pbf_writer(*wire).add_string(field, text.data(), text.size());
      continue;
    }
    std::string entry;
    if (!in_.Expect('{')) return false;
    while (!in_.Accept('}')) {
      std::string_view name;
      int32_t value = 0;
      if (!in_.ReadWord(&name, "file_name_id, line …") || !in_.Expect('=') ||
          !in_.ReadInt32(&value)) {
        return false;
      }
      const Key* key = std::find_if(keys.data(), keys.data() + keys.size(),
                                    [&](const Key& k) { return k.name == name; });
      if (key == keys.data() + keys.size()) {
        return in_.Fail(name, fmt::format("{} has no {}", section, name));
      }
      // Text counts parents from one more than proto does.
      if (key->name == "parent_frame_id" && value > INT32_MIN) --value;
      if (value != 0) pbf_writer(entry).add_int32(key->field, value);
      in_.Accept(',');
    }
    pbf_writer(*wire).add_message(field, entry);
  }
  return true;
}

void Reader::SetLayoutFromEntry() {
  if (module_.Find(static_cast<uint32_t>(kHostProgramShape)) != nullptr) return;
  std::vector<const Shape*> parameters;
  for (const Instruction* parameter : module_.entry->parameters) {
    parameters.push_back(parameter->shape);
  }
  module_.attributes.push_back(
      Attribute::Bytes(kHostProgramShape, ProgramShape(parameters, *module_.entry->root->shape)));
}

}  // namespace eightfold::hlo::text
