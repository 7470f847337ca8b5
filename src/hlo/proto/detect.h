#ifndef EIGHTFOLD_HLO_PROTO_DETECT_H_
#define EIGHTFOLD_HLO_PROTO_DETECT_H_

#include <optional>
#include <string_view>

#include "hlo/proto/proto.h"

namespace eightfold::hlo {

// Which message `bytes` are, judged by what a module must have: computations (field 3) with
// instructions (field 2) that have a name and something spelled like an opcode. Looks only as far
// as the first such instruction, and at what is there of a truncated file. Nothing when it is none
// of the three.
std::optional<ProtoKind> DetectProto(std::string_view bytes);

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_PROTO_DETECT_H_
