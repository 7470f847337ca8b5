// rewrite_differential_stock PLUGIN TARGET_CONFIG_FILE [FIX]: loads the plugin once and compiles
// the module in each file that standard input names, one a line. Answers each with a line: "ok",
// when the compiled module is in FILE.compiled, or the first line of the error. XLA_FLAGS says what
// to dump where. With FIX (a fix::Describe) the fix runs inside the plugin, through its pass hook.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "base/source.h"
#include "fix/fix_pass.h"
#include "pjrt/api.h"
#include "pjrt/pass_hook.h"

namespace eightfold::differential {
namespace {

// CompileOptionsProto{executable_build_options{num_replicas: 1, num_partitions: 1}}
constexpr std::string_view kOptions("\x1a\x04\x20\x01\x28\x01", 6);

std::string FirstLine(const Error& error) { return error.what.substr(0, error.what.find('\n')); }

std::string Compile(const pjrt::Api& api, const pjrt::Topology& topology, const std::string& file) {
  Result<std::shared_ptr<const Source>> program = Source::Open(file);
  if (!program) return program.error().what;
  Result<pjrt::Executable> compiled =
      pjrt::Executable::Compile(api, topology, (*program)->bytes(), "hlo", kOptions);
  if (!compiled) return FirstLine(compiled.error());
  Result<pjrt::OptimizedProgram> optimized = compiled->Optimized();
  if (!optimized) return FirstLine(optimized.error());
  Result<void> written = WriteFile(file + ".compiled", optimized->bytes);
  return written ? "ok" : FirstLine(written.error());
}

Result<std::optional<pjrt::PassHook>> Register(const pjrt::Api& api, const std::string& fix) {
  if (fix.empty()) return std::nullopt;
  EF_TRY(std::shared_ptr<pjrt::Pass> pass, fix::MakeFixPass(fix));
  EF_TRY(pjrt::PassHook hook,
         pjrt::PassHook::Register(api, "fix", pjrt::Stage::kPreScheduler, std::move(pass)));
  return hook;
}

Result<void> Serve(const std::string& plugin, const std::string& target_file,
                   const std::string& fix, FILE* answers) {
  EF_TRY(pjrt::Api api, pjrt::Api::Load(plugin));
  EF_TRY(auto hook, Register(api, fix));
  EF_TRY(std::shared_ptr<const Source> target, Source::Open(target_file));
  EF_TRY(pjrt::Topology topology,
         pjrt::Topology::Create(api, std::string(target->bytes()), "1x1x1"));
  for (std::string file; std::getline(std::cin, file);) {
    const uint64_t changed_before = hook ? hook->counts().changed : 0;
    std::string answer = Compile(api, topology, file);
    if (answer == "ok" && hook && hook->counts().changed > changed_before) answer += " fixed";
    fprintf(answers, "%s\n", answer.c_str());
    fflush(answers);
  }
  return {};
}

}  // namespace
}  // namespace eightfold::differential

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  // What the plugin prints goes to standard error, so that answers stand alone.
  FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  auto served = eightfold::differential::Serve(argv[1], argv[2], argc == 4 ? argv[3] : "", answers);
  if (!served) fprintf(stderr, "%s\n", served.error().Format().c_str());
  fflush(nullptr);
  // Without running destructors: a plugin's own are not safe at exit.
  _exit(served ? 0 : 1);
}
