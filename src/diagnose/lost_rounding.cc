#include "diagnose/lost_rounding.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "hlo/views.h"

namespace eightfold::diagnose {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

// What identifies a conversion in both modules: its type, the end of its op_name and the innermost
// source line.
using Key = std::tuple<PrimitiveType, std::string_view, std::string_view, int32_t>;

bool Narrows(const Instruction& convert) {
  PrimitiveType from = convert.operands[0]->shape->type;
  PrimitiveType to = convert.shape->type;
  return hlo::IsFloating(from) && hlo::IsFloating(to) && hlo::BitWidth(to) <= 16 &&
         hlo::BitWidth(to) < hlo::BitWidth(from);
}

// Whether some user widens the value again: only such pairs are removed.
bool IsWidenedAgain(const Instruction& convert, const hlo::Users& users) {
  for (const Instruction* user : users.Of(convert)) {
    if (user->opcode == Opcode::kConvert && hlo::IsFloating(user->shape->type) &&
        hlo::BitWidth(user->shape->type) > hlo::BitWidth(convert.shape->type)) {
      return true;
    }
  }
  return false;
}

Key KeyOf(const Instruction& convert, const hlo::StackFrames& frames) {
  hlo::Metadata metadata = hlo::DecodeMetadata(convert.metadata);
  auto walk = frames.Walk(metadata.stack_frame_id);
  std::string_view file = walk.empty() ? metadata.source_file : walk.front().file;
  int32_t line = walk.empty() ? metadata.source_line : walk.front().line;
  return {convert.shape->type, metadata.op_name.substr(metadata.op_name.rfind('/') + 1), file,
          line};
}

template <class Visit>
void ForEachNarrowing(const hlo::Module& module, Visit visit) {
  for (const hlo::Computation* computation : module.computations) {
    for (const Instruction* at : computation->instructions) {
      if (at->opcode == Opcode::kConvert && at->operands.size() == 1 && Narrows(*at)) visit(*at);
    }
  }
}

}  // namespace

std::optional<Finding> FindLostRounding(const census::Census& census) {
  if (census.before == nullptr) return std::nullopt;
  hlo::StackFrames after_frames(*census.module);
  std::set<Key> kept;
  ForEachNarrowing(*census.module,
                   [&](const Instruction& at) { kept.insert(KeyOf(at, after_frames)); });

  hlo::StackFrames before_frames(*census.before);
  std::map<PrimitiveType, size_t> lost;
  std::map<const hlo::Computation*, hlo::Users> users;
  ForEachNarrowing(*census.before, [&](const Instruction& at) {
    auto it = users.try_emplace(at.parent, *at.parent).first;
    if (!IsWidenedAgain(at, it->second)) return;
    if (!kept.contains(KeyOf(at, before_frames))) ++lost[at.shape->type];
  });
  if (lost.empty()) return std::nullopt;
  std::string types;
  size_t count = 0;
  for (auto& [type, n] : lost) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ", hlo::Name(type));
    count += n;
  }
  Finding finding;
  finding.id = "EF601";
  finding.severity = Severity::kNote;
  finding.title =
      fmt::format("{} rounding{} to {} asked for and removed", count, count == 1 ? "" : "s", types);
  finding.cause =
      "XLA drops a conversion to a narrower type that is converted back at once: values keep their "
      "wide precision, "
      "so results differ from what the quantized program would give. Of an undecided matmul this "
      "is the "
      "candidate shown.";
  finding.fix =
      "keep the narrow value as an operand of the product, or set "
      "--xla_allow_excess_precision=false";
  return finding;
}

}  // namespace eightfold::diagnose
