#ifndef EIGHTFOLD_PJRT_EXECUTABLE_CACHE_H_
#define EIGHTFOLD_PJRT_EXECUTABLE_CACHE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pjrt/execute.h"

namespace eightfold::pjrt {

// Compiled programs on disk: a policy move loads in a fraction of a second instead of compiling for
// several. An entry is found again by the program, the options, XLA_FLAGS, the plugin (name,
// version, size and time of its file) and the device (of a CPU: model and instruction sets).
// Processes may share a folder; entries appear by one rename. A damaged entry counts as none.
class ExecutableCache {
 public:
  // CacheFolder()/executables, or a folder of one's own, which is made when it is first written.
  ExecutableCache();
  explicit ExecutableCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Loaded {
    LoadedExecutable executable;
    bool from_cache = false;
    // Why the program could not be stored; it runs all the same.
    std::string store_error = {};
  };
  // The program from the cache, else compiled and stored.
  Result<Loaded> Load(const Client& client, std::string_view program,
                      const ExecutableOptions& options = {}) const;

  // Where the entry of such a program would be.
  std::filesystem::path EntryFor(const Client& client, std::string_view program,
                                 const ExecutableOptions& options = {}) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_EXECUTABLE_CACHE_H_
