#include "cli/dump_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "cli/terminal.h"

namespace eightfold::cli {
namespace {

namespace fs = std::filesystem;

// The files that may hold the same module, best first.
constexpr std::string_view kEndings[] = {".hlo.pb", ".hlo", ".txt"};

// "module_0001.jit_f.sm_9.0_gpu_" of "…after_optimizations.txt", cut at the dot that ends the
// module's name; empty when `file` is no such file.
std::string NameBefore(const std::string& file, std::string_view stage, size_t& rank) {
  for (rank = 0; rank < std::size(kEndings); ++rank) {
    std::string tail = fmt::format("{}{}", stage, kEndings[rank]);
    if (!file.ends_with(tail)) continue;
    std::string front = file.substr(0, file.size() - tail.size());
    return front.substr(0, front.rfind(".sm_") == std::string::npos ? front.find_last_of('.')
                                                                    : front.rfind(".sm_"));
  }
  return "";
}

}  // namespace

Result<std::vector<DumpedModule>> FindDumpedModules(const std::string& directory) {
  struct Files {
    std::string path[2];  // before, after
    size_t rank[2] = {SIZE_MAX, SIZE_MAX};
  };
  // Of a partitioned program, the module after partitioning has the shapes of one device, as the
  // compiled one has.
  struct Stage {
    std::string_view name;
    int slot;
    size_t rank;
  };
  constexpr Stage kStages[] = {{"after_spmd_partitioner", 0, 0},
                               {"before_optimizations", 0, 1},
                               {"after_optimizations", 1, 0}};
  std::map<std::string, Files> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    std::string file = it->path().filename().string();
    for (const Stage& stage : kStages) {
      size_t rank = 0;
      std::string name = NameBefore(file, stage.name, rank);
      if (name.empty()) continue;
      rank += stage.rank * std::size(kEndings);
      Files& files = found[name];
      if (rank >= files.rank[stage.slot]) continue;
      files.rank[stage.slot] = rank;
      files.path[stage.slot] = it->path().string();
    }
  }
  if (error) return Fail(fmt::format("cannot read {}: {}", directory, error.message()));
  std::vector<DumpedModule> modules;
  for (auto& [name, files] : found) {
    if (!files.path[1].empty()) modules.push_back({name, files.path[1], files.path[0]});
  }
  if (modules.empty()) {
    return Fail(
        fmt::format("{} holds no compiled module (*after_optimizations.txt or .hlo.pb)", directory),
        "make a dump with XLA_FLAGS=--xla_dump_to=DIR, with --xla_dump_hlo_as_proto for faster "
        "reading");
  }
  return modules;
}

Result<AuditedDumps> AuditDumps(
    const std::string& directory, bool show_progress,
    const std::function<Result<report::Section>(const DumpedModule&)>& audit) {
  EF_TRY(std::vector<DumpedModule> modules, FindDumpedModules(directory));
  std::vector<std::optional<Result<report::Section>>> results(modules.size());
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  auto work = [&] {
    for (size_t i = next++; i < modules.size(); i = next++) {
      results[i].emplace(audit(modules[i]));
      ++done;
    }
  };
  {
    Progress progress(fmt::format("auditing {}", directory), show_progress);
    size_t workers =
        std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), modules.size());
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < workers; ++i) threads.emplace_back(work);
    while (done < modules.size()) {
      progress.Update(static_cast<double>(done) / static_cast<double>(modules.size()),
                      fmt::format("{} of {} modules", done.load(), modules.size()));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  AuditedDumps audited;
  for (auto& result : results) {
    if (!*result) {
      audited.errors.push_back(std::move(*result).error());
    } else if ((*result)->census.kernels.empty()) {
      ++audited.without_matrix_work;
    } else {
      audited.sections.push_back(std::move(**result));
    }
  }
  return audited;
}

}  // namespace eightfold::cli
