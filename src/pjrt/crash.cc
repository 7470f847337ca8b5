#include "pjrt/crash.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace eightfold::pjrt {
namespace {

constexpr size_t kQuotedBytes = 400;

// Known messages, first match wins.
struct Known {
  std::string_view pattern;
  std::string_view advice;
};
constexpr Known kKnown[] = {
    {"unique_id_", "this version cannot take 64-bit instruction ids; try --plugin 0.9.2 or newer"},
    {"vector::_M_default_append",
     "an instruction id far above the others makes XLA allocate a huge table: leave out --raw to "
     "renumber them"},
    {"bad_alloc",
     "it ran into the memory limit (--memory-limit raises it); an instruction id far "
     "above the others makes XLA allocate a huge table: leave out --raw to renumber them"},
    {"No PTX compilation provider",
     "CUDA's assembler is missing: eightfold plugins fetch VERSION puts it beside the plugin"},
    {"libdevice not found",
     "CUDA's device library is missing: eightfold plugins fetch VERSION puts it beside the plugin"},
    {"Unknown flag", "check XLA_FLAGS: each plugin version knows other flags"},
    {"GpuTargetConfigProto",
     "this version does not know a field of the target config; the log (-v) "
     "names it"},
    {"No registered compiler",
     "this plugin cannot compile without a device; it takes a CUDA plugin"},
    {"No compiler", "this plugin cannot compile without a device; it takes a CUDA plugin"},
};

bool IsFatal(std::string_view line) {
  static constexpr std::string_view kMarks[] = {"Check failed", "what():",      "terminate called",
                                                "LLVM ERROR",   "Unknown flag", "Assertion",
                                                "FATAL",        "Fatal"};
  for (std::string_view mark : kMarks) {
    if (line.find(mark) != std::string_view::npos) return true;
  }
  // glog's fatal lines: F1130 01:19:03.583840 …
  return line.size() > 5 && line[0] == 'F' && line[1] >= '0' && line[1] <= '9' && line[4] >= '0' &&
         line[4] <= '9' && line[5] == ' ';
}

bool IsNoise(std::string_view line) {
  const size_t text = line.find_first_not_of(" \t");
  if (text == std::string_view::npos) return true;
  line.remove_prefix(text);
  return line.starts_with("***") || line.starts_with("@ ") || line.starts_with("#") ||
         line.starts_with("PC: ") || line.starts_with("WARNING: All log messages");
}

// "F1130 01:19:03.583840   11256 file.cc:12] text" and "2026-11-30 01:19:03.101411: F file.cc:12]
// text" become "file.cc:12] text".
std::string_view WithoutPrefix(std::string_view line) {
  const size_t bracket = line.find("] ");
  if (bracket == std::string_view::npos) return line;
  const size_t space = line.rfind(' ', bracket);
  if (space == std::string_view::npos) return line;
  line.remove_prefix(space + 1);
  const size_t slash = line.substr(0, line.find(']')).rfind('/');
  if (slash != std::string_view::npos) line.remove_prefix(slash + 1);
  return line;
}

std::string Shortened(std::string_view text) {
  if (text.size() <= kQuotedBytes) return std::string(text);
  size_t cut = kQuotedBytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return fmt::format("{} …", text.substr(0, cut));
}

std::string Subject(const RunNames& names) { return fmt::format("plugin {}", names.plugin); }

std::string Doing(const std::string& stage, const RunNames& names) {
  if (stage == "loading") return "while it was being loaded";
  if (stage == "target") return "while reading the target config";
  if (stage == "fetching") return fmt::format("after compiling {}", names.program);
  return fmt::format("while compiling {}", names.program);
}

tl::unexpected<Error> Died(const WorkerRun& run, const RunNames& names, std::string how) {
  const std::string words = LastWords(run.log);
  std::string next;
  if (!words.empty()) next = fmt::format("its last words: {}\n", Shortened(words));
  std::string advice = AdviceFor(words);
  if (advice.empty()) advice = AdviceFor(run.log);
  next +=
      advice.empty() ? "-v shows the full log" : fmt::format("{} (-v for the full log)", advice);
  return FailCompiler(fmt::format("{} {} {}", Subject(names), how, Doing(run.stage, names)), next);
}

Result<void> CheckAnswer(const WorkerRun& run, const RunNames& names) {
  const std::string& error = run.answer.error;
  if (error.empty()) return {};
  const std::string& stage = run.answer.stage;
  if (stage == "hooking") {
    return FailCompiler(fmt::format("{}: {}", Subject(names), error), run.answer.advice);
  }
  std::string advice = AdviceFor(error);
  if (advice.empty()) advice = "-v shows the plugin's log";
  if (stage == "loading") return FailCompiler(Shortened(error), run.answer.advice);
  const char* verb = stage == "target" ? "does not take the target config" : "cannot compile";
  std::string what = fmt::format("{} {}", Subject(names), verb);
  if (stage != "target") what += fmt::format(" {}", names.program);
  return FailCompiler(what, fmt::format("it says: {}\n{}", Shortened(error), advice));
}

}  // namespace

std::string LastWords(std::string_view log) {
  std::string_view fatal;
  std::string_view last;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (IsNoise(line)) continue;
    line.remove_prefix(line.find_first_not_of(" \t"));
    last = line;
    if (IsFatal(line)) fatal = line;
  }
  return std::string(WithoutPrefix(fatal.empty() ? last : fatal));
}

std::string AdviceFor(std::string_view message) {
  for (const Known& known : kKnown) {
    if (message.find(known.pattern) != std::string_view::npos) return std::string(known.advice);
  }
  return "";
}

Result<void> CheckRun(const WorkerRun& run, const RunNames& names) {
  switch (run.outcome.how) {
    case Outcome::How::kTimeout:
      return FailCompiler(fmt::format("{} took longer than {:g} s {}", Subject(names),
                                      names.timeout_seconds, Doing(run.stage, names)),
                          "--timeout SECONDS gives it more");
    case Outcome::How::kMemory:
      return FailCompiler(fmt::format("{} used more than {:.1f} GiB of memory {}", Subject(names),
                                      static_cast<double>(names.memory_limit_bytes) / (1 << 30),
                                      Doing(run.stage, names)),
                          "--memory-limit GiB gives it more; an instruction id far above the "
                          "others also makes XLA allocate a huge table");
    case Outcome::How::kSignal: {
      const bool aborted = run.outcome.code == SIGABRT;
      return Died(run, names,
                  aborted ? "aborted" : fmt::format("crashed ({})", strsignal(run.outcome.code)));
    }
    case Outcome::How::kExited:
      break;
  }
  if (run.outcome.code != 0) {
    return Died(run, names, fmt::format("ended the process (status {})", run.outcome.code));
  }
  return CheckAnswer(run, names);
}

}  // namespace eightfold::pjrt
