#include "cli/bench_run.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "perceiver/bench/workload.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/json_text.h"
#include "perceiver/core/memory.h"
#include "perceiver/nn/layers.h"
#include "perceiver/zoo/io_file.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

TensorMap read_inputs(const std::string& path) {
  const TensorMap inputs = read_io_file(path).inputs;
  if (inputs.empty()) fail("{}: has no tensor named 'input.…'", path);
  return inputs;
}

// A pass for each line of the standard input: whoever writes them lets programs take turns.
GoOn lockstep() {
  return [](const std::vector<double>& so_far) {
    const Json line = so_far.empty() ? Json{{"ready", true}} : Json{{"seconds", so_far.back()}};
    fmt::print("{}\n", json_text(line));
    std::fflush(stdout);
    std::string ignored;
    return static_cast<bool>(std::getline(std::cin, ignored));
  };
}

// Threads that wait for each other wait for other programs too.
void warn_of_load() {
  double load = 0.0;
  if (getloadavg(&load, 1) == 1 && load > 0.5 * at::get_num_threads()) {
    note(fmt::format("the machine is busy (load {:.1f}): times will be too long", load));
  }
}

class Bench {
 public:
  Bench(const BenchArgs& args, const std::vector<std::string>& settings)
      : args_(args), device_(device_argument(args.session.device)) {
    options_ = {.device = device_,
                .dtype = session_dtype(args.session.dtype, device_),
                .batch = std::max<int64_t>(1, args.batch),
                .train = args.train,
                .overrides = settings};
    if (!args.io.empty()) options_.inputs = read_inputs(args.io);
  }

  void run(const std::vector<std::string>& names) {
    for (const std::string& name : names) check_workload(name, options_);
    warn_of_load();
    place_ = bench_place(args_.train ? "train" : "forward", device_, options_.dtype);
    for (const std::string& name : names) {
      if (interrupt_.signal() == 0) measure_one(name);
    }
    print();
    if (interrupt_.signal() != 0) std::exit(128 + interrupt_.signal());
  }

 private:
  void measure_one(const std::string& name) {
    Workload workload(name, options_);
    const std::string attention = kernels(workload);
    note(fmt::format("{}, {}, attention: {}",
                     describe(workload.model(), device_.str(), place_.dtype), threads_word(),
                     attention));
    reset_peak_memory(device_);
    Progress progress(name, args_.repeat > 0 ? static_cast<double>(args_.repeat) : args_.seconds);
    const GoOn enough_of_it = args_.lockstep ? lockstep() : enough(args_.repeat, args_.seconds);
    const std::vector<double> seconds =
        measure([&] { workload.pass(); }, device_,
                [&](const std::vector<double>& so_far) {
                  if (!so_far.empty()) progress.add(args_.repeat > 0 ? 1.0 : so_far.back());
                  return interrupt_.signal() == 0 && enough_of_it(so_far);
                },
                args_.train && !args_.lockstep ? Passes::kInARow : Passes::kOneByOne);
    progress.clear();
    if (!args_.output.empty()) write_outputs(args_.output, workload.outputs());
    if (seconds.empty()) return;
    results_.push_back({.name = name,
                        .source = workload.model().source,
                        .origin = std::string(to_word(workload.model().origin.weights)),
                        .attention = attention,
                        .examples_are = workload.examples_are(),
                        .batch = workload.examples(),
                        .parameters = num_parameters(workload.model().task->model()),
                        .flops = workload.flops(),
                        .seconds = seconds,
                        .peak_bytes = peak_memory(device_)});
    if (args_.jsonl) {
      Json line = to_json(place_);
      line.update(to_json(results_.back(), place_));
      fmt::print("{}\n", json_text(line));
      std::fflush(stdout);
    }
  }

  std::string kernels(const Workload& workload) const {
    if (args_.session.kernel != "auto") return args_.session.kernel;
    return kernels_of(workload.summary(), {.device = device_,
                                           .dtype = options_.dtype,
                                           .batch = options_.batch,
                                           .mode = {.gradients = args_.train}});
  }

  void print() const {
    if (args_.jsonl) return;
    if (args_.csv) {
      fmt::print("{}", bench_csv(results_, place_));
    } else if (args_.json || args_.lockstep) {
      Json document = to_json(place_);
      document["results"] = Json::array();
      for (const BenchResult& r : results_) document["results"].push_back(to_json(r, place_));
      fmt::print("{}\n", json_text(document, args_.lockstep ? -1 : 2));
    } else {
      fmt::print("{}", bench_table(results_, place_));
      if (!args_.output.empty()) fmt::print("{}\n", args_.output);
    }
  }

  const BenchArgs& args_;
  at::Device device_;
  WorkloadOptions options_;
  StopOnInterrupt interrupt_;
  BenchPlace place_;
  std::vector<BenchResult> results_;
};

}  // namespace

void run_bench(const BenchArgs& args, const std::vector<std::string>& names,
               const std::vector<std::string>& settings) {
  Bench(args, settings).run(names);
}

}  // namespace perceiver
