#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/flow_estimator.h"
#include "cli/flow_output.h"
#include "cli/flow_report.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

struct FlowArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  FlowWriter::Options output;
  std::string show, ground_truth, error_picture, consistency;
  std::string tiles = std::string(to_word(TilePlacement::kEven));
  bool json = false, jsonl = false;
};

// A picture for each pair beside the flow itself; nothing where the option was not given.
class ExtraPictures {
 public:
  ExtraPictures(const std::string& option, const std::string& path, const OutputFiles::Place& place,
                const PathSet& inputs) {
    if (path.empty()) return;
    if (!OutputFiles::is_folder(path) && !path.ends_with(".png")) {
      fail("{} {}: expected a name that ends in .png, or a folder", option, path);
    }
    OutputFiles::Place own = place;
    own.path = path;
    own.ending = ".png";
    files_.emplace(own, inputs);
  }

  explicit operator bool() const { return files_.has_value(); }

  std::string write(const std::string& stem, const Tensor& picture) const {
    return files_->write(stem, encode_png(picture)).string();
  }

 private:
  std::optional<OutputFiles> files_;
};

// Each output in a place of its own.
void check_places(const FlowArgs& args) {
  PathSet places;
  for (const std::string& path : {args.output.path, args.error_picture, args.consistency}) {
    if (path.empty()) continue;
    if (places.has(path)) fail("{}: is asked for twice; each output needs its own place", path);
    places.add(path);
  }
}

PathSet inputs_of(const FrameSource& source, const GroundTruth& truth) {
  PathSet inputs;
  for (const std::string& file : source.files()) inputs.add(file);
  for (const std::string& stem : source.stems()) {
    const std::string file = truth.file_of(stem);
    if (!file.empty()) inputs.add(file);
  }
  return inputs;
}

void print_reports(const std::vector<PairReport>& reports, const std::string& output,
                   const FlowArgs& args) {
  if (args.jsonl) return;
  if (args.json) {
    fmt::print("{}\n", report_document(reports, output));
    return;
  }
  fmt::print("{}{}\n", report_table(reports), output);
  for (const std::string& path : {args.error_picture, args.consistency}) {
    if (!path.empty()) fmt::print("{}\n", path);
  }
}

void print_line(const PairReport& report, const FlowArgs& args) {
  if (!args.jsonl) return;
  fmt::print("{}\n", report_line(report));
  std::fflush(stdout);
}

void flow_of_frames(const FlowArgs& args) {
  FrameSource source(args.inputs);
  const GroundTruth truth(args.ground_truth, source);
  const PathSet inputs = inputs_of(source, truth);
  FlowWriter writer(args.output, source, inputs);
  const OutputFiles::Place place{
      .path = "", .ending = ".png", .stems = source.stems(), .is_pair = source.is_pair()};
  const ExtraPictures errors("--error-picture", args.error_picture, place, inputs);
  const ExtraPictures masks("--consistency", args.consistency, place, inputs);
  std::optional<Frame> first = source.next(), second = source.next();
  if (!second) fail("{}: has {} frame, flow needs two", source.files()[0], first ? "one" : "no");

  Session session(args.session);
  const bool even = args.tiles == to_word(TilePlacement::kEven);
  FlowEstimator estimator(session, source,
                          {.placement = even ? TilePlacement::kEven : TilePlacement::kNotebook,
                           .both_ways = !args.consistency.empty()});
  std::vector<PairReport> reports;
  while (second) {
    PairReport report{.first = first->name, .second = second->name};
    const FlowEstimate estimate = estimator(*first, *second);
    const FlowField& field = estimate.flow;
    report.seconds = estimate.seconds;
    describe_flow(report, field);
    if (const std::optional<FlowField> known = truth.of(*first)) {
      report.measures = measure_flow(field.flow, *known);
      if (errors) {
        report.error_picture = errors.write(first->stem, error_picture(field.flow, *known));
      }
    }
    if (masks) {
      const Tensor& mask = estimate.consistent;
      report.consistent = mask.to(at::kDouble).mean().item<double>();
      report.consistency = masks.write(first->stem, (mask.to(at::kByte) * 255).unsqueeze(0));
    }
    report.output = writer.write(*first, field);
    print_line(report, args);
    reports.push_back(report);
    first = std::move(second);
    second = source.next();
  }
  print_reports(reports, writer.finish(), args);
}

