// What `perceiver train` shows: on a terminal one line that rewrites itself, in a file lines.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "perceiver/train/trainer.h"

namespace perceiver {

class TrainDisplay {
 public:
  explicit TrainDisplay(bool quiet);

  void say(const std::string& line);       // a line that stays; from any thread
  void stepped(const StepReport& report);  // in a file: those that are logged, and one a minute
  void working();                          // so that nobody takes a slow step for a dead one

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const std::string& line);
  void print(const std::string& line);

  std::mutex mutex_;
  bool quiet_, terminal_;
  bool on_screen_ = false;
  bool any_step_ = false;
  std::string last_;  // line of a step
  Clock::time_point step_began_ = Clock::now(), shown_ = step_began_;
};

}  // namespace perceiver
