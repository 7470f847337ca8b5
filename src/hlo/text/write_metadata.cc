#include <fmt/format.h>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

using wire::Cursor;

constexpr uint32_t kStackFrameIndex = 17;
constexpr uint32_t kPayloads = 22;

// OpMetadata as text shows it. Lines and columns that are not positive count as absent.
struct Fields {
  std::string_view op_type, op_name, source_file, deduplicated_name, scheduling_name, payload;
  int64_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  int64_t stack_frame = 0;
  int64_t profile_type = -1;
  int64_t payload_id = -1;
};

void DecodePayload(std::string_view message, Fields& fields) {
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) fields.payload = cursor.Message();
    if (cursor.field() == 2) fields.payload_id = cursor.Int();
  }
}

Fields DecodeFields(std::string_view message) {
  Fields fields;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case 1:
        fields.op_type = cursor.Message();
        break;
      case 2:
        fields.op_name = cursor.Message();
        break;
      case 3:
        fields.source_file = cursor.Message();
        break;
      case 4:
        fields.source_line = cursor.Int();
        break;
      case 5:
        cursor.Ints([&](int64_t type) {
          if (fields.profile_type < 0) fields.profile_type = type;
        });
        break;
      case 12:
        fields.deduplicated_name = cursor.Message();
        break;
      case 15:
        fields.stack_frame = cursor.Int();
        break;
      case 16:
        fields.scheduling_name = cursor.Message();
        break;
      case 17:
        fields.source_end_line = cursor.Int();
        break;
      case 18:
        fields.source_column = cursor.Int();
        break;
      case 19:
        fields.source_end_column = cursor.Int();
        break;
      case 20:
        DecodePayload(cursor.Message(), fields);
        break;
      default:
        break;
    }
  }
  return fields;
}

class FieldPrinter {
 public:
  explicit FieldPrinter(std::string& out) : out_(out) { out_ += '{'; }
  void Text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    Name(name);
    AppendQuoted(out_, value);
  }
  void Number(std::string_view name, int64_t value) {
    if (value <= 0) return;
    Name(name);
    AppendInt(out_, value);
  }
  void Braced(std::string_view name, int64_t value) {
    if (value < 0) return;
    Name(name);
    AppendInts(out_, {&value, 1});
  }

 private:
  void Name(std::string_view name) {
    if (out_.back() != '{') out_ += ' ';
    (out_ += name) += '=';
  }
  std::string& out_;
};

void AppendFields(std::string& out, const Fields& fields) {
  FieldPrinter print(out);
  print.Text("op_type", fields.op_type);
  print.Text("op_name", fields.op_name);
  print.Text("source_file", fields.source_file);
  print.Number("source_line", fields.source_line);
  print.Number("source_end_line", fields.source_end_line);
  print.Number("source_column", fields.source_column);
  print.Number("source_end_column", fields.source_end_column);
  print.Braced("profile_type", fields.profile_type);
  print.Text("deduplicated_name", fields.deduplicated_name);
  print.Text("scheduling_name", fields.scheduling_name);
  print.Number("stack_frame_id", fields.stack_frame);
  print.Text("metadata_payload", fields.payload);
  out += '}';
}

// XLA prints no metadata at all that says neither what an operation is nor where it is from.
bool IsWorthPrinting(const Fields& fields) {
  return !fields.op_type.empty() || !fields.op_name.empty() || !fields.source_file.empty() ||
         !fields.scheduling_name.empty() || !fields.payload.empty() || fields.stack_frame > 0;
}

template <class T>
std::string_view KeyBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

MetadataWriter::StackFrames MetadataWriter::DecodeTables(std::string_view stack_frame_index) {
  StackFrames tables;
  for (Cursor cursor(stack_frame_index); cursor.Next();) {
    if (cursor.field() == 1) tables.files.push_back(cursor.Message());
    if (cursor.field() == 2) tables.functions.push_back(cursor.Message());
    if (cursor.field() == 3) {
      FileLocation& location = tables.locations.emplace_back();
      int64_t* const values[] = {&location.file,   &location.function, &location.line,
                                 &location.column, &location.end_line, &location.end_column};
      for (Cursor part(cursor.Message()); part.Next();) {
        if (part.field() <= std::size(values)) *values[part.field() - 1] = part.Int();
      }
    }
    if (cursor.field() == 4) {
      Frame& frame = tables.frames.emplace_back();
      for (Cursor part(cursor.Message()); part.Next();) {
        if (part.field() == 1) frame.location = part.Int();
        if (part.field() == 2) frame.parent = part.Int();
      }
    }
  }
  return tables;
}

