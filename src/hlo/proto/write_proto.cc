#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hlo/proto/fields.h"
#include "hlo/proto/number.h"
#include "hlo/proto/proto.h"
#include "hlo/shape_codec.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

using protozero::pbf_writer;

constexpr ProtoTarget kIdsPerComputation{0, 7, 2};
constexpr ProtoTarget kOriginalValueElements{0, 7, 2};
constexpr ProtoTarget kReplicaGroupFields{0, 8, 3};

// protobuf loads no message of more bytes.
constexpr size_t kMostBytes = INT32_MAX;

void WriteAttribute(pbf_writer& writer, const Attribute& attribute) {
  auto field = static_cast<uint32_t>(attribute.field);
  switch (attribute.wire) {
    case Attribute::Wire::kVarint:
      writer.add_uint64(field, attribute.scalar);
      break;
    case Attribute::Wire::kFixed64:
      writer.add_fixed64(field, attribute.scalar);
      break;
    case Attribute::Wire::kFixed32:
      writer.add_fixed32(field, static_cast<uint32_t>(attribute.scalar));
      break;
    case Attribute::Wire::kBytes:
      writer.add_bytes(field, attribute.bytes.data(), attribute.bytes.size());
      break;
    case Attribute::Wire::kText:
      break;
  }
}

// Attributes of one message, written between the fields that have a place of their own.
class AttributeStream {
 public:
  AttributeStream(std::span<const Attribute> attributes, pbf_writer& writer)
      : attributes_(attributes), writer_(writer) {
    if (std::ranges::is_sorted(attributes_, {}, &Attribute::field)) return;
    sorted_.assign(attributes.begin(), attributes.end());
    std::ranges::stable_sort(sorted_, {}, &Attribute::field);
    attributes_ = sorted_;
  }

  // Writes those whose field number is below `field`.
  void WriteBelow(uint32_t field) {
    for (; next_ < attributes_.size(); ++next_) {
      if (static_cast<uint32_t>(attributes_[next_].field) >= field) return;
      WriteAttribute(writer_, attributes_[next_]);
    }
  }
  void WriteBelow(Field field) { WriteBelow(static_cast<uint32_t>(field)); }
  void WriteRest() { WriteBelow(UINT32_MAX); }

 private:
  std::span<const Attribute> attributes_;
  pbf_writer& writer_;
  std::vector<Attribute> sorted_;
  size_t next_ = 0;
};

void AddString(pbf_writer& writer, uint32_t field, std::string_view value) {
  if (!value.empty()) writer.add_string(field, value.data(), value.size());
}
void AddString(pbf_writer& writer, Field field, std::string_view value) {
  AddString(writer, static_cast<uint32_t>(field), value);
}

class Writer {
 public:
  Writer(const Module& module, Numbering numbering, std::optional<ProtoTarget> target)
      : module_(module), numbering_(std::move(numbering)), target_(target) {}

  Result<std::string> Run(ProtoKind kind);

 private:
  Result<void> WriteModule(pbf_writer& writer);
  Result<void> WriteComputation(pbf_writer& writer, const Computation& computation);
  Result<void> WriteInstruction(pbf_writer& writer, const Instruction& instruction);
  Result<std::span<const Attribute>> AttributesFor(const Instruction& instruction);
  void WriteIds(pbf_writer& writer, Field field, std::span<Instruction* const> instructions);
  void WriteSchedule(pbf_writer& writer);
  void WriteConfig(pbf_writer& writer);
  std::string HostProgramShape();
  std::string_view Encoded(const Shape* shape);

  const Module& module_;
  Numbering numbering_;
  std::optional<ProtoTarget> target_;
  std::string out_;
  std::unordered_map<const Shape*, std::string> shapes_;
  std::vector<Attribute> adapted_;    // of the instruction being written, for an older target
  std::vector<std::string> wrapped_;  // bytes that adapted_ points at
};

