#include "cli/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/source.h"

namespace eightfold::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFileName[] = "eightfold.toml";

fs::path FindUpwards(fs::path folder) {
  std::error_code error;
  while (true) {
    if (fs::is_regular_file(folder / kFileName, error)) return folder / kFileName;
    if (!folder.has_relative_path()) return {};
    folder = folder.parent_path();
  }
}

// TOML counts lines and columns from 1, columns in code points: near enough for a caret.
Location Place(const Source& source, const toml::source_position& at) {
  std::string_view text = source.bytes();
  size_t offset = 0;
  for (uint32_t line = 1; line < at.line && offset < text.size(); ++line) {
    offset = text.find('\n', offset);
    if (offset == std::string_view::npos) break;
    ++offset;
  }
  offset = std::min(text.size(), offset);
  return LocateInText(source.name(), text, offset + (at.column == 0 ? 0 : at.column - 1));
}

Result<Defaults> ReadFile(const fs::path& path) {
  EF_TRY(std::shared_ptr<const Source> source, Source::Open(path.string()));
  toml::parse_result parsed = toml::parse(source->bytes(), source->name());
  if (!parsed) {
    return Fail({.what = std::string(parsed.error().description()),
                 .where = Place(*source, parsed.error().source().begin)});
  }
  Defaults defaults{.file = path.string()};
  for (auto&& [key, value] : parsed.table()) {
    std::string_view name = key.str();
    std::string* slot = name == "target"   ? &defaults.target
                        : name == "plugin" ? &defaults.plugin
                                           : nullptr;
    if (slot == nullptr) {
      std::string_view near = Nearest(name, {"target", "plugin"});
      return Fail({.what = fmt::format("unknown key {}", name),
                   .where = Place(*source, key.source().begin),
                   .next = near.empty() ? "the keys are target and plugin"
                                        : fmt::format("did you mean {}?", near)});
    }
    if (!value.is_string()) {
      return Fail({.what = fmt::format("{} must be a string", name),
                   .where = Place(*source, value.source().begin),
                   .next = fmt::format("write {} = \"…\"", name)});
    }
    *slot = value.as_string()->get();
    // Files are named as seen from the one that names them.
    bool is_file = slot->find('/') != std::string::npos || slot->ends_with(".txtpb");
    if (is_file) *slot = (path.parent_path() / *slot).lexically_normal().string();
  }
  return defaults;
}

void Override(std::string& value, const char* variable) {
  const char* set = std::getenv(variable);
  if (set != nullptr && *set != '\0') value = set;
}

}  // namespace

Result<Defaults> LoadDefaults(const fs::path& folder) {
  Defaults defaults;
  if (fs::path file = FindUpwards(folder); !file.empty()) {
    EF_TRY(defaults, ReadFile(file));
  }
  Override(defaults.target, "EIGHTFOLD_TARGET");
  Override(defaults.plugin, "EIGHTFOLD_PLUGIN");
  return defaults;
}

}  // namespace eightfold::cli
