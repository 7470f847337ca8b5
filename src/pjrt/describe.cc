#include "pjrt/describe.h"

#include <filesystem>

#include "pjrt/crash.h"
#include "pjrt/run_worker.h"

namespace eightfold::pjrt {
namespace {

// The first release seen with at least this ABI version (0.minor).
struct Release {
  int abi_minor;
  const char* version;
};
constexpr Release kReleases[] = {
    {116, "0.12.0"}, {115, "0.11.0"}, {112, "0.10.2"}, {100, "0.9.2"}, {70, "0.6.2"},
};

}  // namespace

Result<Plugin> DescribeLibrary(const std::string& library) {
  EF_TRY(TempFolder folder, TempFolder::Create());
  Job job;
  job.kind = Job::Kind::kDescribe;
  job.plugin_path = library;
  job.timeout_seconds = 60;
  Plugin plugin;
  plugin.package = std::filesystem::path(library).filename().string();
  plugin.path = library;
  EF_TRY(WorkerRun run, RunWorker(folder.get(), job, ""));
  EF_CHECK_OK(CheckRun(run, {plugin.Name(), "", job.timeout_seconds, job.memory_limit_bytes}));
  for (const Release& release : kReleases) {
    if (run.answer.api_minor < release.abi_minor) continue;
    plugin.version = target::PluginVersion::Parse(release.version);
    break;
  }
  return plugin;
}

}  // namespace eightfold::pjrt
