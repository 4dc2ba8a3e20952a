#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/flow_options.h"
#include "cli/flow_ranks.h"
#include "cli/live.h"
#include "cli/session.h"
#include "cli/shared_output.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/optical_flow/batch.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& pair, const FlowArgs& args) {
  return args.jsonl ? json_text(pair) + "\n" : "";
}

std::string text_of(const FlowResult& result, const FlowArgs& args) {
  if (args.json || args.jsonl) return "";
  std::string text = report_table(result.pairs) + result.output + "\n";
  for (const std::string& path : {args.job.error_picture, args.job.consistency}) {
    if (!path.empty()) text += path + "\n";
  }
  return text;
}

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

void print(const FlowResult& result, const Json& document, const FlowArgs& args) {
  print(args.json ? json_text(document, 2) + "\n" : text_of(result, args));
}

struct TidyUp {
  const std::vector<FlowJob>& clips;
  bool is_first;
  ~TidyUp() {
    if (is_first) remove_empty_places(clips);
  }
};

// A folder of clips: a bad one is named and passed over.
void flow_of_folder(const FlowArgs& args, const std::vector<FlowJob>& clips, Ranks* ranks) {
  const TidyUp in_the_end{clips, ranks == nullptr || ranks->is_first()};
  Session session(args.session);
  VerbHooks verb;
  const auto named = [&](const Json& json) { return with_origin(json, session.model); };
  const auto clip = [&](int64_t piece, const Say& say) {
    if (piece >= std::ssize(clips)) return false;
    const auto ready = [&](const PairReport& report) {
      say({.out = line_of(named(to_json(report)), args)});
    };
    const auto done = [&](const FlowResult& result) {
      say({.out = text_of(result, args), .document = args.json ? named(to_json(result)) : Json()});
    };
    const auto failed = [&](const std::string& reason) { say({.error = reason}); };
    flow_of_clips(session.model, std::span(clips).subspan(piece, 1),
                  {.hooks = verb.hooks(), .ready = ready, .done = done, .failed = failed});
    return true;
  };
  print_shared(ranks, {.inputs = std::ssize(clips),
                       .called = "clips",
                       .json = args.json,
                       .verb = verb,
                       .work = clip});
}

// The frames of one clip: the first of several ranks reads them too, and writes what all find.
void flow_of_frames(const FlowArgs& args, Ranks* ranks) {
  std::optional<FlowOfFiles> frames;
  if (ranks == nullptr || ranks->is_first()) frames.emplace(args.job);
  Session session(args.session);
  VerbHooks verb;
  const auto named = [&](const Json& json) { return with_origin(json, session.model); };
  const auto ready = [&](const PairReport& report) {
    verb.clear();
    print(line_of(named(to_json(report)), args));
  };
  const FlowCallbacks callbacks{.hooks = verb.hooks(), .ready = ready};
  if (ranks != nullptr) {
    share_pairs(*ranks, session.model, args.job, frames ? &*frames : nullptr, callbacks);
  } else {
    frames->run(session.model, callbacks);
  }
  if (!frames) return;
  const FlowResult result = frames->finish();
  print(result, named(to_json(result)), args);
}

void draw(const FlowArgs& args) {
  const FlowResult drawn = draw_flow_file(args.show, args.job);
  print(line_of(to_json(drawn.pairs[0]), args));
  print(drawn, to_json(drawn), args);
}

void flow(FlowArgs args) {
  if (!args.show.empty()) return draw(args);
  FlowJob& job = args.job;
  if (job.inputs.empty()) {
    job.inputs = {shipped("samples/flow/objects").string()};
    if (job.ground_truth.empty()) job.ground_truth = job.inputs[0] + "/truth";
  }
  const bool even = args.tiles == to_word(TilePlacement::kEven);
  job.placement = even ? TilePlacement::kEven : TilePlacement::kNotebook;
  if (is_live(job.inputs)) return live_flow(args);
  SessionOptions& session = args.session;
  share_verb(args.ranks, job.inputs, {session.device, session.threads, session.quiet},
             [&](Ranks* ranks) {
               const std::vector<FlowJob> clips = clips_of(job);
               if (!clips.empty()) return flow_of_folder(args, clips, ranks);
               flow_of_frames(args, ranks);
             });
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
      "  perceiver flow frames/ -o flow/ --ranks 2\n"
      "  perceiver flow a.png b.png --levels 3\n"
      "  perceiver flow rtsp://camera.local/1 -o flow.mp4\n"
      "  perceiver flow --show truth.flo -o truth.png\n"
      "  perceiver flow --show truth.flo a.png --arrows -o arrows.png");
  add_flow_options(*command, *args);
  add_session_options(*command, args->session, "flow-mini");
  command->callback([args] { flow(*args); });
}

}  // namespace perceiver
