// Counts the instructions of an HLO file by opcode:  opcodes move.pb
#include <hlo/proto/proto.h>

#include <cstdio>
#include <map>

using namespace eightfold;

int main(int argc, char** argv) {
  auto source = Source::Open(argc > 1 ? argv[1] : "-");
  auto module = source.and_then(hlo::ReadProto);
  if (!module) return std::fprintf(stderr, "%s\n", module.error().Format().c_str()), 2;
  std::map<std::string_view, int> count;
  for (const hlo::Computation* computation : (*module)->computations)
    for (const hlo::Instruction* i : computation->instructions) ++count[hlo::Name(i->opcode)];
  for (auto [name, n] : count) std::printf("%6d %.*s\n", n, int(name.size()), name.data());
}
