#ifndef EIGHTFOLD_CLI_TERMINAL_H_
#define EIGHTFOLD_CLI_TERMINAL_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace eightfold::cli {

enum class ColorMode { kAuto, kAlways, kNever };

// Whether to colour what goes to the file descriptor `fd`. kAuto: only on a terminal that is not
// "dumb", and not when NO_COLOR is set to anything (no-color.org).
bool UseColor(ColorMode mode, int fd);

// Columns of the terminal behind `fd`; `otherwise` when it is none.
int Width(int fd, int otherwise = 100);

// The line that long work shows on standard error: what, how far, how long. On anything but a
// terminal it shows nothing. The line is erased when the work ends, so that only answers stay.
class Progress {
 public:
  explicit Progress(std::string what, bool enabled = true);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // `fraction` of the work done, 0 … 1; negative: nobody knows. `detail` is shown behind it. Drawn
  // at most ten times a second.
  void Update(double fraction, std::string_view detail = {});
  // Erases the line, now rather than at the end of this object's life.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool shown_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_{};
};

// The line of work that cannot say how far it is: it goes on by itself until this object goes.
class Waiting {
 public:
  explicit Waiting(std::string what, bool enabled = true);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting();

 private:
  Progress progress_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread clock_;
};

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_TERMINAL_H_
