#include "hlo_ids.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <vector>

namespace eightfold::pjrt {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using Rename = std::function<uint64_t(uint64_t)>;

// Copies the field at which `reader` stands.
void CopyField(pbf_reader& reader, pbf_writer& writer) {
  const auto tag = reader.tag();  // reading the value forgets it
  switch (reader.wire_type()) {
    case pbf_wire_type::varint:
      writer.add_uint64(tag, reader.get_uint64());
      return;
    case pbf_wire_type::fixed64:
      writer.add_fixed64(tag, reader.get_fixed64());
      return;
    case pbf_wire_type::fixed32:
      writer.add_fixed32(tag, reader.get_fixed32());
      return;
    default:
      writer.add_bytes(tag, reader.get_view());
  }
}

// HloInstructionProto: id 35, operand_ids 36, control_predecessor_ids 37.
std::string RenameInstruction(pbf_reader reader, const Rename& rename) {
  std::string out;
  pbf_writer writer(out);
  while (reader.next()) {
    if (reader.tag() == 35) {
      writer.add_uint64(35, rename(reader.get_uint64()));
    } else if (reader.tag() == 36 || reader.tag() == 37) {
      const auto tag = reader.tag();
      std::vector<uint64_t> ids;
      for (uint64_t id : reader.get_packed_uint64()) ids.push_back(rename(id));
      writer.add_packed_uint64(tag, ids.begin(), ids.end());
    } else {
      CopyField(reader, writer);
    }
  }
  return out;
}

// HloComputationProto: instructions 2, root_id 6.
std::string RenameComputation(pbf_reader reader, const Rename& rename) {
  std::string out;
  pbf_writer writer(out);
  while (reader.next()) {
    if (reader.tag() == 2) {
      writer.add_message(2, RenameInstruction(reader.get_message(), rename));
    } else if (reader.tag() == 6) {
      writer.add_uint64(6, rename(reader.get_uint64()));
    } else {
      CopyField(reader, writer);
    }
  }
  return out;
}

}  // namespace

std::string RenameInstructions(const std::string& module, const Rename& rename) {
  std::string out;
  pbf_writer writer(out);
  pbf_reader reader(module);
  while (reader.next()) {
    if (reader.tag() == 3) {
      writer.add_message(3, RenameComputation(reader.get_message(), rename));
    } else {
      CopyField(reader, writer);
    }
  }
  return out;
}

int CountCalls(const std::string& module, const std::string& target) {
  int count = 0;
  pbf_reader reader(module);
  while (reader.next(3)) {
    pbf_reader computation = reader.get_message();
    while (computation.next(2)) {
      pbf_reader instruction = computation.get_message();
      while (instruction.next(28)) count += instruction.get_string() == target ? 1 : 0;
    }
  }
  return count;
}

std::string WithoutConfig(const std::string& module_with_config) {
  pbf_reader reader(module_with_config);
  return reader.next(1) ? std::string(reader.get_view()) : "";
}

std::vector<int64_t> ResultDimensions(const std::string& module) {
  std::vector<int64_t> dimensions;
  pbf_reader reader(module);
  if (!reader.next(4)) return dimensions;
  pbf_reader program_shape = reader.get_message();
  if (!program_shape.next(2)) return dimensions;
  pbf_reader shape = program_shape.get_message();
  if (!shape.next(3)) return dimensions;
  for (int64_t dimension : shape.get_packed_int64()) dimensions.push_back(dimension);
  return dimensions;
}

}  // namespace eightfold::pjrt
