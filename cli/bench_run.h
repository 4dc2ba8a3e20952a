// perceiver bench of named models: measures them one after another and prints what it found.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace perceiver {

struct BenchArgs {
  SessionOptions session;
  std::vector<std::string> words;  // models, and key=value pairs
  std::string io, output, sweep;
  int64_t batch = 0, repeat = 0;  // 0: not given
  double seconds = 5.0;
  bool list = false, train = false, lockstep = false, json = false, jsonl = false, csv = false;
};

// `settings` are key=value pairs that win over the configs'.
void run_bench(const BenchArgs& args, const std::vector<std::string>& names,
               const std::vector<std::string>& settings);

}  // namespace perceiver
