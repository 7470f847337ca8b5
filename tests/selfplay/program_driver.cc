// Writes a program of selfplay/programs.h as a HloModuleProto to standard output:
// program_driver forward|calibration|two|move|three GAME PRECISION BATCH WIDTH BLOCKS SIMULATIONS
// [root_in_loop] [fp8_in_f32] [in_pieces]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../hlo/print_proto.h"
#include "selfplay/programs.h"

namespace eightfold::selfplay {
namespace {

bool Build(hlo::Module& module, std::string_view program, const ProgramOptions& options) {
  struct Named {
    std::string_view name;
    void (*build)(hlo::Module&, const ProgramOptions&);
  };
  constexpr Named kPrograms[] = {{"forward", BuildForward},
                                 {"calibration", BuildCalibration},
                                 {"two", BuildTwoForwards},
                                 {"move", BuildPolicyMove},
                                 {"three", BuildThreeCopies}};
  for (const Named& named : kPrograms) {
    if (named.name != program) continue;
    named.build(module, options);
    return true;
  }
  return false;
}

int Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 7) return 2;
  auto number = [&](size_t i) { return std::atoll(arguments[i].c_str()); };
  ProgramOptions options{.game = FindGame(arguments[1]),
                         .batch = number(3),
                         .width = number(4),
                         .blocks = number(5),
                         .simulations = number(6)};
  for (size_t i = 7; i < arguments.size(); ++i) {
    if (arguments[i] == "root_in_loop") options.root_in_loop = true;
    if (arguments[i] == "fp8_in_f32") options.fp8_in_f32 = true;
    if (arguments[i] == "in_pieces") options.rows_at_once = 2;
  }
  bool known = false;
  for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kFp8}) {
    if (Name(precision) != arguments[2]) continue;
    options.precision = precision;
    known = true;
  }
  hlo::Module module;
  if (!known || options.game == nullptr || !Build(module, arguments[0], options)) return 2;
  return hlo::PrintProto(module);
}

}  // namespace
}  // namespace eightfold::selfplay

int main(int argc, char** argv) { return eightfold::selfplay::Run({argv + 1, argv + argc}); }
