#ifndef EIGHTFOLD_HLO_PROTO_PROTO_H_
#define EIGHTFOLD_HLO_PROTO_PROTO_H_

#include <compare>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/source.h"
#include "hlo/module.h"

namespace eightfold::hlo {

// Which message a proto file holds.
enum class ProtoKind { kModule, kHloProto, kModuleWithConfig };

// How a writer numbers instructions and computations.
enum class IdScheme {
  kPerComputation,  // computation index << 32 | local index: XLA from jaxlib 0.7.2 on
  kSequential,  // one counter over the module, below 2^31: older versions; slow to load for newer
                // ones
  kKeep,        // the ids that the instructions carry
};

// Reads a HloModuleProto, HloProto or HloModuleProtoWithConfig, told apart by content. The module
// holds views into `source`. Errors carry the field path. The result is not verified: see
// hlo/verifier.h.
Result<std::unique_ptr<Module>> ReadProto(std::shared_ptr<const Source> source);

// The same of bytes that messages call `name`, and verified.
Result<std::unique_ptr<Module>> ReadVerifiedProto(std::string bytes, std::string name);

// The version of jaxlib or of a PJRT plugin that is to load a proto.
struct ProtoTarget {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const ProtoTarget&) const = default;
};
// kSequential before 0.7.2, kPerComputation from then on.
IdScheme IdSchemeFor(const ProtoTarget& target);

// Serializes as `kind`. Operands and callees are written before their users, fields in the order of
// their numbers; new ids keep the order of the ones that were read. A missing host_program_shape,
// without which XLA does not load, is made from the entry. Attributes that only text has
// (Attribute::Wire::kText) are left out. `outer` fields are written where `kind` is what the module
// was read from. Needs what Finish() sets. Fails for call cycles, cycles of instructions and for
// more than 2 GB, which protobuf cannot load.
Result<std::string> WriteProto(const Module& module, ProtoKind kind = ProtoKind::kModule,
                               IdScheme ids = IdScheme::kPerComputation);

// The same for one version: with its id scheme, and without or in older form what that version
// takes for something else. Before 0.7.2 original values are left out (their field numbers meant
// other things); before 0.8.3 iota replica groups are written inside the device list, and mesh
// groups, which those versions do not know, are an error.
Result<std::string> WriteProto(const Module& module, ProtoKind kind, const ProtoTarget& target);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_PROTO_H_
