#ifndef EIGHTFOLD_CLI_OPTIONS_H_
#define EIGHTFOLD_CLI_OPTIONS_H_

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pjrt/plugin.h"
#include "target/gpu.h"

namespace eightfold::cli {

// The options of every verb that compiles.
struct CompileFlags {
  std::string target;  // a name of the catalogue, or FILE.txtpb
  std::string plugin;  // a version or the path of a plugin library
  int partitions = 0;  // 0: what the program says
  std::string fix;     // "": compile as it is; planned or all: see rewrite::Extent
  double timeout_seconds = 600;
  double memory_gib = 0;   // 0: four fifths of the machine's memory
  bool verbose = false;    // print the plugin's log
  bool quiet = false;      // no progress line
  bool in_python = false;  // they are the arguments of Python's audit(), and messages name them so
};

// How a message names an option: "--partitions", and with a value "--partitions 8"; in Python
// "partitions" and "partitions=8".
std::string Spell(const CompileFlags& flags, std::string_view option, std::string_view value = {});

void AddTargetFlag(CLI::App& verb, CompileFlags& flags);
void AddCompileFlags(CLI::App& verb, CompileFlags& flags);  // with --target

// What to compile with and for.
struct Compiler {
  pjrt::Plugin plugin;
  target::Gpu gpu;
};

// Fills in what the flags leave open: the flag itself, then EIGHTFOLD_TARGET and EIGHTFOLD_PLUGIN,
// then eightfold.toml, then (for the plugin) the newest one in the cache. Errors list the choices.
Result<Compiler> ChooseCompiler(const CompileFlags& flags);

// The same for the GPU alone.
Result<target::Gpu> ChooseTarget(const CompileFlags& flags);

// The GPU that the flags, the environment or eightfold.toml name; nothing when none of them does.
Result<std::optional<target::Gpu>> ChosenTarget(const CompileFlags& flags);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_OPTIONS_H_
