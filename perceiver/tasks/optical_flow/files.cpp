#include "perceiver/tasks/optical_flow/files.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

PathSet inputs_of(const FrameSource& source, const GroundTruth& truth) {
  PathSet inputs;
  for (const std::string& file : source.files()) inputs.add(file);
  for (const std::string& stem : source.stems()) {
    const std::string file = truth.file_of(stem);
    if (!file.empty()) inputs.add(file);
  }
  return inputs;
}

OutputFiles::Place place_of(const FrameSource& source) {
  return {.path = "", .ending = ".png", .stems = source.stems(), .is_pair = source.is_pair()};
}

const FlowJob& checked(const FlowJob& job) {
  check_places(job);
  return job;
}

}  // namespace

void check_places(const FlowJob& job) {
  PathSet places;
  for (const std::string& path : {job.output.path, job.error_picture, job.consistency}) {
    if (path.empty()) continue;
    if (places.has(path)) fail("{}: is asked for twice; each output needs its own place", path);
    places.add(path);
  }
}

FlowOfFiles::FlowOfFiles(const FlowJob& job)
    : job_(checked(job)),
      source_(job.inputs),
      truth_(job.ground_truth, source_),
      inputs_(inputs_of(source_, truth_)),
      writer_(job.output, source_, inputs_),
      errors_("--error-picture", job.error_picture, place_of(source_), inputs_),
      masks_("--consistency", job.consistency, place_of(source_), inputs_),
      first_(source_.next()),
      second_(source_.next()) {
  if (!second_) fail("{}: has {} frame, flow needs two", source_.files()[0], first_ ? "one" : "no");
}

FlowOptions flow_options(const FlowJob& job) {
  return {.placement = job.placement, .both_ways = !job.consistency.empty(), .levels = job.levels};
}

PairReport FlowOfFiles::add(const FlowEstimate& estimate) {
  PairReport report{.first = first_->name, .second = second_->name};
  const FlowField& field = estimate.flow;
  report.seconds = estimate.seconds;
  describe_flow(report, field);
  if (const std::optional<FlowField> known = truth_.of(*first_)) {
    report.measures = measure_flow(field.flow, *known);
    if (errors_) {
      report.error_picture = errors_.write(first_->stem, error_picture(field.flow, *known));
    }
  }
  if (masks_) {
    const Tensor& mask = estimate.consistent;
    report.consistent = mask.to(at::kDouble).mean().item<double>();
    report.consistency = masks_.write(first_->stem, (mask.to(at::kByte) * 255).unsqueeze(0));
  }
  report.output = writer_.write(*first_, field);
  result_.pairs.push_back(report);
  first_ = std::move(second_);
  second_ = source_.next();
  return report;
}

void FlowOfFiles::run(Model& model, const FlowCallbacks& callbacks) {
  const at::NoGradGuard no_grad;
  const FlowEstimator estimator(model, flow_options(job_));
  const double work = estimator.work(source_.height(), source_.width());
  const std::optional<int64_t> total = source_.num_pairs();
  if (total) callbacks.hooks.begin("flow", work * static_cast<double>(*total));
  while (second_) {
    if (!total) callbacks.hooks.begin("flow of " + first_->name, work);
    const PairReport report = add(estimator(first_->pixels, second_->pixels));
    if (callbacks.ready) callbacks.ready(report);
  }
}

FlowResult FlowOfFiles::finish() {
  result_.output = writer_.finish();
  return std::move(result_);
}

FlowResult flow_of_files(Model& model, const FlowJob& job, const FlowCallbacks& callbacks) {
  FlowOfFiles files(job);
  files.run(model, callbacks);
  return files.finish();
}

}  // namespace perceiver