Result<std::string> Writer::Run(ProtoKind kind) {
  if (module_.source != nullptr) out_.reserve(module_.source->bytes().size());
  pbf_writer writer(out_);
  if (kind == ProtoKind::kModule) {
    EF_CHECK_OK(WriteModule(writer));
  } else {
    {
      pbf_writer module(writer, outer_field::kModule);
      EF_CHECK_OK(WriteModule(module));
    }
    bool with_config = kind == ProtoKind::kModuleWithConfig;
    if (with_config) WriteConfig(writer);
    if (with_config == module_.has_config) AttributeStream(module_.outer, writer).WriteRest();
  }
  if (out_.size() > kMostBytes)
    return Fail("the proto is larger than the 2 GB that protobuf loads");
  return std::move(out_);
}

Result<void> Writer::WriteModule(pbf_writer& writer) {
  AddString(writer, module_field::kName, module_.name);
  AddString(writer, module_field::kEntryComputationName, module_.entry->name);
  for (const Computation* computation : numbering_.computations) {
    pbf_writer message(writer, module_field::kComputations);
    EF_CHECK_OK(WriteComputation(message, *computation));
  }
  if (module_.Find(module_field::kHostProgramShape) == nullptr) {
    writer.add_message(module_field::kHostProgramShape, HostProgramShape());
  }
  AttributeStream attributes(module_.attributes, writer);
  attributes.WriteBelow(module_field::kEntryComputationId);
  writer.add_int64(module_field::kEntryComputationId, numbering_.Of(*module_.entry));
  attributes.WriteBelow(module_field::kSchedule);
  if (module_.is_scheduled) WriteSchedule(writer);
  attributes.WriteRest();
  return {};
}

Result<void> Writer::WriteComputation(pbf_writer& writer, const Computation& computation) {
  AttributeStream attributes(computation.attributes, writer);
  AddString(writer, computation_field::kName, computation.name);
  EF_TRY(auto order, WritingOrder(computation));
  for (const Instruction* instruction : order) {
    pbf_writer message(writer, computation_field::kInstructions);
    EF_CHECK_OK(WriteInstruction(message, *instruction));
    if (out_.size() > kMostBytes) {
      return Fail("the proto is larger than the 2 GB that protobuf loads");
    }
  }
  attributes.WriteBelow(computation_field::kId);
  writer.add_int64(computation_field::kId, numbering_.Of(computation));
  writer.add_int64(computation_field::kRootId, numbering_.Of(*computation.root));
  if (computation.is_fusion) writer.add_bool(computation_field::kIsFusionComputation, true);
  AddString(writer, computation_field::kExecutionThread, computation.execution_thread);
  attributes.WriteRest();
  return {};
}

Result<void> Writer::WriteInstruction(pbf_writer& writer, const Instruction& instruction) {
  EF_TRY(auto own, AttributesFor(instruction));
  AttributeStream attributes(own, writer);
  AddString(writer, Field::kName, instruction.name);
  AddString(writer, Field::kOpcode, Name(instruction.opcode));
  std::string_view shape = Encoded(instruction.shape);
  writer.add_message(static_cast<uint32_t>(Field::kShape), shape.data(), shape.size());
  AddString(writer, Field::kMetadata, instruction.metadata);
  attributes.WriteBelow(Field::kId);
  writer.add_int64(static_cast<uint32_t>(Field::kId), numbering_.Of(instruction));
  WriteIds(writer, Field::kOperandIds, instruction.operands);
  WriteIds(writer, Field::kControlPredecessorIds, instruction.control_predecessors);
  if (!instruction.called.empty()) {
    protozero::packed_field_int64 called(writer,
                                         static_cast<uint32_t>(Field::kCalledComputationIds));
    for (const Computation* computation : instruction.called) {
      called.add_element(numbering_.Of(*computation));
    }
  }
  attributes.WriteBelow(Field::kBackendConfig);
  AddString(writer, Field::kBackendConfig, instruction.backend_config);
  attributes.WriteRest();
  return {};
}

