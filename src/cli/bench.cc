#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/choice.h"
#include "cli/selfplay.h"
#include "cli/verb.h"
#include "hlo/proto/proto.h"
#include "selfplay/calibration.h"

namespace eightfold::cli {
namespace {

using hlo::PrimitiveType;
using selfplay::Precision;

enum class What { kForward, kMove };

struct Options {
  SelfplayFlags flags;
  What what = What::kMove;
  std::vector<Precision> precisions = {Precision::kBf16, Precision::kFp8};
  int runs = 20;
  std::string format = "table";
};

constexpr int kWarmUps = 3;

// One of the programs that are compared.
struct Contender {
  std::string name;
  pjrt::LoadedExecutable executable;
  std::vector<pjrt::Buffer> arguments;
  std::vector<double> seconds = {};  // of each run
};

// The value below which `share` of the sorted `values` are.
double Quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Result<std::string> Program(What what, const selfplay::ProgramOptions& options) {
  hlo::Module module;
  if (what == What::kForward) {
    BuildForward(module, options);
  } else {
    BuildPolicyMove(module, options);
  }
  return hlo::WriteProto(module);
}

// Behind the parameters: positions of random games for the network alone, starts of games for a
// move.
Result<void> AppendInputs(What what, const selfplay::ProgramOptions& program, uint64_t seed,
                          const pjrt::Client& client, std::vector<pjrt::Buffer>& to) {
  const selfplay::GameInfo& info = program.game->info();
  if (what == What::kForward) {
    EF_TRY(pjrt::Buffer observation,
           selfplay::UploadRandomObservations(client, info, program.batch, seed));
    to.push_back(std::move(observation));
    return {};
  }
  EF_TRY(pjrt::Buffer key,
         pjrt::Buffer::FromHost(client, {PrimitiveType::kU32, {2}},
                                std::vector<uint32_t>{static_cast<uint32_t>(seed >> 32),
                                                      static_cast<uint32_t>(seed)}));
  std::vector<uint64_t> starts;
  for (int64_t i = 0; i < program.batch; ++i) {
    starts.insert(starts.end(), {info.start[0], info.start[1], 0});
  }
  EF_TRY(pjrt::Buffer state,
         pjrt::Buffer::FromHost(
             client, {PrimitiveType::kU64, {program.batch, selfplay::Game::kWords}}, starts));
  to.push_back(std::move(key));
  to.push_back(std::move(state));
  return {};
}

Result<Contender> Prepare(const Options& options, const SelfplayDevice& device,
                          const selfplay::ProgramOptions& program,
                          const selfplay::Parameters& parameters, bool fixed) {
  EF_TRY(std::string bytes, Program(options.what, program));
  EF_TRY(pjrt::LoadedExecutable executable,
         fixed ? device.CompileFixed(bytes, rewrite::Extent::kPlanned) : device.Compile(bytes));
  Contender contender{.name = fmt::format("{}{}", Name(program.precision), fixed ? " fixed" : ""),
                      .executable = std::move(executable)};
  EF_TRY(contender.arguments, Upload(device.client(), parameters));
  EF_CHECK_OK(AppendInputs(options.what, program, options.flags.seed, device.client(),
                           contender.arguments));
  return contender;
}

Result<std::vector<Contender>> PrepareAll(const Options& options, const SelfplayDevice& device) {
  Waiting waiting("compiling", !options.flags.compile.quiet);
  std::vector<Contender> contenders;
  for (Precision precision : options.precisions) {
    selfplay::ProgramOptions program = options.flags.program;
    program.precision = precision;
    EF_TRY(selfplay::Parameters parameters, LoadNetwork(options.flags, device, program));
    const bool lost = precision == Precision::kFp8 && device.CanFix(rewrite::Extent::kPlanned);
    for (bool fixed : {false, true}) {
      if (fixed && !lost) continue;
      EF_TRY(Contender contender, Prepare(options, device, program, parameters, fixed));
      contenders.push_back(std::move(contender));
    }
  }
  return contenders;
}

Result<double> TimeOnce(const Contender& contender) {
  const auto start = std::chrono::steady_clock::now();
  EF_TRY(std::vector<pjrt::Buffer> results, contender.executable.Execute(contender.arguments));
  for (const pjrt::Buffer& result : results) EF_CHECK_OK(result.Await());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Takes turns, so that what else the machine does hits all alike.
Result<void> Measure(const Options& options, std::vector<Contender>& contenders) {
  Progress progress("measuring", !options.flags.compile.quiet);
  for (int run = -kWarmUps; run < options.runs; ++run) {
    progress.Update(std::max(0.0, static_cast<double>(run) / options.runs));
    for (Contender& contender : contenders) {
      EF_TRY(double seconds, TimeOnce(contender));
      if (run >= 0) contender.seconds.push_back(seconds);
    }
  }
  for (Contender& contender : contenders) std::ranges::sort(contender.seconds);
  return {};
}

std::string_view NameOf(What what) { return what == What::kForward ? "forward" : "move"; }

void PrintJson(const Options& options, const SelfplayDevice& device,
               const std::vector<Contender>& contenders) {
  const selfplay::ProgramOptions& program = options.flags.program;
  const double first = Quantile(contenders.front().seconds, 0.5);
  auto rows = nlohmann::ordered_json::array();
  for (const Contender& contender : contenders) {
    const std::vector<double>& seconds = contender.seconds;
    const double median = Quantile(seconds, 0.5);
    rows.push_back({{"precision", contender.name},
                    {"median_ms", 1e3 * median},
                    {"quartiles_ms", {1e3 * Quantile(seconds, .25), 1e3 * Quantile(seconds, .75)}},
                    {"fastest_ms", 1e3 * seconds.front()},
                    {"slowest_ms", 1e3 * seconds.back()},
                    {"boards_per_second", static_cast<double>(program.batch) / median},
                    {"ratio_to_first", median / first}});
  }
  nlohmann::ordered_json json = {{"what", NameOf(options.what)},
                                 {"game", program.game->info().name},
                                 {"batch", program.batch},
                                 {"width", program.width},
                                 {"blocks", program.blocks}};
  if (options.what == What::kMove) json["sims"] = program.simulations;
  json["device"] = device.client().device_kind();
  json["plugin"] = device.client().plugin().Name();
  json["runs"] = options.runs;
  json["warm_ups"] = kWarmUps;
  json["rows"] = std::move(rows);
  fmt::print("{}\n", DumpJson(json));
}

void PrintTable(const Options& options, const SelfplayDevice& device,
                const std::vector<Contender>& contenders) {
  const selfplay::ProgramOptions& program = options.flags.program;
  fmt::print(
      "{} of {} · batch {} · network {}x{}{} · {}\n\n", NameOf(options.what),
      program.game->info().name, program.batch, program.width, program.blocks,
      options.what == What::kMove ? fmt::format(" · {} simulations", program.simulations) : "",
      device.Title());
  fmt::print("  {:<12}{:>12}{:>23}{:>12}{:>13}  {}\n", "precision", "median ms", "middle half ms",
             "fastest ms", "boards/s", "time against " + contenders.front().name);
  const double first = Quantile(contenders.front().seconds, 0.5);
  for (const Contender& contender : contenders) {
    const std::vector<double>& seconds = contender.seconds;
    const double median = Quantile(seconds, 0.5);
    fmt::print("  {:<12}{:>12.3f}{:>23}{:>12.3f}{:>13.0f}  {:.3f}\n", contender.name, 1e3 * median,
               fmt::format("{:.3f} to {:.3f}", 1e3 * Quantile(seconds, 0.25),
                           1e3 * Quantile(seconds, 0.75)),
               1e3 * seconds.front(), static_cast<double>(program.batch) / median, median / first);
  }
}

Result<ExitCode> Run(Options options) {
  EF_TRY(SelfplayDevice device, SelfplayDevice::Open(options.flags));
  options.flags.program = device.Suited(options.flags.program);
  EF_TRY(std::vector<Contender> contenders, PrepareAll(options, device));
  EF_CHECK_OK(Measure(options, contenders));
  if (options.format == "json") {
    PrintJson(options, device, contenders);
  } else {
    PrintTable(options, device, contenders);
  }
  return ExitCode::kClean;
}

// "bf16,fp8"
void AddPrecisionsFlag(CLI::App& verb, std::vector<Precision>& precisions) {
  auto store = [&precisions](const std::string& words) {
    precisions.clear();
    for (size_t at = 0; at <= words.size();) {
      const size_t end = std::min(words.find(',', at), words.size());
      const std::string word = words.substr(at, end - at);
      at = end + 1;
      for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kFp8}) {
        if (word == Name(precision)) precisions.push_back(precision);
      }
      if (precisions.empty() || word != Name(precisions.back())) {
        throw CLI::ValidationError("--precision cannot have \"" + word +
                                   "\"\n  it is a list of f32, bf16, fp8");
      }
    }
  };
  verb.add_option_function<std::string>(
          "--precision", store,
          "those to compare, with the first one: of f32, bf16, fp8; default: bf16,fp8. On a GPU "
          "whose compiler loses FP8 convolutions, fp8 is there a second time, fixed")
      ->type_name("LIST");
}

}  // namespace

void RegisterBench(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(app, command, "bench",
                           "Time the network, or a policy move, of self-play in each precision",
                           {"eightfold bench move --precision f32,bf16,fp8 --width 32 --blocks 2",
                            "eightfold bench forward --device cuda --batch 1024 --format json"},
                           kCompilerExitCodes);
  auto options = std::make_shared<Options>();
  AddChoice<What>(*verb, "WHAT", options->what,
                  "forward: one evaluation of the network; move: a search with it",
                  {{"forward", What::kForward}, {"move", What::kMove}})
      ->required();
  AddSelfplayFlags(*verb, options->flags);
  AddPrecisionsFlag(*verb, options->precisions);
  verb->add_option("--runs", options->runs, "of each, after three to warm up")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddFormatOption(*verb, options->format);
  verb->add_flag("-q,--quiet", options->flags.compile.quiet, "no progress line");
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
