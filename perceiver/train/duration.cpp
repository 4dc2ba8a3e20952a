#include "perceiver/train/duration.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace perceiver {

std::string about_time(double seconds) {
  struct Scale {
    double seconds, until;
    const char *one, *many;
  };
  constexpr Scale kScales[] = {{1.0, 90.0, "second", "seconds"},
                               {60.0, 90.0, "minute", "minutes"},
                               {3600.0, 48.0, "hour", "hours"}};
  for (const Scale& scale : kScales) {
    const double count = std::max(1.0, std::round(seconds / scale.seconds));
    if (count < scale.until) {
      return fmt::format("{} {}", count, count == 1.0 ? scale.one : scale.many);
    }
  }
  return fmt::format("{} days", std::round(seconds / 86400.0));
}

std::string rest_line(const RestOfRun& rest) {
  constexpr double kWorthALine = 60.0;  // seconds
  if (rest.seconds() < kWorthALine) return {};
  std::string line =
      fmt::format("{} steps to go: about {}", rest.steps, about_time(rest.seconds()));
  if (rest.evaluating() > 0.05 * rest.seconds()) {
    line += fmt::format(
        ", {} of that for {}", about_time(rest.evaluating()),
        rest.evaluations == 1 ? "the evaluation" : fmt::format("{} evaluations", rest.evaluations));
  }
  return line;
}

std::string cpu_advice(const RestOfRun& rest, const TrainConfig& config) {
  constexpr double kLong = 1800.0;  // seconds
  constexpr int64_t kSmallBatch = 8;
  if (rest.seconds() < kLong) return {};
  std::vector<std::string> quicker;
  if (config.dtype == Precision::kBFloat16) quicker.push_back("--dtype float32");
  if (config.batch > kSmallBatch) {
    quicker.push_back(fmt::format("train.batch={}", kSmallBatch));
    if (config.accumulate > 1) quicker.push_back("train.accumulate=1");
  }
  quicker.push_back("fewer train.steps");
  return fmt::format("that is long for a CPU; quicker, for a first look: {}",
                     fmt::join(quicker, ", "));
}

}  // namespace perceiver
