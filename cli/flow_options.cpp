#include "cli/flow_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/live.h"

namespace perceiver {
namespace {

void add_output_options(CLI::App& command, FlowArgs& args) {
  command.add_option("-o,--output", args.job.output.path,
                     "Where to write: a .flo, a .png, a video, or a folder; default: flow.png, a "
                     "folder flow, or flow.mp4. Frames of a video are counted from 1");
  CLI::Option* format =
      command
          .add_option("--format", args.job.output.format,
                      "What to write: vectors (flo, or kitti: a 16-bit PNG) or a picture of them "
                      "(colours, arrows); default: by the ending, and colours")
          ->check(one_of(enum_words(FlowFormat{})));
  command
      .add_flag_callback(
          "--kitti", [&args] { args.job.output.format = "kitti"; }, "The same as --format kitti")
      ->excludes(format);
  command
      .add_flag_callback(
          "--arrows", [&args] { args.job.output.format = "arrows"; }, "The same as --format arrows")
      ->excludes(format);
  command.add_flag("--legend", args.job.output.style.legend,
                   "Draw the colour wheel in a corner, with the pixels of motion at its rim");
  command
      .add_option("--max-flow", args.job.output.style.max_flow,
                  "Motion in pixels that gets the full colour; default: the longest there is, of "
                  "several pairs the longest so far and at least 2")
      ->check(positive_number());
  command
      .add_option("--fps", args.job.output.frames_per_second,
                  "Frames a second of a video; default: the input's, or 10 for pictures")
      ->check(positive_number());
}

}  // namespace

void add_flow_options(CLI::App& command, FlowArgs& args) {
  command
      .add_option(
          "inputs", args.job.inputs,
          "Two pictures, a folder of them, a video, a folder of videos and of folders, or a "
          "camera or stream (/dev/video0, rtsp://…, http://…), whose newest pictures are "
          "taken; with --show and --arrows, the frame to draw over; default: a shipped sample")
      ->expected(0, 2)
      ->option_text("A B | FOLDER | VIDEO");
  add_output_options(command, args);
  CLI::Option* show =
      command.add_option("--show", args.show,
                         "Draw this file of flow, or write it in another format, without a model");
  CLI::Option* truth = command.add_option(
      "--ground-truth", args.job.ground_truth,
      "True flow, .flo or KITTI's .png, or a folder of them; prints the mean distance to "
      "it (EPE) and the shares of pixels beyond 1, 3 and 5 pixels, and Fl-all, "
      "KITTI's: beyond 3 pixels and 5 % of the true length");
  command
      .add_option("--error-picture", args.job.error_picture,
                  "Where to draw the distance to the ground truth: a .png or a folder")
      ->needs(truth);
  command
      .add_option("--consistency", args.job.consistency,
                  "Where to draw, in white, the pixels that the flow from the second frame back "
                  "confirms: a .png or a folder")
      ->excludes(show);
  command
      .add_option("--tiles", args.tiles,
                  "How large frames are cut into tiles: evenly, or as DeepMind's notebook does")
      ->capture_default_str()
      ->check(one_of(enum_words(TilePlacement{})));
  command
      .add_option("--levels", args.job.levels,
                  "Sizes of the frames that flow is found at, each half the next, so that long "
                  "motion is found too: 2 or 3 where things move by tens of pixels; default: the "
                  "model's own, 1 for released ones")
      ->check(whole_number(1, 16))
      ->excludes(show);
  add_count_option(command, args.count);
  CLI::Option* json = command.add_flag("--json", args.json, "Print one JSON document");
  command.add_flag("--jsonl", args.jsonl, "Print a line of JSON for each pair as it is ready")
      ->excludes(json);
  add_rank_options(command, args.ranks);
}

}  // namespace perceiver
