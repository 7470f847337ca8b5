// rewrite_differential_stock PLUGIN TARGET_CONFIG_FILE: loads the plugin once and compiles the
// module in each file that standard input names, one a line. Answers each with a line: "ok", or the
// first line of the error. XLA_FLAGS says what to dump where.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/source.h"
#include "pjrt/api.h"

namespace eightfold::differential {
namespace {

// CompileOptionsProto{executable_build_options{num_replicas: 1, num_partitions: 1}}
constexpr std::string_view kOptions("\x1a\x04\x20\x01\x28\x01", 6);

std::string Compile(const pjrt::Api& api, const pjrt::Topology& topology, const std::string& file) {
  Result<std::shared_ptr<const Source>> program = Source::Open(file);
  if (!program) return program.error().what;
  Result<pjrt::Executable> compiled =
      pjrt::Executable::Compile(api, topology, (*program)->bytes(), "hlo", kOptions);
  if (compiled) return "ok";
  std::string what = compiled.error().what;
  return what.substr(0, what.find('\n'));
}

Result<void> Serve(const std::string& plugin, const std::string& target_file, FILE* answers) {
  EF_TRY(pjrt::Api api, pjrt::Api::Load(plugin));
  EF_TRY(std::shared_ptr<const Source> target, Source::Open(target_file));
  EF_TRY(pjrt::Topology topology,
         pjrt::Topology::Create(api, std::string(target->bytes()), "1x1x1"));
  for (std::string file; std::getline(std::cin, file);) {
    fprintf(answers, "%s\n", Compile(api, topology, file).c_str());
    fflush(answers);
  }
  return {};
}

}  // namespace
}  // namespace eightfold::differential

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // What the plugin prints goes to standard error, so that answers stand alone.
  FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  auto served = eightfold::differential::Serve(argv[1], argv[2], answers);
  if (!served) fprintf(stderr, "%s\n", served.error().Format().c_str());
  fflush(nullptr);
  // Without running destructors: a plugin's own are not safe at exit.
  _exit(served ? 0 : 1);
}