MetadataWriter::MetadataWriter(const Module& module) {
  for (const Attribute& attribute : module.attributes) {
    if (attribute.field == Field{kPayloads}) payloads_.push_back(attribute.bytes);
    if (attribute.field != Field{kStackFrameIndex}) continue;
    try {
      old_ = DecodeTables(attribute.bytes);
    } catch (const wire::Damage&) {
      old_ = {};
    }
  }
  if (old_.frames.empty()) return;
  new_frame_.assign(old_.frames.size() + 1, 0);
  for (const Computation* computation : module.computations) {
    for (const Instruction* instruction : ById(*computation)) {
      if (instruction->metadata.empty()) continue;
      try {
        int64_t frame = DecodeFields(instruction->metadata).stack_frame;
        if (frame > 0) NewFrame(frame);
      } catch (const wire::Damage&) {
        continue;  // reported when the instruction is printed
      }
    }
  }
}

template <class T, class Map>
int64_t MetadataWriter::Add(std::vector<T>& list, Map& numbers, const T& value) {
  typename Map::key_type key;
  if constexpr (std::is_same_v<T, std::string_view>) {
    key = value;
  } else {
    key = KeyBytes(value);
  }
  auto [it, is_new] = numbers.emplace(std::move(key), static_cast<int64_t>(list.size()) + 1);
  if (is_new) list.push_back(value);
  return it->second;
}

// The number under which `frame` is printed, 0 for a dangling one. Numbers are given out as frames
// are first met, callers before the frames they called.
int64_t MetadataWriter::NewFrame(int64_t frame) {
  auto valid = [](int64_t id, const auto& list) {
    return id > 0 && static_cast<size_t>(id) <= list.size();
  };
  std::vector<int64_t> chain;
  while (valid(frame, old_.frames) && new_frame_[static_cast<size_t>(frame)] == 0) {
    new_frame_[static_cast<size_t>(frame)] = -1;  // until it is numbered: ends walks on cycles
    chain.push_back(frame);
    frame = old_.frames[static_cast<size_t>(frame) - 1].parent;
  }
  int64_t parent = valid(frame, old_.frames) ? new_frame_[static_cast<size_t>(frame)] : 0;
  if (parent < 0) parent = 0;
  while (!chain.empty()) {
    auto old = static_cast<size_t>(chain.back());
    chain.pop_back();
    int64_t id = old_.frames[old - 1].location;
    if (!valid(id, old_.locations)) continue;
    FileLocation location = old_.locations[static_cast<size_t>(id) - 1];
    if (!valid(location.file, old_.files) || !valid(location.function, old_.functions)) continue;
    location.file =
        Add(new_.files, file_numbers_, old_.files[static_cast<size_t>(location.file) - 1]);
    location.function = Add(new_.functions, function_numbers_,
                            old_.functions[static_cast<size_t>(location.function) - 1]);
    Frame made = {Add(new_.locations, location_numbers_, location), parent};
    parent = Add(new_.frames, frame_numbers_, made);
    new_frame_[old] = parent;
  }
  return parent;
}

void MetadataWriter::AppendAttribute(std::string& out, std::string_view op_metadata) {
  Fields fields = DecodeFields(op_metadata);
  auto frame = static_cast<uint64_t>(fields.stack_frame);
  fields.stack_frame = frame < new_frame_.size() ? new_frame_[frame] : 0;
  if (fields.payload_id >= 0 && static_cast<size_t>(fields.payload_id) < payloads_.size()) {
    fields.payload = payloads_[static_cast<size_t>(fields.payload_id)];
  }
  if (!IsWorthPrinting(fields)) return;
  out += ", metadata=";
  AppendFields(out, fields);
}

void MetadataWriter::AppendTables(std::string& out) const {
  if (new_.frames.empty()) return;
  auto strings = [&](std::string_view title, const std::vector<std::string_view>& rows) {
    (out += title) += '\n';
    for (size_t i = 0; i < rows.size(); ++i) {
      AppendInt(out, static_cast<int64_t>(i) + 1);
      out += ' ';
      AppendQuoted(out, rows[i]);
      out += '\n';
    }
    out += '\n';
  };
  strings("FileNames", new_.files);
  strings("FunctionNames", new_.functions);
  auto to = std::back_inserter(out);
  out += "FileLocations\n";
  for (size_t i = 0; i < new_.locations.size(); ++i) {
    const FileLocation& row = new_.locations[i];
    fmt::format_to(to,
                   "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} "
                   "end_column={}}}\n",
                   i + 1, row.file, row.function, row.line, row.end_line, row.column,
                   row.end_column);
  }
  // In text the parent of a frame is one more than in protos: 1 says that there is none.
  out += "\nStackFrames\n";
  for (size_t i = 0; i < new_.frames.size(); ++i) {
    fmt::format_to(to, "{} {{file_location_id={} parent_frame_id={}}}\n", i + 1,
                   new_.frames[i].location, new_.frames[i].parent + 1);
  }
  out += "\n\n";
}

std::string_view MetadataWriter::Payload(std::string_view payload) const {
  Fields fields;
  DecodePayload(payload, fields);
  if (fields.payload_id < 0) return fields.payload;
  auto id = static_cast<size_t>(fields.payload_id);
  return id < payloads_.size() ? payloads_[id] : std::string_view();
}

void AppendMetadataFields(std::string& out, std::string_view op_metadata) {
  AppendFields(out, DecodeFields(op_metadata));
}

}  // namespace eightfold::hlo::text
