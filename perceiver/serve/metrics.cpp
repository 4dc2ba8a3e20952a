#include "perceiver/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace perceiver {
namespace {

const std::vector<double> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 60.0};

std::string head(std::string_view name, std::string_view about, std::string_view type) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, about, name, type);
}

std::string gauge(std::string_view name, std::string_view about, int64_t value) {
  return head(name, about, "gauge") + fmt::format("{} {}\n", name, value);
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::add(double value) {
  ++counts_[std::ranges::lower_bound(bounds_, value) - bounds_.begin()];
  sum_ += value;
}

std::string Histogram::text(std::string_view name, std::string_view about) const {
  std::string text = head(name, about, "histogram");
  int64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bound, below);
  }
  return text + fmt::format("{}_sum {}\n{}_count {}\n", name, sum_, name, below);
}

ServerMetrics::ServerMetrics()
    : answer_seconds_(kSeconds),
      queue_seconds_(kSeconds),
      model_seconds_(kSeconds),
      batch_sizes_({1, 2, 4, 8, 16, 32, 64}) {}

void ServerMetrics::answered(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  answer_seconds_.add(seconds);
}

void ServerMetrics::computed(int64_t requests, double seconds) {
  const std::lock_guard lock(mutex_);
  model_seconds_.add(seconds);
  batch_sizes_.add(static_cast<double>(requests));
  model_total_ += seconds;
  computed_ += requests;
}

void ServerMetrics::waited(double seconds) {
  const std::lock_guard lock(mutex_);
  queue_seconds_.add(seconds);
}

double ServerMetrics::mean_model_seconds() const {
  const std::lock_guard lock(mutex_);
  return computed_ == 0 ? 0.0 : model_total_ / static_cast<double>(computed_);
}

std::string ServerMetrics::text(const Gauges& now) const {
  const std::lock_guard lock(mutex_);
  constexpr std::string_view kRequests = "perceiver_requests_total";
  std::string text = head(kRequests, "Requests that were answered, by route and code.", "counter");
  for (const auto& [key, count] : requests_) {
    // Routes are the server's own: there is nothing in them to be escaped.
    text +=
        fmt::format("{}{{route=\"{}\",code=\"{}\"}} {}\n", kRequests, key.first, key.second, count);
  }
  text += answer_seconds_.text("perceiver_answer_seconds",
                               "From a request's first line to the end of its answer.");
  text += queue_seconds_.text("perceiver_queue_seconds", "That requests waited for the model.");
  text += model_seconds_.text("perceiver_model_seconds", "That a pass of a model took.");
  text += batch_sizes_.text("perceiver_batch_size", "Requests that were computed together.");
  text += gauge("perceiver_connections", "Connections that are open.", now.connections);
  text += gauge("perceiver_requests_admitted", "Requests that are being answered by models.",
                now.admitted);
  text += gauge("perceiver_queue_length", "Requests that wait for the model.", now.waiting);
  text += gauge("perceiver_latents", "Latents that are kept.", now.latents);
  text += gauge("perceiver_latents_bytes", "Their memory.", now.latent_bytes);
  text += gauge("perceiver_jobs", "Jobs that wait or run.", now.jobs);
  return text;
}

}  // namespace perceiver
