#ifndef EIGHTFOLD_CLI_VERB_H_
#define EIGHTFOLD_CLI_VERB_H_

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal.h"

namespace eightfold::cli {

// What the command line comes down to. A verb's registration stores the function that does its work
// when the verb was named; main runs it after parsing.
struct Command {
  std::function<Result<ExitCode>()> run;
  ColorMode color = ColorMode::kAuto;
};

// Each verb has one file, named after it, that defines this one function: it adds the subcommand
// with its options. To add a verb, declare it here and list it in main.cc.
void RegisterAudit(CLI::App& app, Command& command);
void RegisterBench(CLI::App& app, Command& command);
void RegisterCensus(CLI::App& app, Command& command);
void RegisterCompile(CLI::App& app, Command& command);
void RegisterConvert(CLI::App& app, Command& command);
void RegisterFix(CLI::App& app, Command& command);
void RegisterPlay(CLI::App& app, Command& command);
void RegisterTargets(CLI::App& app, Command& command);
void RegisterPlugins(CLI::App& app, Command& command);

// Adds a subcommand with --color, whose --help ends with `examples` (one command line each) and the
// exit codes that `exit_codes` describes ("" : 0 and 2 are all there is).
CLI::App* AddVerb(CLI::App& app, Command& command, const std::string& name,
                  const std::string& description, const std::vector<std::string>& examples,
                  const std::string& exit_codes = "");

// --format table|json.
void AddFormatOption(CLI::App& verb, std::string& format);

// The exit codes of verbs that report findings.
inline constexpr char kReportExitCodes[] =
    "0 nothing at or above --fail-on, 1 findings, 2 bad usage or input, 3 the compiler failed or "
    "crashed";

// The exit codes of verbs that compile but have no findings.
inline constexpr char kCompilerExitCodes[] =
    "0 done, 2 bad usage or input, 3 the compiler failed or crashed";

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_VERB_H_
