#ifndef EIGHTFOLD_CLI_CONFIG_H_
#define EIGHTFOLD_CLI_CONFIG_H_

#include <filesystem>
#include <string>

#include "base/result.h"

namespace eightfold::cli {

// What a project or user set once so as not to say it in every command. Empty: not set.
struct Defaults {
  std::string target;
  std::string plugin;
  std::string file;  // the eightfold.toml that was read; empty: there is none
};

// The environment (EIGHTFOLD_TARGET, EIGHTFOLD_PLUGIN) over the nearest eightfold.toml in `folder`
// or a folder above it. Errors: the file is no TOML, holds a key that we do not know, or a value
// that is no string; each placed in the file.
Result<Defaults> LoadDefaults(const std::filesystem::path& folder);

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_CONFIG_H_
