#ifndef EIGHTFOLD_PJRT_FETCH_H_
#define EIGHTFOLD_PJRT_FETCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "pjrt/plugin.h"

namespace eightfold::pjrt {

// Called every few tenths of a second with the bytes that are on disk and, once known, the total.
using FetchProgress = std::function<void(uint64_t done, std::optional<uint64_t> total)>;

// Puts jax-cuda<cuda>-pjrt `version` into the cache, unless it is there, with `python3 -m pip
// download` ($EIGHTFOLD_PYTHON names another Python). The plugin appears by one rename, so nobody
// sees half of it; of two fetches at once the second waits for the first. What an interrupted fetch
// had completed is used again. Errors: no such version (the nearest are named), no pip, no network.
Result<Plugin> FetchPlugin(const std::string& version, int cuda, const FetchProgress& progress);

// The same for the plugin that runs programs on the CPU (FindCpuPlugin), in the one version whose
// content we know. Errors also: the wheel is not the known one.
Result<Plugin> FetchCpuPlugin(const FetchProgress& progress);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_FETCH_H_
