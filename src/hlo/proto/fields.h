#ifndef EIGHTFOLD_HLO_PROTO_FIELDS_H_
#define EIGHTFOLD_HLO_PROTO_FIELDS_H_

#include <cstdint>
#include <string>

namespace eightfold::hlo {

// Field numbers of the messages of hlo.proto that have a place of their own in the IR.
namespace module_field {
enum : uint32_t {
  kName = 1,
  kEntryComputationName = 2,
  kComputations = 3,
  kHostProgramShape = 4,
  kEntryComputationId = 6,
  kSchedule = 7,
};
}  // namespace module_field
namespace computation_field {
enum : uint32_t {
  kName = 1,
  kInstructions = 2,
  kId = 5,
  kRootId = 6,
  kIsFusionComputation = 7,
  kExecutionThread = 8,
};
}  // namespace computation_field
namespace config_field {
enum : uint32_t { kEntryComputationLayout = 1, kReplicaCount = 4, kNumPartitions = 5 };
}
namespace outer_field {
enum : uint32_t { kModule = 1, kConfig = 2, kBufferAssignment = 3 };
}
namespace program_shape_field {
enum : uint32_t { kParameters = 1, kResult = 2, kParameterNames = 3 };
}
namespace schedule_field {
enum : uint32_t { kSequences = 1, kKey = 1, kValue = 2, kInstructionIds = 1 };
}

// How a field of HloInstructionProto is encoded.
enum class FieldKind : uint8_t {
  kUnknown,   // of a newer version
  kScalar,    // varint
  kFloat,     // 32-bit
  kString,    // UTF-8
  kBytes,     // free bytes
  kMessage,   // one message
  kMessages,  // any number of messages
  kInts,      // packed integers
};
FieldKind InstructionFieldKind(uint32_t field);
// "operand_ids"; "field 104" for unknown ones.
std::string InstructionFieldName(uint32_t field);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_FIELDS_H_
