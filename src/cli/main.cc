#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "cli/usage.h"
#include "cli/verb.h"

namespace eightfold::cli {
namespace {

constexpr char kDescription[] =
    "Finds the FP8 and bf16 work that XLA silently compiled to run in a wider type. "
    "No GPU is needed to ask.";

int Exit(const Error& error) {
  std::fprintf(stderr, "%s\n", error.Format().c_str());
  return static_cast<int>(error.exit_code);
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "eightfold");
  app.allow_extras();
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "eightfold " EIGHTFOLD_VERSION);
  app.footer("eightfold COMMAND --help shows its options and two examples.");
  Command command;
  RegisterAudit(app, command);
  RegisterCensus(app, command);
  RegisterCompile(app, command);
  RegisterFix(app, command);
  RegisterConvert(app, command);
  RegisterPlay(app, command);
  RegisterBench(app, command);
  RegisterTargets(app, command);
  RegisterPlugins(app, command);

  try {
    if (auto parsed = ParseCommandLine(app, argc, argv); !parsed) return Exit(parsed.error());
  } catch (const CLI::Success& request) {  // --help or --version
    return app.exit(request);
  }
  try {
    Result<ExitCode> done = command.run();
    if (done && std::fflush(stdout) != 0) {
      return Exit({.what = fmt::format("cannot write standard output: {}", std::strerror(errno))});
    }
    return done ? static_cast<int>(*done) : Exit(done.error());
  } catch (const std::bad_alloc&) {
    return Exit({.what = "not enough memory"});
  }
}

}  // namespace
}  // namespace eightfold::cli

int main(int argc, char** argv) { return eightfold::cli::Main(argc, argv); }
