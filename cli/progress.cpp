#include "cli/progress.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "perceiver/train/meter.h"

namespace perceiver {
namespace {

bool lines_are_shown = true;

}  // namespace

Progress::Progress(std::string what, double total) : what_(std::move(what)), total_(total) {}

Progress::~Progress() { clear(); }

void Progress::show(bool shown) { lines_are_shown = shown; }

void Progress::add(double done) {
  done_ += done;
  const Clock::time_point now = Clock::now();
  using namespace std::chrono_literals;
  if (now - start_ < 2s || (on_screen_ && now - drawn_ < 100ms)) return;
  drawn_ = now;
  draw();
}

void Progress::clear() {
  if (!on_screen_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  on_screen_ = false;
}

void Progress::draw() {
  if (!lines_are_shown || isatty(STDERR_FILENO) == 0) return;
  constexpr int kCells = 30;
  // A guess of the total may be too low: it is never said to be done before it is.
  const double share = std::min(done_ / total_, 0.99);
  const double spent = std::chrono::duration<double>(drawn_ - start_).count();
  const int full = static_cast<int>(share * kCells);
  const std::string left =
      share > 0.0 ? clock_time(spent * (1.0 - share) / share) + " left" : std::string();
  fmt::print(stderr, "\r{} [{:=<{}}{: <{}}] {:3.0f} % {}\033[K", what_, "", full, "", kCells - full,
             share * 100.0, left);
  std::fflush(stderr);
  on_screen_ = true;
}

// An attention is begun when it is seen, and done when the next is.
PassProgress::PassProgress(std::string what, double work)
    : progress_(std::move(what), work), counter_([this](const AttentionCase& c, std::string_view) {
        progress_.add(begun_);
        begun_ = static_cast<double>(c.batch) * c.heads * c.queries * c.keys *
                 (c.qk_channels + c.v_channels);
      }) {}

}  // namespace perceiver
