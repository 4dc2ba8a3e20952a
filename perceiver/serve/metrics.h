// What is counted for Prometheus, in its text format 0.0.4.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perceiver {

// Values up to each of some bounds, and their sum.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void add(double value);
  std::string text(std::string_view name, std::string_view about) const;

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;  // one more than bounds
  double sum_ = 0.0;
};

// What there is at the moment.
struct Gauges {
  int64_t connections = 0, admitted = 0, waiting = 0;
  int64_t latents = 0, latent_bytes = 0, jobs = 0;
};

class ServerMetrics {
 public:
  ServerMetrics();

  void answered(const std::string& route, int status, double seconds);
  void computed(int64_t requests, double seconds);  // a pass of the model, for so many
  void waited(double seconds);                      // of a request in the queue

  double mean_model_seconds() const;  // of a request; 0: there was none

  std::string text(const Gauges& now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;  // by route and code
  Histogram answer_seconds_, queue_seconds_, model_seconds_, batch_sizes_;
  double model_total_ = 0.0;
  int64_t computed_ = 0;
};

}  // namespace perceiver