// An existing file of flow, drawn or written in another format, and measured.
void show_flow(const FlowArgs& args) {
  const FlowField field = decode_flow(read_input(args.show));
  const int64_t height = field.flow.size(1), width = field.flow.size(2);
  const std::string path =
      args.output.path.empty()
          ? "flow" + (args.output.format == "flo" ? std::string(".flo") : ".png")
          : args.output.path;
  const FlowFormat format = format_of(path, args.output.format);
  if (has_video_ending(path)) fail("{}: --show draws one picture, no video", path);
  Tensor frame;
  if (format != FlowFormat::kArrows) {
    if (!args.inputs.empty()) fail("{}: --show takes a frame for --arrows alone", args.inputs[0]);
  } else {
    if (args.inputs.size() != 1) fail("--show with arrows needs the frame to draw them over");
    frame = decode_image(read_input(args.inputs[0]));
    if (frame.size(1) != height || frame.size(2) != width) {
      fail("{} is {} x {}, {} is {} x {}: the two must have one size", args.inputs[0],
           frame.size(2), frame.size(1), args.show, width, height);
    }
  }
  PathSet inputs;
  for (const std::string& file : args.inputs) inputs.add(file);
  for (const std::string& file : {args.show, args.ground_truth}) inputs.add(file);
  const std::string stem = std::filesystem::path(args.show).stem().string();
  const OutputFiles::Place place{
      .path = path, .ending = ending_of(format), .stems = {stem}, .is_pair = true};
  const OutputFiles files(place, inputs);
  const ExtraPictures errors("--error-picture", args.error_picture, place, inputs);

  PairReport report{.first = args.show, .second = ""};
  describe_flow(report, field);
  if (!args.ground_truth.empty()) {
    const FlowField truth = decode_flow(read_file(args.ground_truth));
    check_same_size(truth, args.ground_truth, height, width);
    report.measures = measure_flow(field.flow, truth);
    if (errors) report.error_picture = errors.write(stem, error_picture(field.flow, truth));
  }
  report.output = files.write(stem, encode_field(field, format, frame, args.output.style)).string();
  print_line(report, args);
  print_reports({report}, report.output, args);
}

void flow(FlowArgs args) {
  check_places(args);
  if (args.show.empty() && args.inputs.empty()) {
    const std::string sample = shipped("samples/flow/objects").string();
    args.inputs = {sample};
    if (args.ground_truth.empty()) args.ground_truth = sample + "/truth";
  }
  if (args.show.empty()) {
    flow_of_frames(args);
  } else {
    show_flow(args);
  }
}

void add_output_options(CLI::App& command, FlowArgs& args) {
  command.add_option("-o,--output", args.output.path,
                     "A .flo, a .png, a video, or a folder; default: flow.png, a folder flow, or "
                     "flow.mp4");
  CLI::Option* format =
      command
          .add_option("--format", args.output.format,
                      "flo, kitti (16-bit PNG), colours or arrows; default: by the ending, and "
                      "colours")
          ->check(CLI::IsMember(enum_words(FlowFormat{})));
  command
      .add_flag_callback(
          "--kitti", [&args] { args.output.format = "kitti"; }, "The same as --format kitti")
      ->excludes(format);
  command
      .add_flag_callback(
          "--arrows", [&args] { args.output.format = "arrows"; }, "The same as --format arrows")
      ->excludes(format);
  command.add_flag("--legend", args.output.style.legend, "The colour wheel in a corner");
  command
      .add_option("--max-flow", args.output.style.max_flow,
                  "Pixels of motion that are saturated; default: the longest of each picture")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--fps", args.output.frames_per_second,
                  "Frames a second of a video; default: the input's, or 10 for pictures")
      ->check(CLI::PositiveNumber);
}

}  // namespace

void add_flow_command(CLI::App& app) {
  auto args = std::make_shared<FlowArgs>();
  CLI::App* command =
      add_command(app, "flow", "Optical flow of two frames, a folder of frames or a video",
                  "  perceiver flow\n"
                  "  perceiver flow a.png b.png -o flow.png --legend\n"
                  "  perceiver flow a.png b.png -o flow.flo --ground-truth truth.flo\n"
                  "  perceiver flow frames/ -o flow/ --format kitti\n"
                  "  perceiver flow clip.mp4 -o flow.mp4 --max-flow 20\n"
                  "  perceiver flow --show truth.flo -o truth.png");
  command
      ->add_option("inputs", args->inputs,
                   "Two pictures, a folder of them, or a video; default: a shipped sample")
      ->expected(0, 2)
      ->option_text("A B | FOLDER | VIDEO");
  add_output_options(*command, *args);
  CLI::Option* show = command->add_option(
      "--show", args->show, "Draw this file of flow (or write it in another format), no model");
  CLI::Option* truth =
      command->add_option("--ground-truth", args->ground_truth,
                          "True flow, .flo or KITTI's .png, or a folder: prints EPE and outliers");
  command
      ->add_option("--error-picture", args->error_picture,
                   "Where to draw the distance to the ground truth: a .png or a folder")
      ->needs(truth);
  command
      ->add_option("--consistency", args->consistency,
                   "Where to draw what the flow back confirms, in white: a .png or a folder")
      ->excludes(show);
  command->add_option("--tiles", args->tiles, "Placement: even, or as the released notebook")
      ->capture_default_str()
      ->check(CLI::IsMember(enum_words(TilePlacement{})));
  CLI::Option* json = command->add_flag("--json", args->json, "One JSON document");
  command->add_flag("--jsonl", args->jsonl, "A JSON line for each pair as it is ready")
      ->excludes(json);
  add_session_options(*command, args->session, "flow-mini");
  command->callback([args] { flow(*args); });
}

}  // namespace perceiver
