#include "stock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/source.h"

extern char** environ;

namespace eightfold::differential {
namespace {

namespace fs = std::filesystem;

constexpr int kTimeoutMilliseconds = 120'000;

std::string ReadAll(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// This process's environment with other flags for XLA.
std::vector<std::string> Environment(const std::string& xla_flags) {
  std::vector<std::string> result = {"XLA_FLAGS=" + xla_flags, "TF_CPP_MIN_LOG_LEVEL=2"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool ours =
        strncmp(*entry, "XLA_FLAGS=", 10) == 0 || strncmp(*entry, "TF_CPP_MIN_LOG_LEVEL=", 21) == 0;
    if (!ours) result.emplace_back(*entry);
  }
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

StockRunner::StockRunner(std::string program, pjrt::Plugin plugin, const target::Gpu& gpu,
                         Extent extent, std::string fix)
    : program_(std::move(program)),
      plugin_(std::move(plugin)),
      extent_(extent),
      fix_(std::move(fix)) {
  std::string name = (fs::temp_directory_path() / "eightfold-differential-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) folder_ = name;
  fs::create_directory(folder_ / "dump");
  std::ofstream(folder_ / "target") << target::WriteTargetConfig(gpu, plugin_.version);
}

StockRunner::~StockRunner() {
  Stop();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Result<void> StockRunner::Start() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return Fail("no pipe");
  const std::string two_passes = fmt::format(
      "--xla_dump_to={} --xla_dump_hlo_as_proto "
      "--xla_dump_hlo_pass_re=^conv-rewriter|^cudnn-fused-convolution-rewriter "
      "--xla_enable_hlo_passes_only=conv-rewriter,cudnn-fused-convolution-rewriter,"
      // Comes later, and spares the code generator windows that bring it down.
      "conv-padding-legalization",
      (folder_ / "dump").string());
  std::vector<std::string> environment =
      Environment(extent_ == Extent::kTwoPasses ? two_passes : "");
  std::vector<std::string> arguments = {program_, plugin_.path, (folder_ / "target").string()};
  if (!fix_.empty()) arguments.push_back(fix_);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder_ / "log").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int status = posix_spawn(&process_, program_.c_str(), &actions, nullptr,
                                 Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  to_ = to[1];
  from_ = from[0];
  if (status != 0) {
    process_ = 0;
    Stop();
    return Fail(fmt::format("cannot start {}: {}", program_, strerror(status)));
  }
  return {};
}

void StockRunner::Stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  process_ = 0;
}

std::string StockRunner::ReadLine() {
  std::string line;
  while (true) {
    pollfd waiting{from_, POLLIN, 0};
    if (poll(&waiting, 1, kTimeoutMilliseconds) <= 0) return {};
    char c = 0;
    if (read(from_, &c, 1) != 1) return {};
    if (c == '\n') return line;
    line += c;
  }
}

Stock StockRunner::Collect(std::string answer) {
  Stock stock{.answer = std::move(answer)};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "dump")) {
    const std::string name = entry.path().filename().string();
    const bool proto = name.ends_with(".hlo.pb");
    if (proto && name.find("gpu_after_optimizations") != std::string::npos) stock.finished = true;
    if (proto && name.find(".after_conv-rewriter.") != std::string::npos) {
      stock.before = ReadAll(entry.path());
    }
    if (proto && name.find(".after_cudnn-fused-convolution-rewriter.") != std::string::npos) {
      stock.after = ReadAll(entry.path());
    }
    fs::remove(entry.path());
  }
  return stock;
}

Result<Stock> StockRunner::Run(std::string_view module) {
  if (process_ == 0) EF_CHECK_OK(Start());
  const std::string file = (folder_ / "module.pb").string();
  EF_CHECK_OK(WriteFile(file, module));
  const std::string request = file + "\n";
  std::string answer;
  if (write(to_, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    answer = ReadLine();
  }
  if (answer.empty()) {
    ++crashes_;
    Stop();
    const std::string log = ReadAll(folder_ / "log");
    answer = "crash: " + log.substr(log.size() - std::min<size_t>(log.size(), 600));
  }
  Stock stock = Collect(std::move(answer));
  if (stock.answer.starts_with("ok")) stock.compiled = ReadAll(file + ".compiled");
  return stock;
}

}  // namespace eightfold::differential
