#include "cli/live.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "perceiver/core/error.h"
#include "perceiver/media/live_video.h"
#include "perceiver/media/ppm.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/optical_flow/live.h"

namespace perceiver {
namespace {

void refuse_one_document(bool json) {
  if (json) fail("--json: a stream has no end to wait for; --jsonl gives a line for each result");
}

void print_line(const nlohmann::ordered_json& line) {
  fmt::print("{}\n", json_text(line));
  std::fflush(stdout);
}

}  // namespace

bool is_live(const std::vector<std::string>& inputs) {
  return inputs.size() == 1 && is_live_address(inputs[0]);
}

void add_count_option(CLI::App& command, int64_t& count) {
  command
      .add_option("--count", count,
                  "Of a camera or stream: end after so many results; default: with the stream, or "
                  "at Ctrl-C")
      ->check(whole_number(1));
}

void live_flow(const FlowArgs& args) {
  refuse_one_document(args.json);
  if (args.ranks.ranks > 1) fail("--ranks: a stream is taken by one process");
  check_live_job(args.job);
  FrameSource source(args.job.inputs);
  Session session(args.session);
  LiveEnd end(args.count);
  const std::string output =
      flow_of_stream(session.model, source, args.job,
                     {.ready =
                          [&](const PairReport& report) {
                            end.one_done();
                            if (args.jsonl)
                              return print_line(with_origin(to_json(report), session.model));
                            fmt::print("{}\n", live_line(report));
                            std::fflush(stdout);
                          },
                      .stop = [&] { return end.reached(); }});
  if (!output.empty() && !args.jsonl) fmt::print("{}\n", output);
}

void live_classify(Model& model, const LiveClassify& args) {
  refuse_one_document(args.json);
  if (application_of(model).reads() != InputKind::kPicture) {
    fail("{}: a stream's pictures need a model of pictures, got one of the task {}", args.address,
         task_name(model));
  }
  LiveVideo live(args.address);
  LiveEnd end(args.count);
  live.stop_when([&] { return end.reached(); });
  while (!end.reached()) {
    const std::optional<LiveVideo::Picture> picture = live.next();
    if (!picture) break;
    const std::string name = fmt::format("{}, frame {}", args.address, picture->number);
    const Classified result{name, classify(model, {name, encode_ppm(picture->pixels)}, args.top)};
    if (args.jsonl) {
      print_line(with_origin(to_json(result), model));
    } else {
      fmt::print("frame {}", picture->number);
      for (const RankedClass& one : result.top) {
        fmt::print("  {:.1f} % {}", 100.0 * one.probability, one.name);
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
    end.one_done();
  }
}

}  // namespace perceiver
