#include "cli/session.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "perceiver/core/error.h"
#include "perceiver/core/processors.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/fingerprint.h"

namespace perceiver {
namespace {

bool notes_are_shown = true;

}  // namespace

at::ScalarType session_dtype(const std::string& value, at::Device device) {
  if (value != "auto") return dtype_argument(value);
  return device.is_cuda() ? at::kBFloat16 : at::kFloat;
}

std::string dtype_word(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return "bfloat16";
  return dtype == at::kHalf ? "float16" : "float32";
}

std::string kernels_of(const ModelSummary& summary, const AttendPlace& place) {
  std::vector<std::string> names;
  for (const Part& part : summary.parts) {
    if (!part.attention) continue;
    const std::string name(plan_attend(part, place).kernel);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

at::Device device_argument(const std::string& value) {
  const int64_t gpus = at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
  if (value == "auto") return gpus > 0 ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  if (value == "cpu") return at::kCPU;
  const bool numbered = value.starts_with("cuda:") && value.size() > 5 &&
                        value.find_first_not_of("0123456789", 5) == value.npos && value.size() < 9;
  if (value != "cuda" && !numbered) {
    fail("--device: unknown device '{}', expected auto, cpu, cuda or cuda:N", value);
  }
  const int64_t index = numbered ? std::stoll(value.substr(5)) : 0;
  if (gpus == 0) fail("--device {}: there is no GPU that this build can use; take cpu", value);
  if (index >= gpus) fail("--device {}: there are {} GPUs, counted from 0", value, gpus);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

void add_session_options(CLI::App& command, SessionOptions& options,
                         const std::string& default_model) {
  options.model = default_model;
  CLI::Option* model = command.add_option(
      "-m,--model", options.model,
      "The model: a name that 'perceiver models' lists, a folder, a checkpoint, a hub id, a run of "
      "train or sweep, or a config, whose weights are random");
  if (default_model.empty()) {
    model->required();
  } else {
    model->capture_default_str();
  }
  add_semantics_option(command, options.semantics);
  add_compute_options(command, options);
  command.add_flag("-v,--verbose", options.verbose, "Print the model's settings, too");
}

void add_compute_options(CLI::App& command, SessionOptions& options) {
  add_device_option(command, options.device);
  command
      .add_option("--dtype", options.dtype,
                  "Number format to compute in; auto: bfloat16 on a GPU, float32 on a CPU")
      ->capture_default_str()
      ->check(one_of({"auto", "float32", "bfloat16", "float16"}));
  command
      .add_option("--attention", options.kernel,
                  "The code that computes attention: auto takes the fastest; a kernel's name takes "
                  "that one, without the shortcuts of inference; check compares auto's results "
                  "with those of the plain definition")
      ->capture_default_str();
  add_threads_option(command, options.threads);
  command.add_option("--seed", options.seed, "The number that all random choices follow from")
      ->capture_default_str();
  add_quiet_option(command, options.quiet);
}

RunScope set_up(const SessionOptions& options) {
  notes_are_shown = !options.quiet;
  Progress::show(!options.quiet);
  use_threads(options.threads);
  at::manual_seed(options.seed);
  check_attention_kernel(options.kernel, device_argument(options.device));
  return RunScope([&](Run& run) { run.kernel = options.kernel; });
}

std::string threads_word() {
  const int threads = at::get_num_threads();
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

Session::Session(const SessionOptions& options)
    : device(device_argument(options.device)),
      dtype(session_dtype(options.dtype, device)),
      run_(set_up(options)) {
  model = load_model(find_model(options.model), semantics_argument(options.semantics));
  if (options.fingerprint) model.fingerprint = perceiver::fingerprint(model);
  model.task->model().to(device, dtype);
  model.task->model().eval();
  const auto attention = [&] {
    if (options.kernel == "check") return options.kernel;
    if (options.kernel != "auto") return options.kernel + ", without the inference form";
    return kernels_of(model.task->summary(Split::kEval), {.device = device, .dtype = dtype});
  };
  note(fmt::format("{}, {}, attention: {}", describe(model, device.str(), dtype_word(dtype)),
                   threads_word(), attention()));
  if (options.verbose) {
    note(fmt::format("{}\n{}", semantics_text(*model.settings), model.settings->model_text()));
  }
  if (model.origin.is_random()) note(kRandomWarning);
}

void note(const std::string& message) {
  if (notes_are_shown) fmt::print(stderr, "{}\n", message);
}

}  // namespace perceiver
