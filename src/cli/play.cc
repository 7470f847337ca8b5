#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "cli/fixing.h"
#include "cli/selfplay.h"
#include "cli/verb.h"
#include "selfplay/run.h"

namespace eightfold::cli {
namespace {

using selfplay::Checkpoint;
using selfplay::RunSummary;

struct Options {
  SelfplayFlags flags;
  selfplay::RunOptions run;
  int64_t games = 0;  // 0: one batch
  std::string out = "games";
  std::string format = "table";
};

// The signal that asked the run to stop; 0: none.
volatile sig_atomic_t asked_to_stop = 0;

void AskToStop(int signal) { asked_to_stop = signal; }

// While it lives, Ctrl-C and SIGTERM end the run after the move and a checkpoint; a second one ends
// the process at once. What was ignored before, as in background jobs of scripts, stays so.
class StopOnSignals {
 public:
  StopOnSignals() {
    Catch(SIGINT, interrupt_);
    Catch(SIGTERM, terminate_);
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
  ~StopOnSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }

 private:
  static void Catch(int signal, struct sigaction& before) {
    struct sigaction action {};
    action.sa_handler = AskToStop;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, &before);
    if (before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
  }

  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

std::string HashOf(const selfplay::Parameters& parameters) {
  uint64_t hash = 0;
  for (const selfplay::Tensor& tensor : parameters) hash = HashBytes(tensor.bytes, hash);
  return fmt::format("{:016x}", hash);
}

std::string XlaFlags() {
  const char* flags = std::getenv("XLA_FLAGS");
  return flags == nullptr || *flags == '\0' ? "none" : flags;
}

// With what else the numbers depend on: a run does not go on elsewhere.
selfplay::RunSettings SettingsOf(const Options& options, const SelfplayDevice& device,
                                 const selfplay::Parameters& parameters) {
  const selfplay::ProgramOptions& program = options.flags.program;
  return {{"game", std::string(program.game->info().name)},
          {"games", fmt::to_string(options.games)},
          {"games-per-shard", fmt::to_string(options.run.games_per_shard)},
          {"batch", fmt::to_string(program.batch)},
          {"sims", fmt::to_string(program.simulations)},
          {"width", fmt::to_string(program.width)},
          {"blocks", fmt::to_string(program.blocks)},
          {"precision", std::string(Name(program.precision))},
          {"root-in-loop", program.root_in_loop ? "yes" : "no"},
          {"seed", fmt::to_string(options.flags.seed)},
          {"network", HashOf(parameters)},
          {"device", device.client().device_kind()},
          {"plugin", device.client().plugin().Name()},
          {"fix", options.flags.compile.fix.empty() ? "no" : options.flags.compile.fix},
          {"XLA_FLAGS", XlaFlags()}};
}

double Rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

void PrintJson(const Options& options, const SelfplayDevice& device, const RunSummary& summary) {
  const auto games = static_cast<double>(summary.games - summary.first_games);
  const nlohmann::ordered_json json = {
      {"game", options.flags.program.game->info().name},
      {"out", options.out},
      {"device", device.client().device_kind()},
      {"plugin", device.client().plugin().Name()},
      {"finished", summary.finished},
      {"games", summary.games},
      {"games_before", summary.first_games},
      {"moves", summary.moves},
      {"shards", summary.shards},
      {"seconds", summary.seconds},
      {"games_per_second", Rate(games, summary.seconds)},
      {"moves_per_second", Rate(static_cast<double>(summary.moves), summary.seconds)}};
  fmt::print("{}\n", DumpJson(json));
}

std::string Files(int64_t count) { return fmt::format("{} file{}", count, count == 1 ? "" : "s"); }

void PrintTable(const Options& options, const SelfplayDevice& device, const RunSummary& summary) {
  const int64_t games = summary.games - summary.first_games;
  fmt::print("{} of {} games of {}{} · {} · in {}/, {}\n", summary.games, options.games,
             options.flags.program.game->info().name,
             summary.first_games > 0 ? fmt::format(", {} of them before", summary.first_games) : "",
             device.Title(), options.out, Files(summary.shards));
  if (summary.moves == 0) return;
  fmt::print("{} moves in {:.1f} s: {:.0f} moves/s, {:.1f} games/s\n", summary.moves,
             summary.seconds, Rate(static_cast<double>(summary.moves), summary.seconds),
             Rate(static_cast<double>(games), summary.seconds));
}

Result<selfplay::Actor> MakeActor(const Options& options, const SelfplayDevice& device,
                                  const selfplay::Parameters& parameters) {
  Waiting waiting("compiling the policy move", !options.flags.compile.quiet);
  const CompileFlags& flags = options.flags.compile;
  auto compile = [&](const std::string& program) {
    return flags.fix.empty() ? device.Compile(program)
                             : device.CompileFixed(program, ExtentOf(flags));
  };
  return selfplay::Actor::Create(
      device.client(),
      {.program = options.flags.program, .games = options.games, .seed = options.flags.seed},
      parameters, compile);
}

Result<RunSummary> PlayGames(const Options& options, const selfplay::RunFolder& folder,
                             Checkpoint start, selfplay::Actor& actor) {
  Progress progress("playing", !options.flags.compile.quiet);
  auto show = [&](const RunSummary& so_far) {
    const auto games = static_cast<double>(so_far.games - so_far.first_games);
    progress.Update(static_cast<double>(so_far.games) / static_cast<double>(options.games),
                    fmt::format("{} of {} games, {:.1f}/s", so_far.games, options.games,
                                Rate(games, so_far.seconds)));
    return asked_to_stop == 0;
  };
  return selfplay::Play(folder, *options.flags.program.game, std::move(start), actor, options.run,
                        show);
}

Result<RunSummary> PlayOrSum(const Options& options, const SelfplayDevice& device,
                             const selfplay::Parameters& parameters,
                             const selfplay::RunFolder& folder) {
  EF_TRY(Checkpoint start,
         folder.Load(*options.flags.program.game, SettingsOf(options, device, parameters)));
  if (!start.state.seats.empty() && start.state.playing() == 0) {
    return RunSummary{.finished = true,
                      .games = options.games,
                      .first_games = options.games,
                      .shards = start.shards};
  }
  EF_TRY(selfplay::Actor actor, MakeActor(options, device, parameters));
  const StopOnSignals signals;
  return PlayGames(options, folder, std::move(start), actor);
}

Result<ExitCode> Run(Options options) {
  if (!(options.run.checkpoint_seconds >= 0)) return Fail("--checkpoint is not a number");
  selfplay::ProgramOptions& program = options.flags.program;
  if (options.games == 0) options.games = program.batch;
  EF_TRY(SelfplayDevice device, SelfplayDevice::Open(options.flags));
  program = device.Suited(program);
  EF_TRY(selfplay::Parameters parameters, LoadNetwork(options.flags, device, program));
  EF_TRY(selfplay::RunFolder folder, selfplay::RunFolder::Open(options.out));
  EF_TRY(RunSummary summary, PlayOrSum(options, device, parameters, folder));
  if (options.format == "json") {
    PrintJson(options, device, summary);
  } else {
    PrintTable(options, device, summary);
  }
  if (summary.finished) return ExitCode::kClean;
  std::fflush(stdout);
  fmt::print(stderr, "stopped; the same command goes on from here\n");
  raise(asked_to_stop);
  return ExitCode::kClean;
}

}  // namespace

void RegisterPlay(CLI::App& app, Command& command) {
  CLI::App* verb = AddVerb(
      app, command, "play",
      "Play games against oneself with Gumbel MuZero, one XLA program a move, and keep them for "
      "training",
      {"eightfold play --game tictactoe --width 16 --blocks 1 --games 1000 --out games",
       "eightfold play --game othello6 --batch 256 --sims 16 --precision fp8 --device cuda --fix"},
      kCompilerExitCodes);
  auto options = std::make_shared<Options>();
  AddSelfplayFlags(*verb, options->flags);
  AddPrecisionFlag(*verb, options->flags.program.precision);
  AddFixFlag(*verb, options->flags.compile);
  verb->add_option("--games", options->games, "how many to play; default: as many as --batch")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  verb->add_option("-o,--out", options->out,
                   "folder for the games; where there is a run that was stopped, it goes on")
      ->type_name("DIR")
      ->check(NotEmpty)
      ->capture_default_str();
  verb->add_option("--games-per-shard", options->run.games_per_shard, "in one file")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  verb->add_option("--checkpoint", options->run.checkpoint_seconds,
                   "how often to note where the run is; 0: after every move")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  AddFormatOption(*verb, options->format);
  verb->add_flag("-q,--quiet", options->flags.compile.quiet, "no progress line");
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
