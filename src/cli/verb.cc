#include "cli/verb.h"

#include <fmt/format.h>

#include <CLI/Validators.hpp>

#include "cli/choice.h"
#include "cli/usage.h"

namespace eightfold::cli {

CLI::App* AddVerb(CLI::App& app, Command& command, const std::string& name,
                  const std::string& description, const std::vector<std::string>& examples,
                  const std::string& exit_codes) {
  CLI::App* verb = app.add_subcommand(name, description);
  AddChoice<ColorMode>(
      *verb, "--color", command.color,
      "auto (a terminal, and NO_COLOR is not set), always or never",
      {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}})
      ->type_name("WHEN");
  std::string footer = "Examples:\n";
  for (const std::string& example : examples) footer += fmt::format("  {}\n", example);
  footer += "\n" + Wrapped("Exit codes: " +
                               (exit_codes.empty() ? "0 done, 2 bad usage or input" : exit_codes),
                           98);
  verb->footer(footer);
  return verb;
}

void AddFormatOption(CLI::App& verb, std::string& format) {
  verb.add_option("--format", format, "table for people (the default), json for programs")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}).description(""));
}

}  // namespace eightfold::cli
