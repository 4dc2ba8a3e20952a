#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/core/standard_input.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {
namespace {

std::string output_path(const FlowWriter::Options& output) {
  if (!output.path.empty()) return output.path;
  return output.format == to_word(FlowFormat::kFlo) ? "flow.flo" : "flow.png";
}

// The frame that arrows are drawn over, of the flow's size; undefined for other formats.
Tensor frame_for(FlowFormat format, const FlowField& field, const std::string& file,
                 const std::vector<std::string>& frames) {
  if (format != FlowFormat::kArrows) {
    if (!frames.empty()) fail("{}: --show takes a frame for --arrows alone", frames[0]);
    return {};
  }
  if (frames.size() != 1) {
    fail("--show with arrows needs the frame to draw them over: flow --show {} FRAME --arrows",
         file);
  }
  const Tensor frame = decode_image(read_input(frames[0]));
  if (frame.sizes().slice(1) != field.flow.sizes().slice(1)) {
    fail("{} is {} x {}, {} is {} x {}: the two must have one size", frames[0], frame.size(2),
         frame.size(1), file, field.flow.size(2), field.flow.size(1));
  }
  return frame;
}

}  // namespace

FlowResult draw_flow_file(const std::string& file, const FlowJob& job) {
  check_places(job);
  const FlowField field = decode_flow(read_input(file));
  const std::string path = output_path(job.output);
  const FlowFormat format = format_of(path, job.output.format);
  if (has_video_ending(path)) fail("{}: --show draws one picture, no video", path);
  const Tensor frame = frame_for(format, field, file, job.inputs);
  PathSet inputs;
  for (const std::string& input : job.inputs) inputs.add(input);
  for (const std::string& input : {file, job.ground_truth}) inputs.add(input);
  const std::string stem = std::filesystem::path(file).stem().string();
  const OutputFiles::Place place{
      .path = path, .ending = ending_of(format), .stems = {stem}, .is_pair = true};
  const OutputFiles files(place, inputs);
  const ExtraPictures errors("--error-picture", job.error_picture, place, inputs);

  PairReport report{.first = file, .second = ""};
  describe_flow(report, field);
  if (!job.ground_truth.empty()) {
    const FlowField truth = decode_flow(read_file(job.ground_truth));
    check_same_size(truth, job.ground_truth, field.flow.size(1), field.flow.size(2));
    report.measures = measure_flow(field.flow, truth);
    if (errors) report.error_picture = errors.write(stem, error_picture(field.flow, truth));
  }
  report.output = files.write(stem, encode_field(field, format, frame, job.output.style)).string();
  return {{report}, report.output};
}

}  // namespace perceiver
