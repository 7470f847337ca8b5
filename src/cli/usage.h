#ifndef EIGHTFOLD_CLI_USAGE_H_
#define EIGHTFOLD_CLI_USAGE_H_

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "base/result.h"

namespace eightfold::cli {

// `text` with its spaces turned into line ends where a line would pass `columns`.
std::string Wrapped(const std::string& text, size_t columns);

// CLI11's help, with long descriptions broken into lines.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
};

// Parses the command line. Words that no verb takes are left over rather than thrown at once, so
// that the error can name the nearest verb or option. Throws CLI11's requests for help and the
// version.
Result<void> ParseCommandLine(CLI::App& app, int argc, char** argv);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_USAGE_H_
