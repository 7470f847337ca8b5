#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "hlo/infer_internal.h"
#include "hlo/shape_codec.h"
#include "hlo/verify_internal.h"
#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

// HloModuleProto fields; 1 of HloModuleConfigProto is the entry layout too.
constexpr uint32_t kHostProgramShape = 4;
constexpr uint32_t kInputOutputAlias = 8;
constexpr uint32_t kBufferDonor = 18;
constexpr Field kEntryComputationLayout{1};

// ProgramShapeProto (1 parameters, 2 result) against the entry computation.
bool CheckProgramShape(Verdict& verdict, std::string_view wire, std::string_view what) {
  const Computation& entry = *verdict.module().entry;
  Arena arena;
  ShapeTable table(arena);
  ShapeDecoder decoder(table);
  size_t number = 0;
  constexpr std::string_view kNext =
      "the layout of the entry computation may differ only in "
      "layouts from its parameters and root";
  for (wire::Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() != 1 && cursor.field() != 2) continue;
    const Shape* declared = decoder.Decode(cursor.Message());
    bool result = cursor.field() == 2;
    if (!result && number >= entry.parameters.size()) {
      ++number;
      continue;
    }
    const Instruction& real = result ? *entry.root : *entry.parameters[number++];
    if (Compatible(*declared, *real.shape)) continue;
    return verdict.Fail(real,
                        fmt::format("{} has {} for {}, which is {}", what, Bare(*declared),
                                    result ? "the result" : fmt::format("parameter {}", number - 1),
                                    Bare(*real.shape)),
                        std::string(kNext));
  }
  if (number == entry.parameters.size()) return true;
  return verdict.Fail(entry, fmt::format("{} has {} parameters, the entry computation {}", what,
                                         number, entry.parameters.size()));
}

// The part of `shape` at `index`, or null.
const Shape* At(const Shape* shape, std::span<const int64_t> index) {
  for (int64_t i : index) {
    if (i < 0 || static_cast<uint64_t>(i) >= shape->tuple.size()) return nullptr;
    shape = shape->tuple[static_cast<size_t>(i)];
  }
  return shape;
}

// One entry of HloInputOutputAliasProto (1 output index, 2 parameter number, 3 parameter index) or
// of HloBufferDonorProto (1 parameter number, 2 parameter index).
struct AliasEntry {
  std::vector<int64_t> output;
  int64_t parameter = 0;
  std::vector<int64_t> index;
};

AliasEntry DecodeAlias(std::string_view wire, bool donor) {
  AliasEntry entry;
  uint32_t shift = donor ? 1 : 0;
  for (wire::Cursor cursor(wire); cursor.Next();) {
    uint32_t field = cursor.field() + shift;
    if (field == 1) cursor.Ints([&](int64_t value) { entry.output.push_back(value); });
    if (field == 2) entry.parameter = cursor.Int();
    if (field == 3) cursor.Ints([&](int64_t value) { entry.index.push_back(value); });
  }
  return entry;
}

bool CheckAliases(Verdict& verdict, std::string_view wire, bool donor) {
  const Computation& computation = *verdict.module().entry;
  std::string_view what = donor ? "buffer_donor" : "input_output_alias";
  for (wire::Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() != 1) continue;
    AliasEntry entry = DecodeAlias(cursor.Message(), donor);
    auto number = static_cast<uint64_t>(entry.parameter);
    if (number >= computation.parameters.size()) {
      return verdict.Fail(fmt::format("{} names parameter {}; the entry computation has {}", what,
                                      entry.parameter, computation.parameters.size()));
    }
    const Shape* parameter = computation.parameters[number]->shape;
    if (At(parameter, entry.index) == nullptr) {
      return verdict.Fail(fmt::format("{} names part {{{}}} of parameter {}, which is {}", what,
                                      fmt::join(entry.index, ","), number, Bare(*parameter)));
    }
    if (!donor && At(computation.root->shape, entry.output) == nullptr) {
      return verdict.Fail(fmt::format("{} names part {{{}}} of the result, which is {}", what,
                                      fmt::join(entry.output, ","),
                                      Bare(*computation.root->shape)));
    }
  }
  return true;
}

bool CheckFields(Verdict& verdict) {
  const Module& module = verdict.module();
  if (const Attribute* shape = module.Find(kHostProgramShape)) {
    if (!CheckProgramShape(verdict, shape->bytes, "entry_computation_layout")) return false;
  }
  for (const Attribute& attribute : module.config) {
    if (attribute.field == kEntryComputationLayout &&
        !CheckProgramShape(verdict, attribute.bytes, "entry_computation_layout of the config")) {
      return false;
    }
  }
  if (const Attribute* alias = module.Find(kInputOutputAlias)) {
    if (!CheckAliases(verdict, alias->bytes, false)) return false;
  }
  const Attribute* donor = module.Find(kBufferDonor);
  return donor == nullptr || CheckAliases(verdict, donor->bytes, true);
}

}  // namespace

bool CheckSchedule(Verdict& verdict, const Computation& computation) {
  std::span<Instruction* const> schedule = computation.schedule;
  if (schedule.empty()) return true;
  constexpr uint32_t kNowhere = UINT32_MAX;
  std::vector<uint32_t> position(computation.instructions.size(), kNowhere);
  for (uint32_t i = 0; i < schedule.size(); ++i) {
    if (schedule[i] == nullptr || schedule[i]->parent != &computation ||
        position[schedule[i]->index] != kNowhere) {
      return verdict.Fail(computation, "its schedule has an instruction twice or one of elsewhere");
    }
    position[schedule[i]->index] = i;
  }
  if (schedule.size() != position.size()) {
    auto missing = std::ranges::find(position, kNowhere) - position.begin();
    return verdict.Fail(*computation.instructions[static_cast<size_t>(missing)],
                        "it is not in the schedule of its computation");
  }
  for (const Instruction* instruction : schedule) {
    for (std::span<Instruction* const> before :
         {std::span<Instruction* const>(instruction->operands),
          std::span<Instruction* const>(instruction->control_predecessors)}) {
      for (const Instruction* needed : before) {
        if (position[needed->index] < position[instruction->index]) continue;
        return verdict.Fail(
            *instruction, fmt::format("it is scheduled before %{}, which it needs", needed->name));
      }
    }
  }
  return true;
}

bool CheckModuleFields(Verdict& verdict) {
  try {
    return CheckFields(verdict);
  } catch (const wire::Damage& damage) {
    return verdict.Fail(fmt::format("a module attribute is damaged: {}", damage.what()));
  }
}

}  // namespace eightfold::hlo
