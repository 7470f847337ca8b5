#include "cli/compiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/terminal.h"
#include "hlo/proto/proto.h"
#include "hlo/sharding.h"

namespace eightfold::cli {
namespace {

constexpr int64_t kMostDevices = 1 << 20;

// Plugins abort on counts below 1; files may hold any number.
int DeviceCount(int64_t count) {
  return static_cast<int>(std::clamp<int64_t>(count, 1, kMostDevices));
}

// "mhlo.num_partitions = 8 : i32" among the attributes of a StableHLO text's module; 0: not there.
int StableHloInt(std::string_view text, std::string_view name) {
  std::string_view header = text.substr(0, text.find('\n', text.find("module")));
  size_t at = header.find(name);
  if (at == std::string_view::npos) return 0;
  header.remove_prefix(at + name.size());
  header.remove_prefix(std::min(header.size(), header.find_first_not_of(" =")));
  int value = 0;
  std::from_chars(header.data(), header.data() + header.size(), value);
  return value;
}

Result<void> PrepareHlo(const Input& input, const Compiler& compiler, Prepared& prepared) {
  EF_TRY(prepared.module, LoadModule(input));
  EF_TRY(std::string bytes, hlo::WriteProto(*prepared.module, hlo::ProtoKind::kModule,
                                            ProtoTargetOf(compiler.plugin.version)));
  prepared.bytes = std::make_unique<std::string>(std::move(bytes));
  prepared.request.program = *prepared.bytes;
  prepared.request.num_partitions = DeviceCount(prepared.module->num_partitions);
  prepared.request.num_replicas = DeviceCount(prepared.module->replica_count);
  return {};
}

Result<void> PrepareRaw(const Input& input, Prepared& prepared) {
  if (input.kind == InputKind::kHloText) {
    return Fail(fmt::format("{} is HLO text, which no plugin takes as it is", input.source->name()),
                "leave out --raw, or make a proto first: eightfold convert IN.hlo OUT.pb");
  }
  prepared.request.program = input.source->bytes();
  return {};
}

// Whether StableHLO bytecode holds shardings. How many devices they are over is encoded too deep to
// read here.
bool HoldsShardings(std::string_view bytecode) {
  constexpr std::string_view kSigns[] = {"mhlo.sharding", "sdy.sharding", "sdy.mesh"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return bytecode.find(sign) != std::string_view::npos; });
}

// XLA compiles for one device, without a word, what is sharded over more: the number must be known.
Result<void> CheckPartitions(const Input& input, const Prepared& prepared,
                             const CompileFlags& flags) {
  const std::string& name = prepared.request.program_name;
  if (prepared.module != nullptr && prepared.request.num_partitions == 1) {
    int64_t devices = hlo::ShardedOver(*prepared.module);
    if (devices > 1) {
      return Fail(fmt::format("{} is sharded over {} devices, and does not say how many it is for",
                              name, devices),
                  fmt::format("say {}, or {} to compile the whole for one device",
                              Spell(flags, "partitions", std::to_string(devices)),
                              Spell(flags, "partitions", "1")));
    }
  }
  if (input.kind == InputKind::kStableHloBytecode && HoldsShardings(prepared.request.program)) {
    return Fail(
        fmt::format("{} is sharded, and bytecode is not asked how many devices it is for", name),
        fmt::format("say {}, or hand over StableHLO text, which is asked",
                    Spell(flags, "partitions", "N")));
  }
  return {};
}

}  // namespace

hlo::ProtoTarget ProtoTargetOf(const target::PluginVersion& version) {
  const auto [major, minor, patch] = version.Release();
  return {major, minor, patch};
}

Result<Prepared> Prepare(const Input& input, const Compiler& compiler, const CompileFlags& flags,
                         const PrepareOptions& options) {
  if (input.kind == InputKind::kDumpDirectory) {
    return Fail(fmt::format("{} is a directory", input.path), "name one of the files in it");
  }
  Prepared prepared;
  prepared.source = input.source;
  pjrt::CompileRequest& request = prepared.request;
  request.program_name = input.source->name();
  request.plugin = compiler.plugin;
  request.gpu = compiler.gpu;
  request.dump_dir = options.dump_dir;
  request.timeout = std::chrono::seconds(static_cast<int64_t>(flags.timeout_seconds));
  request.memory_limit_bytes = static_cast<uint64_t>(flags.memory_gib * (1 << 30));
  bool stable_hlo =
      input.kind == InputKind::kStableHloText || input.kind == InputKind::kStableHloBytecode;
  if (stable_hlo) {
    request.format = pjrt::CompileRequest::Format::kMlir;
    request.program = input.source->bytes();
    if (input.kind == InputKind::kStableHloText) {
      request.num_partitions = DeviceCount(StableHloInt(request.program, "mhlo.num_partitions"));
      request.num_replicas = DeviceCount(StableHloInt(request.program, "mhlo.num_replicas"));
    }
  } else {
    EF_CHECK_OK(options.raw ? PrepareRaw(input, prepared) : PrepareHlo(input, compiler, prepared));
  }
  if (flags.partitions != 0) {
    request.num_partitions = flags.partitions;
  } else if (!options.raw) {
    EF_CHECK_OK(CheckPartitions(input, prepared, flags));
  }
  return prepared;
}

Result<pjrt::CompileResult> CompileWithProgress(const Prepared& prepared,
                                                const CompileFlags& flags) {
  std::string log;
  pjrt::CompileRequest request = prepared.request;
  request.log = &log;
  auto result = [&] {
    Waiting waiting(
        fmt::format("compiling {} with {}", request.program_name, request.plugin.Name()),
        !flags.quiet);
    return pjrt::Compile(request);
  }();
  if (flags.verbose) fmt::print(stderr, "{}", log);
  return result;
}

}  // namespace eightfold::cli
