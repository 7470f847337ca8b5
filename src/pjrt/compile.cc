#include "pjrt/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/source.h"
#include "pjrt/crash.h"
#include "pjrt/run_worker.h"

namespace eightfold::pjrt {
namespace {

namespace fs = std::filesystem;

// What a dump file's name ends with, after "module_0001.NAME.".
constexpr std::string_view kBeforeDump = ".before_optimizations.hlo.pb";
constexpr std::string_view kPartitionedDump = ".after_spmd_partitioner.hlo.pb";
constexpr std::string_view kAfterDump = "_gpu_after_optimizations.hlo.pb";

// Plugins before 0.9 cannot hand over the compiled module; its dump can be read instead.
bool HandsOverModule(const Plugin& plugin) {
  return plugin.version >= target::PluginVersion{{0, 9, 0}};
}

// Whether the program's shardings are Shardy's (JAX's default since 0.7) rather than GSPMD's: XLA
// must be told, and rejects the program when told wrongly.
bool UsesShardy(std::string_view program) {
  constexpr std::string_view kBytecode = "ML\xefR";
  if (program.starts_with(kBytecode)) return program.find("sdy") != std::string_view::npos;
  return program.find("xla.sdy.") != std::string_view::npos ||
         program.find("sdy.mesh") != std::string_view::npos;
}

// A serialized CompileOptionsProto. Nothing else is set, so that the plugin's own defaults hold.
std::string CompileOptions(const CompileRequest& request) {
  std::string build_options;
  protozero::pbf_writer build(build_options);
  build.add_int64(4, request.num_replicas);
  build.add_int64(5, request.num_partitions);
  if (request.num_partitions > 1) {
    build.add_bool(6, true);                                    // use_spmd_partitioning
    if (UsesShardy(request.program)) build.add_bool(19, true);  // use_shardy_partitioner
  }
  std::string options;
  protozero::pbf_writer(options).add_message(3, build_options);
  return options;
}

std::string XlaFlags(const CompileRequest& request, const std::string& dump_dir) {
  // Later flags win: the user's own over ours, except where our results depend on them.
  std::string flags;
  if (!HandsOverModule(request.plugin)) {
    // These releases insist on autotuning matmuls, for which they lack the device.
    flags = "--xla_gpu_autotune_level=0 ";
  }
  if (const char* environment = std::getenv("XLA_FLAGS"); environment != nullptr) {
    flags += environment;
  }
  for (const std::string& flag : request.xla_flags) flags += " " + flag;
  if (!dump_dir.empty())
    flags += fmt::format(" --xla_dump_to={} --xla_dump_hlo_as_proto", dump_dir);
  if (!request.dump_dir.empty()) flags += " --xla_dump_hlo_pass_re=.*";
  return flags;
}

uint64_t DefaultMemoryLimit() {
  const uint64_t pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 5 * 4;
}

// The file in `folder` that ends with `suffix`. A plugin also compiles small modules on the side
// (for autotuning, constant folding): the program is the largest.
std::optional<fs::path> LargestDump(const fs::path& folder, std::string_view suffix) {
  std::optional<fs::path> largest;
  uintmax_t largest_size = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().ends_with(suffix)) continue;
    const uintmax_t size = entry.file_size(error);
    if (largest && size <= largest_size) continue;
    largest = entry.path();
    largest_size = size;
  }
  return largest;
}

// The HloModuleProto inside a dumped HloProto (field 1).
Result<std::string> ReadDump(const fs::path& folder, std::string_view suffix,
                             const CompileRequest& request) {
  const std::optional<fs::path> file = LargestDump(folder, suffix);
  if (!file) {
    return FailCompiler(fmt::format("plugin {} compiled {} but did not dump *{}",
                                    request.plugin.Name(), request.program_name, suffix),
                        "does XLA_FLAGS restrict what is dumped?");
  }
  EF_TRY(std::string dump, ReadFile(*file));
  try {
    protozero::pbf_reader reader(dump);
    if (reader.next(1)) return std::string(reader.get_view());
  } catch (const protozero::exception&) {
    // Falls through to the error below.
  }
  return FailCompiler(fmt::format("{} is not a HloProto", file->filename().string()));
}

