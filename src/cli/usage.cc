#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace eightfold::cli {
namespace {

// The innermost subcommand that was named.
CLI::App* Innermost(CLI::App& app) {
  CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
  return innermost;
}

std::string FullName(CLI::App& app) {
  std::string name = app.get_name();
  for (CLI::App* outer = app.get_parent(); outer != nullptr; outer = outer->get_parent()) {
    name = outer->get_name() + " " + name;
  }
  return name;
}

std::vector<std::string> VerbsOf(CLI::App& app) {
  std::vector<std::string> names;
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::vector<std::string> OptionsOf(CLI::App& app) {
  std::vector<std::string> names;
  for (CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

tl::unexpected<Error> Unknown(CLI::App& app, const std::string& word) {
  const bool option = word.starts_with("-") && word.size() > 1;
  const bool verb = !option && !VerbsOf(app).empty();
  const std::vector<std::string> names = option ? OptionsOf(app) : VerbsOf(app);
  // --target=x is misspelled in its first half only.
  std::string_view spelled = std::string_view(word).substr(0, word.find('='));
  std::string_view near = Nearest(spelled, {names.begin(), names.end()});
  std::string advice = near.empty() ? fmt::format("{} --help shows what there is", FullName(app))
                                    : fmt::format("did you mean {}?", near);
  if (near.empty() && verb) advice = fmt::format("the commands are {}", fmt::join(names, ", "));
  const char* kind = option ? "no such option" : verb ? "no such command" : "unexpected argument";
  return Fail(fmt::format("{}: {}", kind, word), advice);
}

// The first left-over word, options before others: a misspelled option also strands its value.
std::string FirstStray(const CLI::App& app) {
  std::vector<std::string> stray = app.remaining(/*recurse=*/true);
  if (stray.empty()) return "";
  auto option = std::find_if(stray.begin(), stray.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with("-");
  });
  return option == stray.end() ? stray.front() : *option;
}

constexpr size_t kLineColumns = 98;
constexpr size_t kDescriptionColumns = 68;  // beside the names

}  // namespace

std::string Wrapped(const std::string& text, size_t columns) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.size(), text.find(' ', at));
    if (column != 0) {
      bool fits = column + 1 + (end - at) <= columns;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out.append(text, at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return Wrapped(CLI::Formatter::make_option_desc(option), kDescriptionColumns);
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return Wrapped(app->get_description(), kLineColumns) + "\n";
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  std::stringstream out;
  CLI::detail::format_help(out, verb->get_name(),
                           Wrapped(verb->get_description(), kDescriptionColumns), column_width_);
  return out.str();
}

Result<void> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  std::string problem;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    problem = error.what();
  }
  CLI::App* verb = Innermost(app);
  if (std::string stray = FirstStray(app); !stray.empty()) return Unknown(*verb, stray);
  if (problem.empty() && verb == &app) problem = "a command is missing";
  if (problem.empty()) return {};
  return Fail(problem, fmt::format("{} --help shows how it is used", FullName(*verb)));
}

}  // namespace eightfold::cli
