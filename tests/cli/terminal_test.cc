#include "cli/terminal.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace eightfold::cli {
namespace {

using ::testing::HasSubstr;

// A terminal of 123 columns.
class Terminal {
 public:
  Terminal() {
    winsize size{};
    size.ws_col = 123;
    size.ws_row = 40;
    if (openpty(&outer_, &inner_, nullptr, nullptr, &size) != 0) std::abort();
  }
  ~Terminal() {
    close(outer_);
    close(inner_);
  }
  int fd() const { return inner_; }
  // What was written to it so far.
  std::string Shown() const {
    std::string shown;
    char buffer[4096];
    pollfd ready{.fd = outer_, .events = POLLIN, .revents = 0};
    while (poll(&ready, 1, 200) == 1) {
      ssize_t n = read(outer_, buffer, sizeof buffer);
      if (n <= 0) break;
      shown.append(buffer, static_cast<size_t>(n));
    }
    return shown;
  }

 private:
  int outer_ = -1;
  int inner_ = -1;
};

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    if (pipe(pipe_) != 0) std::abort();
  }
  ~TerminalTest() override {
    unsetenv("NO_COLOR");
    close(pipe_[0]);
    if (pipe_[1] >= 0) close(pipe_[1]);
  }

  Terminal terminal_;
  int pipe_[2];
};

TEST_F(TerminalTest, ColoursOnlyATerminalByDefault) {
  EXPECT_TRUE(UseColor(ColorMode::kAuto, terminal_.fd()));
  EXPECT_FALSE(UseColor(ColorMode::kAuto, pipe_[1]));
}

TEST_F(TerminalTest, NoColorAndDumbTerminalsSwitchColourOff) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(UseColor(ColorMode::kAuto, terminal_.fd()));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(UseColor(ColorMode::kAuto, terminal_.fd()));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(UseColor(ColorMode::kAuto, terminal_.fd()));
}

TEST_F(TerminalTest, TheOptionWinsOverTheEnvironment) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(UseColor(ColorMode::kAlways, pipe_[1]));
  unsetenv("NO_COLOR");
  EXPECT_FALSE(UseColor(ColorMode::kNever, terminal_.fd()));
}

TEST_F(TerminalTest, WidthIsTheTerminals) {
  EXPECT_EQ(Width(terminal_.fd(), 77), 123);
  EXPECT_EQ(Width(pipe_[1], 77), 77);
}

// Runs `body` with standard error going to `fd`.
template <class Body>
void WithStderr(int fd, Body body) {
  int saved = dup(STDERR_FILENO);
  dup2(fd, STDERR_FILENO);
  body();
  dup2(saved, STDERR_FILENO);
  close(saved);
}

TEST_F(TerminalTest, ProgressSaysWhatAndHowFarAndGoesAway) {
  WithStderr(terminal_.fd(), [] {
    Progress progress("fetching it");
    progress.Update(0.5, "10 MB of 20 MB");
  });
  std::string shown = terminal_.Shown();
  EXPECT_THAT(shown, HasSubstr("fetching it"));
  EXPECT_THAT(shown, HasSubstr(" 50 %"));
  EXPECT_THAT(shown, HasSubstr("10 MB of 20 MB"));
  EXPECT_TRUE(shown.ends_with("\r\033[K"));
}

TEST_F(TerminalTest, ProgressIsSilentInAPipe) {
  WithStderr(pipe_[1], [] {
    Progress progress("fetching it");
    progress.Update(0.5);
  });
  close(pipe_[1]);
  pipe_[1] = -1;
  char byte;
  EXPECT_EQ(read(pipe_[0], &byte, 1), 0);
}

}  // namespace
}  // namespace eightfold::cli
