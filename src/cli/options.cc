#include "cli/options.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/source.h"
#include "cli/config.h"
#include "target/catalogue.h"
#include "target/text_config.h"

namespace eightfold::cli {
namespace {

std::string TargetNames() {
  std::string names;
  for (const target::Gpu& gpu : target::All()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", gpu.name);
  }
  return names;
}

// A path is whatever has a slash or a dot in it: no GPU of the catalogue does.
Result<target::Gpu> FindTarget(const std::string& name) {
  if (name.find_first_of("/.") != std::string::npos) {
    EF_TRY(std::shared_ptr<const Source> source, Source::Open(name));
    return target::ParseTargetConfig(source);
  }
  EF_TRY(const target::Gpu* gpu, target::Find(name));
  return *gpu;
}

Result<Defaults> DefaultsHere() {
  std::error_code error;
  return LoadDefaults(std::filesystem::current_path(error));
}

}  // namespace

std::string Spell(const CompileFlags& flags, std::string_view option, std::string_view value) {
  std::string_view dashes = flags.in_python ? "" : "--", equals = flags.in_python ? "=" : " ";
  return fmt::format("{}{}{}{}", dashes, option, value.empty() ? "" : equals, value);
}

void AddTargetFlag(CLI::App& verb, CompileFlags& flags) {
  verb.add_option("--target", flags.target,
                  "GPU to compile for: a name that `eightfold targets` lists, or FILE.txtpb")
      ->type_name("GPU");
}

void AddCompileFlags(CLI::App& verb, CompileFlags& flags) {
  AddTargetFlag(verb, flags);
  verb.add_option(
          "--plugin", flags.plugin,
          "compiler: a version of jax-cuda12-pjrt (cuda13-VERSION for the other) or a path; "
          "default: the newest that is cached")
      ->type_name("VERSION|PATH");
  verb.add_option("--partitions", flags.partitions,
                  "devices that the program is partitioned over, where it does not say so itself")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--timeout", flags.timeout_seconds, "stop the compiler after this long")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 1e7))
      ->capture_default_str();
  verb.add_option("--memory,--memory-limit", flags.memory_gib,
                  "stop the compiler above this much memory; default: 4/5 of the machine's")
      ->type_name("GiB")
      ->check(CLI::Range(0.001, 1e6));
  verb.add_flag("-v,--verbose", flags.verbose, "print the compiler's log");
}

Result<std::optional<target::Gpu>> ChosenTarget(const CompileFlags& flags) {
  std::string name = flags.target;
  if (name.empty()) {
    EF_TRY(Defaults defaults, DefaultsHere());
    name = defaults.target;
  }
  if (name.empty()) return std::optional<target::Gpu>();
  EF_TRY(target::Gpu gpu, FindTarget(name));
  return std::optional<target::Gpu>(std::move(gpu));
}

Result<target::Gpu> ChooseTarget(const CompileFlags& flags) {
  EF_TRY(std::optional<target::Gpu> gpu, ChosenTarget(flags));
  if (!gpu) {
    return Fail("which GPU? give " + Spell(flags, "target"),
                fmt::format("targets: {}\nor set it once in eightfold.toml: target = \"rtx5070\"",
                            TargetNames()));
  }
  return *std::move(gpu);
}

Result<Compiler> ChooseCompiler(const CompileFlags& flags) {
  EF_TRY(target::Gpu gpu, ChooseTarget(flags));
  std::string wanted = flags.plugin;
  if (wanted.empty()) {
    EF_TRY(Defaults defaults, DefaultsHere());
    wanted = defaults.plugin;
  }
  EF_TRY(pjrt::Plugin plugin, pjrt::FindPlugin(wanted));
  return Compiler{.plugin = std::move(plugin), .gpu = std::move(gpu)};
}

}  // namespace eightfold::cli
