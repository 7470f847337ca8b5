#ifndef EIGHTFOLD_HLO_PROTO_PROTO_H_
#define EIGHTFOLD_HLO_PROTO_PROTO_H_

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

// Serializes as `kind`. Operands and callees are written before their users.
Result<std::string> WriteProto(const Module& module, ProtoKind kind = ProtoKind::kModule,
                               IdScheme ids = IdScheme::kPerComputation);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_PROTO_H_
