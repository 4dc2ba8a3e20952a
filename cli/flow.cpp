#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/flow_options.h"
#include "cli/session.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/optical_flow/batch.h"

namespace perceiver {
namespace {

void print_line(const nlohmann::ordered_json& line, const FlowArgs& args) {
  if (!args.jsonl) return;
  fmt::print("{}\n", json_text(line));
  std::fflush(stdout);
}

void print(const FlowResult& result, const nlohmann::ordered_json& document, const FlowArgs& args) {
  if (args.jsonl) return;
  if (args.json) {
    fmt::print("{}\n", json_text(document, 2));
    return;
  }
  fmt::print("{}{}\n", report_table(result.pairs), result.output);
  for (const std::string& path : {args.job.error_picture, args.job.consistency}) {
    if (!path.empty()) fmt::print("{}\n", path);
  }
}

// A folder of clips: a bad one is named and passed over.
void flow_of_folder(const FlowArgs& args, const std::vector<FlowJob>& clips) {
  Session session(args.session);
  VerbHooks verb;
  auto document = nlohmann::ordered_json::array();
  size_t failures = 0;
  flow_of_clips(session.model, clips,
                {.hooks = verb.hooks(),
                 .ready =
                     [&](const PairReport& report) {
                       verb.clear();
                       print_line(with_origin(to_json(report), session.model), args);
                     },
                 .done =
                     [&](const FlowResult& result) {
                       const auto json = with_origin(to_json(result), session.model);
                       if (args.json) return document.push_back(json);
                       print(result, json, args);
                     },
                 .failed =
                     [&](const std::string& reason) {
                       verb.clear();
                       ++failures;
                       fmt::print(stderr, "perceiver: {}\n", reason);
                     }});
  if (args.json) fmt::print("{}\n", json_text(document, 2));
  if (failures > 0) fail("{} of {} clips could not be read", failures, clips.size());
}

void flow(FlowArgs args) {
  if (!args.show.empty()) {
    const FlowResult drawn = draw_flow_file(args.show, args.job);
    print_line(to_json(drawn.pairs[0]), args);
    return print(drawn, to_json(drawn), args);
  }
  FlowJob& job = args.job;
  if (job.inputs.empty()) {
    job.inputs = {shipped("samples/flow/objects").string()};
    if (job.ground_truth.empty()) job.ground_truth = job.inputs[0] + "/truth";
  }
  const bool even = args.tiles == to_word(TilePlacement::kEven);
  job.placement = even ? TilePlacement::kEven : TilePlacement::kNotebook;
  if (const std::vector<FlowJob> clips = clips_of(job); !clips.empty()) {
    return flow_of_folder(args, clips);
  }
  FlowOfFiles frames(job);
  Session session(args.session);
  VerbHooks verb;
  const auto ready = [&](const PairReport& report) {
    verb.clear();
    print_line(with_origin(to_json(report), session.model), args);
  };
  const FlowResult result = frames.run(session.model, {.hooks = verb.hooks(), .ready = ready});
  print(result, with_origin(to_json(result), session.model), args);
}

}  // namespace

void add_flow_command(CLI::App& app) {
  auto args = std::make_shared<FlowArgs>();
  CLI::App* command = add_command(
      app, "flow",
      "Find the motion (optical flow) between two frames, or in a folder of frames, a video or a "
      "folder of videos",
      "  perceiver flow\n"
      "  perceiver flow a.png b.png -o flow.png --legend\n"
      "  perceiver flow a.png b.png -o flow.flo --ground-truth truth.flo\n"
      "  perceiver flow frames/ -o flow/ --format kitti\n"
      "  perceiver flow clip.mp4 -o flow.mp4 --max-flow 20\n"
      "  perceiver flow clips/ -o flows/\n"
      "  perceiver flow --show truth.flo -o truth.png\n"
      "  perceiver flow --show truth.flo a.png --arrows -o arrows.png");
  add_flow_options(*command, *args);
  add_session_options(*command, args->session, "flow-mini");
  command->callback([args] { flow(*args); });
}

}  // namespace perceiver
