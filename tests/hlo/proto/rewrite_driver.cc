#include <cstdio>
#include <string>
#include <string_view>

#include "hlo/proto/proto.h"

// rewrite_driver IN OUT SCHEME KIND: reads a proto and writes it again; SCHEME is local,
// sequential, keep or a version (0.6.2), KIND module, hlo or config. For oracle_test.py.
namespace eightfold {
namespace {

Result<std::string> Rewrite(const hlo::Module& module, const std::string& scheme,
                            hlo::ProtoKind kind) {
  hlo::ProtoTarget target;
  if (std::sscanf(scheme.c_str(), "%d.%d.%d", &target.major, &target.minor, &target.patch) == 3) {
    return hlo::WriteProto(module, kind, target);
  }
  hlo::IdScheme ids = scheme == "local"        ? hlo::IdScheme::kPerComputation
                      : scheme == "sequential" ? hlo::IdScheme::kSequential
                                               : hlo::IdScheme::kKeep;
  return hlo::WriteProto(module, kind, ids);
}

Result<void> Run(char** argv) {
  EF_TRY(auto source, Source::Open(argv[1]));
  EF_TRY(auto module, hlo::ReadProto(source));
  std::string_view name = argv[4];
  hlo::ProtoKind kind = name == "module" ? hlo::ProtoKind::kModule
                        : name == "hlo"  ? hlo::ProtoKind::kHloProto
                                         : hlo::ProtoKind::kModuleWithConfig;
  EF_TRY(std::string bytes, Rewrite(*module, argv[3], kind));
  return WriteFile(argv[2], bytes);
}

int Main(int argc, char** argv) {
  if (argc != 5) return 2;
  auto done = Run(argv);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().Format().c_str());
  return 1;
}

}  // namespace
}  // namespace eightfold

int main(int argc, char** argv) { return eightfold::Main(argc, argv); }
