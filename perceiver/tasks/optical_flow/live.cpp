#include "perceiver/tasks/optical_flow/live.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <utility>

#include "perceiver/core/error.h"

namespace perceiver {

void check_live_job(const FlowJob& job) {
  for (const auto& [option, value] : {std::pair{"--ground-truth", &job.ground_truth},
                                      {"--error-picture", &job.error_picture},
                                      {"--consistency", &job.consistency}}) {
    if (!value->empty()) fail("{}: is for files; {} is a stream", option, job.inputs[0]);
  }
}

std::string flow_of_stream(Model& model, FrameSource& source, const FlowJob& job,
                           const LiveCallbacks& callbacks) {
  const at::NoGradGuard no_grad;
  const FlowEstimator estimator(model, {.placement = job.placement});
  std::optional<FlowWriter> writer;
  if (!job.output.path.empty()) writer.emplace(job.output, source, PathSet());
  source.stop_when(callbacks.stop);
  do {
    const std::optional<Frame> first = source.next(), second = first ? source.next() : first;
    if (!second) break;
    PairReport report{.first = first->name, .second = second->name};
    const FlowEstimate estimate = estimator(first->pixels, second->pixels);
    report.seconds = estimate.seconds;
    describe_flow(report, estimate.flow);
    if (writer) report.output = writer->write(*first, estimate.flow);
    if (callbacks.ready) callbacks.ready(report);
  } while (!callbacks.stop || !callbacks.stop());
  return writer ? writer->finish() : "";
}

std::string live_line(const PairReport& report) {
  const auto number = [](const std::string& name) { return name.substr(name.rfind(' ') + 1); };
  return fmt::format("frames {} and {}: mean {:.2f}, longest {:.2f} pixels, {:.2f} s",
                     number(report.first), number(report.second), report.mean_flow, report.max_flow,
                     report.seconds);
}

}  // namespace perceiver
