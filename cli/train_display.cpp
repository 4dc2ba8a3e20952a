#include "cli/train_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace perceiver {
namespace {

using namespace std::chrono_literals;

size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col - 1u : 79u;
}

}  // namespace

TrainDisplay::TrainDisplay(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void TrainDisplay::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  print(line);
}

void TrainDisplay::print(const std::string& line) {
  if (quiet_) return;
  fmt::print(stderr, "{}{}\n", std::exchange(on_screen_, false) ? "\r\033[K" : "", line);
}

void TrainDisplay::draw(const std::string& line) {
  if (quiet_) return;
  fmt::print(stderr, "\r{}\033[K", line.substr(0, terminal_width()));
  std::fflush(stderr);
  on_screen_ = true;
}

void TrainDisplay::stepped(const StepReport& report) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = step_began_ = Clock::now();
  const bool first = !std::exchange(any_step_, true), last = report.step == report.steps;
  const auto pause = terminal_ ? Clock::duration(100ms) : Clock::duration(1min);
  const bool due = first || last || now - shown_ >= pause || (report.logged && !terminal_);
  if (!due) return;
  shown_ = now;
  if (!terminal_) return print(step_line(report.step, report.steps, report.figures));
  constexpr size_t kRoomForTime = 12;
  last_ = step_line(report.step, report.steps, report.figures, terminal_width() - kRoomForTime);
  if (first || last) return print(last_);
  draw(last_);
}

void TrainDisplay::working() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const auto pause = terminal_ ? Clock::duration(1s) : Clock::duration(1min);
  if (now - std::max(shown_, step_began_) < pause) return;
  shown_ = now;
  const std::string spent = clock_time(std::chrono::duration<double>(now - step_began_).count());
  const std::string line = any_step_ ? fmt::format("working for {} since the last step", spent)
                                     : fmt::format("working on the first step for {}", spent);
  if (!terminal_) return print(line);
  draw(any_step_ ? fmt::format("{}  (+ {})", last_, spent) : line);
}

}  // namespace perceiver
