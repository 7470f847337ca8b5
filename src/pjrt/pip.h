#ifndef EIGHTFOLD_PJRT_PIP_H_
#define EIGHTFOLD_PJRT_PIP_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "pjrt/fetch.h"

namespace eightfold::pjrt {

// Downloads the wheel of `package` `version` below `folder`, or finds it there whole. Returns its
// path.
Result<std::filesystem::path> DownloadWheel(const std::filesystem::path& folder,
                                            const std::string& package, const std::string& version,
                                            const FetchProgress& progress);

// Unpacks the plugin library, a file called `library`, and the package's metadata from `wheel` into
// `folder`, checking every file against the wheel's checksums, and the wheel against `sha256`
// unless that is empty.
Result<void> UnpackWheel(const std::filesystem::path& wheel, const std::filesystem::path& folder,
                         const std::string& library, const std::string& sha256 = "");

// Unpacks ptxas and libdevice from the wheel of CUDA's compiler into `folder`.
Result<void> UnpackToolkit(const std::filesystem::path& wheel, const std::filesystem::path& folder);

// The error for a version that pip did not find, from what pip said.
Error NoSuchVersion(const std::string& package, const std::string& version,
                    const std::string& pip_output);

// Those `count` of `versions` that are nearest to `wanted`, in order of version.
std::vector<std::string> NearestVersions(std::vector<std::string> versions,
                                         const std::string& wanted, size_t count);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_PIP_H_
