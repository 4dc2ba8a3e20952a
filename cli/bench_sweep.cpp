#include "cli/bench_sweep.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "cli/bench_report.h"
#include "cli/format.h"
#include "cli/session.h"
#include "perceiver/bench/chart.h"
#include "perceiver/bench/sweep.h"
#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

SweepAxis axis_of(const std::string& word) {
  for (const SweepAxis axis : {SweepAxis::kInputs, SweepAxis::kOutputs, SweepAxis::kLatents}) {
    if (word == to_word(axis)) return axis;
  }
  fail("--sweep: unknown size '{}', expected inputs, outputs or latents", word);
}

std::string array_sizes(SweepAxis axis, const SweepConfig& c) {
  std::string sizes;
  const auto add = [&](SweepAxis of, int64_t count) {
    if (of != axis) sizes += fmt::format("{} {}, ", grouped(count), to_word(of));
  };
  add(SweepAxis::kInputs, c.num_inputs);
  add(SweepAxis::kLatents, c.num_latents);
  add(SweepAxis::kOutputs, c.num_outputs);
  return sizes;
}

ChartSeries series(const char* name, const SweepCurve& curve, bool memory) {
  ChartSeries s{name, {}, {}};
  for (const SweepPoint& point : curve.points) {
    s.x.push_back(static_cast<double>(point.size));
    // Less than a page cannot be told from nothing; a logarithm needs something.
    s.y.push_back(memory ? std::max(4096.0, static_cast<double>(point.bytes))
                         : point.seconds.median);
  }
  return s;
}

Chart chart_of(SweepAxis axis, const SweepConfig& c, const SweepResult& result,
               const SweepArgs& args) {
  const auto panel = [&](const char* title, ChartPanel::Unit unit) {
    const bool memory = unit == ChartPanel::Unit::kBytes;
    return ChartPanel{title,
                      unit,
                      {series("Perceiver IO", result.perceiver_io, memory),
                       series("Transformer", result.transformer, memory)}};
  };
  Chart chart{.title = fmt::format("A forward pass as {} grow", to_word(axis)),
              .x_label = fmt::format("{} (Transformer: elements)", to_word(axis)),
              .notes = {fmt::format("Both: {} layers, {} channels. Perceiver IO: {}decoded "
                                    "{} at a time.",
                                    c.num_layers, c.channels, array_sizes(axis, c),
                                    grouped(c.decode_slice)),
                        fmt::format("{}, {}, {}; batch 1. Memory beyond the program's own.",
                                    args.device.str(), dtype_word(args.dtype), threads_word())},
              .panels = {panel("time", ChartPanel::Unit::kSeconds),
                         panel("peak memory", ChartPanel::Unit::kBytes)}};
  for (const auto& [name, curve] : {std::pair("Perceiver IO", &result.perceiver_io),
                                    std::pair("Transformer", &result.transformer)}) {
    if (!curve->ended.empty()) chart.notes.push_back(fmt::format("{}: {}.", name, curve->ended));
  }
  return chart;
}

void print_table(SweepAxis axis, const SweepResult& result) {
  std::vector<std::vector<std::string>> rows = {
      {std::string(to_word(axis)), "Perceiver IO", "memory", "Transformer", "memory"}};
  const auto& [ours, theirs] = result;
  for (size_t i = 0; i < std::max(ours.points.size(), theirs.points.size()); ++i) {
    std::vector<std::string> row = {
        grouped((i < ours.points.size() ? ours : theirs).points[i].size)};
    for (const SweepCurve* curve : {&ours, &theirs}) {
      const bool measured = i < curve->points.size();
      row.push_back(measured ? duration(curve->points[i].seconds.median) : "-");
      row.push_back(measured ? bytes(curve->points[i].bytes) : "-");
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}", table(rows));
  if (!ours.ended.empty()) fmt::print("Perceiver IO: {}\n", ours.ended);
  if (!theirs.ended.empty()) fmt::print("Transformer: {}\n", theirs.ended);
}

Json to_json(const SweepCurve& curve) {
  Json points = Json::array();
  for (const auto& [size, seconds, bytes] : curve.points) {
    points.push_back({{"size", size},
                      {"seconds", seconds.median},
                      {"lower_quartile", seconds.lower_quartile},
                      {"upper_quartile", seconds.upper_quartile},
                      {"bytes", bytes}});
  }
  return {{"points", points}, {"ended", curve.ended}};
}

}  // namespace

void run_sweep(const SweepArgs& args, const std::function<bool()>& stop) {
  const SweepAxis axis = axis_of(args.axis);
  const auto config = read_config<SweepConfig>({"--sweep", ""}, args.settings);
  const SweepResult result = sweep(axis, config,
                                   {.device = args.device,
                                    .dtype = args.dtype,
                                    .stop = stop,
                                    .say = [](const std::string& what) { note(what); }});
  const std::string stem = args.output.empty() ? "sweep-" + args.axis : args.output;
  write_file(stem + ".csv", to_csv(axis, result));
  write_file(stem + ".svg", to_svg(chart_of(axis, config, result, args)));
  if (args.json) {
    const Json document = {{"axis", args.axis},
                           {"device", args.device.str()},
                           {"dtype", dtype_word(args.dtype)},
                           {"threads", at::get_num_threads()},
                           {"perceiver_io", to_json(result.perceiver_io)},
                           {"transformer", to_json(result.transformer)},
                           {"files", {stem + ".csv", stem + ".svg"}}};
    fmt::print("{}\n", json_text(document, 2));
    return;
  }
  print_table(axis, result);
  fmt::print("{}.csv\n{}.svg\n", stem, stem);
}

}  // namespace perceiver
