// How far long work has come: a line on the terminal that rewrites itself.
#pragma once

#include <chrono>
#include <string>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// Nothing is shown before two seconds have passed, nor where stderr is no terminal; the line is
// wiped at the end.
class Progress {
 public:
  Progress(std::string what, double total);  // in any unit
  ~Progress();
  Progress(const Progress&) = delete;

  void add(double done);
  void clear();  // wipes the line, so that results may be printed; the next add() draws it again

  static void show(bool shown);  // false: no line for the rest of the program

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::string what_;
  double total_, done_ = 0.0;
  Clock::time_point start_ = Clock::now(), drawn_ = start_;
  bool on_screen_ = false;
};

// Model passes that count themselves, an attention at a time. `work` of all passes together.
class PassProgress {
 public:
  PassProgress(std::string what, double work);
  void clear() { progress_.clear(); }

 private:
  Progress progress_;
  double begun_ = 0.0;
  AttentionCounter counter_;
};

}  // namespace perceiver
