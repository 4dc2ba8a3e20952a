// Ranks started by this program itself, on this machine: the same program, once for each.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace perceiver {

struct LaunchOptions {
  std::vector<std::string> words;  // the program and its arguments
  int64_t size = 1;
  // Asked often; other than 0 is a signal: all ranks get it, so that they save and stop.
  std::function<int()> stop = [] { return 0; };
  std::chrono::milliseconds time_to_end{8000};  // of the others when one has failed; then: killed
};

// Waits until all have ended. Their environment says which one each is (environment.h). Errors are
// said here: where one fails, the others end within seconds, and this throws what it has
// said, or how it ended. -> what stop() said, if they have ended for that.
int launch_ranks(const LaunchOptions& options);

}  // namespace perceiver
