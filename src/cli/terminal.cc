#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace eightfold::cli {
namespace {

constexpr int kBarColumns = 24;
constexpr std::chrono::milliseconds kRedraw{100};
constexpr char kEraseLine[] = "\r\033[K";

bool IsCapableTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::string Bar(double fraction) {
  int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarColumns);
  std::string bar = "[";
  for (int i = 0; i < kBarColumns; ++i) bar += i < full ? '#' : '.';
  return bar + fmt::format("] {:3.0f} %", std::clamp(fraction, 0.0, 1.0) * 100);
}

}  // namespace

bool UseColor(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return IsCapableTerminal(fd);
}

int Width(int fd, int otherwise) {
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

Progress::Progress(std::string what, bool enabled)
    : what_(std::move(what)), shown_(enabled && IsCapableTerminal(STDERR_FILENO)) {}

Progress::~Progress() { Close(); }

void Progress::Close() {
  if (shown_ && drawn_ != Clock::time_point{}) std::fputs(kEraseLine, stderr);
  shown_ = false;
}

void Progress::Update(double fraction, std::string_view detail) {
  if (!shown_) return;
  Clock::time_point now = Clock::now();
  if (now - drawn_ < kRedraw) return;
  drawn_ = now;
  double seconds = std::chrono::duration<double>(now - started_).count();
  std::string line = what_ + "  ";
  if (fraction >= 0) line += Bar(fraction) + "  ";
  line += fmt::format("{:.0f} s  {}", seconds, detail);
  // Everything in the line is ASCII or close to it: cutting by bytes is good enough.
  line.resize(std::min(line.size(), static_cast<size_t>(Width(STDERR_FILENO) - 1)));
  fmt::print(stderr, "{}{}", kEraseLine, line);
  std::fflush(stderr);
}

Waiting::Waiting(std::string what, bool enabled)
    : progress_(std::move(what), enabled), clock_([this](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, stop, std::chrono::milliseconds(250),
                                [&] { return stop.stop_requested(); })) {
          progress_.Update(-1);
        }
      }) {}

// The clock must be over before what it draws on goes.
Waiting::~Waiting() {
  clock_.request_stop();
  clock_.join();
}

}  // namespace eightfold::cli