// The attributes as the target knows them: `instruction`'s own unless it is an old version.
Result<std::span<const Attribute>> Writer::AttributesFor(const Instruction& instruction) {
  if (!target_ || *target_ >= kReplicaGroupFields) return instruction.attributes;
  adapted_.clear();
  wrapped_.clear();
  wrapped_.reserve(instruction.attributes.size());
  for (const Attribute& attribute : instruction.attributes) {
    if (attribute.field == Field::kOriginalValue && *target_ < kOriginalValueElements) continue;
    if (attribute.field == Field::kMeshAxesReplicaGroupList) {
      return Fail(fmt::format("{} names its replica groups by mesh axes", instruction.name),
                  fmt::format("versions before {}.{}.{} do not know them: choose a newer one",
                              kReplicaGroupFields.major, kReplicaGroupFields.minor,
                              kReplicaGroupFields.patch));
    }
    if (attribute.field == Field::kIotaCollectiveDeviceList) {
      constexpr uint32_t kIotaReplicaGroupList = 2;
      pbf_writer(wrapped_.emplace_back())
          .add_message(kIotaReplicaGroupList, attribute.bytes.data(), attribute.bytes.size());
      adapted_.push_back(Attribute::Bytes(Field::kCollectiveDeviceList, wrapped_.back()));
      continue;
    }
    adapted_.push_back(attribute);
  }
  return adapted_;
}

void Writer::WriteIds(pbf_writer& writer, Field field, std::span<Instruction* const> instructions) {
  if (instructions.empty()) return;
  protozero::packed_field_int64 ids(writer, static_cast<uint32_t>(field));
  for (const Instruction* instruction : instructions) ids.add_element(numbering_.Of(*instruction));
}

void Writer::WriteSchedule(pbf_writer& writer) {
  pbf_writer schedule(writer, module_field::kSchedule);
  for (const Computation* computation : numbering_.computations) {
    if (computation->schedule.empty()) continue;
    pbf_writer entry(schedule, schedule_field::kSequences);
    entry.add_int64(schedule_field::kKey, numbering_.Of(*computation));
    pbf_writer sequence(entry, schedule_field::kValue);
    WriteIds(sequence, Field{schedule_field::kInstructionIds}, computation->schedule);
  }
}

void Writer::WriteConfig(pbf_writer& writer) {
  pbf_writer config(writer, outer_field::kConfig);
  AttributeStream attributes(module_.config, config);
  if (!module_.has_config) {
    const Attribute* shape = module_.Find(module_field::kHostProgramShape);
    config.add_message(config_field::kEntryComputationLayout,
                       shape == nullptr ? HostProgramShape() : std::string(shape->bytes));
  }
  attributes.WriteBelow(config_field::kReplicaCount);
  config.add_int64(config_field::kReplicaCount, module_.replica_count);
  config.add_int64(config_field::kNumPartitions, module_.num_partitions);
  attributes.WriteRest();
}

std::string Writer::HostProgramShape() {
  std::string out;
  pbf_writer writer(out);
  const Computation& entry = *module_.entry;
  for (const Instruction* parameter : entry.parameters) {
    if (parameter == nullptr) continue;
    writer.add_message(program_shape_field::kParameters, EncodeShape(*parameter->shape));
  }
  writer.add_message(program_shape_field::kResult, EncodeShape(*entry.root->shape));
  for (const Instruction* parameter : entry.parameters) {
    if (parameter == nullptr) continue;
    AddString(writer, program_shape_field::kParameterNames, parameter->name);
  }
  return out;
}

std::string_view Writer::Encoded(const Shape* shape) {
  auto [it, is_new] = shapes_.try_emplace(shape);
  if (is_new) it->second = EncodeShape(*shape);
  return it->second;
}

Result<std::string> Write(const Module& module, ProtoKind kind, IdScheme ids,
                          std::optional<ProtoTarget> target) {
  EF_TRY(Numbering numbering, Number(module, ids));
  return Writer(module, std::move(numbering), target).Run(kind);
}

}  // namespace

IdScheme IdSchemeFor(const ProtoTarget& target) {
  return target < kIdsPerComputation ? IdScheme::kSequential : IdScheme::kPerComputation;
}

Result<std::string> WriteProto(const Module& module, ProtoKind kind, IdScheme ids) {
  return Write(module, kind, ids, std::nullopt);
}

Result<std::string> WriteProto(const Module& module, ProtoKind kind, const ProtoTarget& target) {
  return Write(module, kind, IdSchemeFor(target), target);
}

}  // namespace eightfold::hlo