// On a machine without CUDA's tools (ptxas, libdevice) or driver the plugin optimizes a program,
// dumps the result, and then fails to turn it into machine code, which nobody here wants: 0.12
// crashes there, the others say so.
bool FailedAfterOptimizing(const WorkerRun& run, const fs::path& dump) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const bool lacks_tools =
      has(run.answer.error, "No PTX compilation provider") ||
      has(run.answer.error, "Failed call to cuInit") ||
      (run.outcome.how == Outcome::How::kSignal && has(run.log, "Can't find libdevice directory"));
  return lacks_tools && !dump.empty() && LargestDump(dump, kAfterDump).has_value();
}

Result<void> CollectModules(const CompileRequest& request, const fs::path& folder,
                            const fs::path& dump, const WorkerRun& run, bool from_dump,
                            CompileResult& result) {
  if (request.format == CompileRequest::Format::kHlo) {
    // XLA's own dump holds the same module; only the numbering of ids can differ.
    result.before = request.program;
  } else {
    EF_TRY(result.before, ReadDump(dump, kBeforeDump, request));
  }
  if (request.num_partitions > 1) {
    EF_TRY(result.partitioned, ReadDump(dump, kPartitionedDump, request));
  }
  if (!from_dump) {
    EF_TRY(result.after, ReadFile(folder / kAfterFile));
    result.after_has_config = run.answer.after_format == "hlo_with_config";
  } else {
    EF_TRY(result.after, ReadDump(dump, kAfterDump, request));
  }
  return {};
}

void TakePassResults(Answer& answer, CompileResult& result) {
  result.pass_report = std::move(answer.pass_report);
  result.pass_error = std::move(answer.pass_error);
  result.pass_calls = answer.pass_calls;
  result.pass_changed = answer.pass_changed;
  result.pass_failed = answer.pass_failed;
  result.pass_seconds = answer.pass_seconds;
  result.compile_seconds = answer.compile_seconds;
}

}  // namespace

Result<CompileResult> Compile(const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  EF_TRY(TempFolder temp, TempFolder::Create());
  const fs::path& folder = temp.get();
  const bool hlo = request.format == CompileRequest::Format::kHlo;
  // Where the dump is not needed, a place for it that the user chose is left alone.
  const char* environment = std::getenv("XLA_FLAGS");
  const bool dumps_elsewhere =
      environment != nullptr && std::strstr(environment, "--xla_dump_to") != nullptr;
  const bool need_dump = !hlo || request.num_partitions > 1 || !HandsOverModule(request.plugin);
  fs::path dump;
  if (!request.dump_dir.empty()) {
    std::error_code error;
    dump = fs::absolute(request.dump_dir, error);
    fs::create_directories(dump, error);
    if (error) {
      return Fail(fmt::format("cannot create {}: {}", dump.string(), error.message()));
    }
  } else if (need_dump || !dumps_elsewhere) {
    dump = folder / kDumpFolder;
  }

  Job job;
  job.plugin_path = request.plugin.path;
  job.target_config = target::WriteTargetConfig(request.gpu, request.plugin.version);
  job.format = hlo ? "hlo" : "mlir";
  job.pass = request.pass;
  job.want_optimized = HandsOverModule(request.plugin);
  job.timeout_seconds = static_cast<double>(request.timeout.count());
  job.memory_limit_bytes =
      request.memory_limit_bytes != 0 ? request.memory_limit_bytes : DefaultMemoryLimit();
  EF_CHECK_OK(WriteFile((folder / kProgramFile).string(), request.program));
  EF_CHECK_OK(WriteFile((folder / kOptionsFile).string(), CompileOptions(request)));
  EF_TRY(WorkerRun run, RunWorker(folder, job, XlaFlags(request, dump.string())));
  if (request.log != nullptr) *request.log = run.log;
  const bool unfinished = FailedAfterOptimizing(run, dump);
  if (!unfinished) {
    EF_CHECK_OK(CheckRun(run, {request.plugin.Name(), request.program_name, job.timeout_seconds,
                               job.memory_limit_bytes}));
  }
  CompileResult result;
  EF_CHECK_OK(CollectModules(request, folder, dump, run,
                             unfinished || !HandsOverModule(request.plugin), result));
  TakePassResults(run.answer, result);
  result.log = std::move(run.log);
  result.peak_memory_bytes = run.outcome.peak_bytes;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

}  // namespace eightfold::pjrt
