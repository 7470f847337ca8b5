#include "pjrt/executable_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/hash.h"
#include "base/source.h"
#include "pjrt/job.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;

// An entry is this, the hash of what follows, and the executable.
constexpr std::string_view kMagic = "eightfold executable 1\n";

// Code for one processor may be wrong on another of the same plugin and program.
std::string Processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string processor;
  for (std::string line; std::getline(info, line) && !line.empty();) {
    if (line.starts_with("model name") || line.starts_with("flags") ||
        line.starts_with("Features")) {
      processor += line + '\n';
    }
  }
  return processor;
}

std::string DescribePlugin(const Plugin& plugin) {
  struct stat file {};
  if (stat(plugin.path.c_str(), &file) != 0) file = {};
  return fmt::format("{} {} {} {}.{:09}", plugin.package, plugin.version_text, file.st_size,
                     file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

// What follows the header of the entry in `file`; nothing when it is not a whole one.
std::optional<std::string> ReadEntry(const fs::path& file) {
  Result<std::string> bytes = ReadFile(file);
  uint64_t hash = 0;
  if (!bytes || !bytes->starts_with(kMagic) || bytes->size() < kMagic.size() + sizeof(hash)) {
    return std::nullopt;
  }
  std::memcpy(&hash, bytes->data() + kMagic.size(), sizeof(hash));
  std::string executable = bytes->substr(kMagic.size() + sizeof(hash));
  if (HashBytes(executable) != hash) return std::nullopt;
  return executable;
}

Result<void> Store(const fs::path& file, const LoadedExecutable& executable) {
  EF_TRY(std::string bytes, executable.Serialize());
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    return Fail(fmt::format("cannot create {}: {}", file.parent_path().string(), error.message()));
  }
  const uint64_t hash = HashBytes(bytes);
  std::string entry(kMagic);
  entry.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
  entry += bytes;
  return WriteFile(file.string(), entry);
}

}  // namespace

ExecutableCache::ExecutableCache() : folder_(CacheFolder() / "executables") {}

fs::path ExecutableCache::EntryFor(const Client& client, std::string_view program,
                                   const ExecutableOptions& options) const {
  const char* flags = std::getenv("XLA_FLAGS");
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", DescribePlugin(client.plugin()), client.api().minor_version(),
      client.device_kind(), Processor(), flags == nullptr ? "" : flags, SerializeOptions(options));
  // Two hashes: 128 bits do not meet by accident.
  const uint64_t seed = HashBytes(key);
  return folder_ /
         fmt::format("{:016x}{:016x}", HashBytes(program, seed), HashBytes(program, ~seed));
}

Result<ExecutableCache::Loaded> ExecutableCache::Load(const Client& client,
                                                      std::string_view program,
                                                      const ExecutableOptions& options) const {
  const fs::path file = EntryFor(client, program, options);
  if (std::optional<std::string> entry = ReadEntry(file)) {
    Result<LoadedExecutable> loaded = LoadedExecutable::Deserialize(client, program, *entry);
    if (loaded) return Loaded{*std::move(loaded), true};
  }
  EF_TRY(LoadedExecutable compiled, LoadedExecutable::Compile(client, program, options));
  Loaded loaded{std::move(compiled)};
  if (Result<void> stored = Store(file, loaded.executable); !stored) {
    loaded.store_error = stored.error().what;
  }
  return loaded;
}

}  // namespace eightfold::pjrt
