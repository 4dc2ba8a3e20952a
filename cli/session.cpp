#include "cli/session.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/progress.h"
#include "perceiver/core/error.h"
#include "perceiver/kernels/attention.h"
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

std::string kernels_of(const ModelSummary& summary, const AttentionCase& place) {
  std::vector<std::string> names;
  for (const Part& part : summary.parts) {
    if (!part.attention) continue;
    AttentionCase c = *part.attention;
    c.device = place.device;
    c.dtype = place.dtype;
    c.batch = place.batch;
    c.needs_grad = place.needs_grad;
    const std::string name(select_attention_kernel(c).name);
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
      "A shipped model's name, a folder, a checkpoint, a hub id, a run, or a config for random "
      "weights");
  if (default_model.empty()) {
    model->required();
  } else {
    model->capture_default_str();
  }
  add_semantics_option(command, options.semantics);
  add_compute_options(command, options);
  command.add_flag("-v,--verbose", options.verbose, "Say what the model's settings are, too");
}

void add_compute_options(CLI::App& command, SessionOptions& options) {
  command.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command.add_option("--dtype", options.dtype, "Numbers to compute with")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16"}));
  command
      .add_option("--attention", options.kernel,
                  "A kernel by name, auto, or check: auto's choice compared with the definition")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Of the CPU; default: one a core")
      ->check(CLI::Range(1, 1024));
  command.add_option("--seed", options.seed, "Of everything random")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "Say nothing but results and errors");
}

// Before the model is loaded: a name that does not exist, or not on this device. The case is one
// that every kernel of the device takes.
static void check_kernel(const SessionOptions& options) {
  const at::Device device = device_argument(options.device);
  const int64_t wide = 300;
  select_attention_kernel({.device = device,
                           .dtype = device.is_cuda() ? at::kBFloat16 : at::kFloat,
                           .queries = 1,
                           .keys = 1,
                           .qk_channels = wide,
                           .v_channels = wide},
                          options.kernel);
}

void set_up(const SessionOptions& options) {
  notes_are_shown = !options.quiet;
  Progress::show(!options.quiet);
  if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
  at::manual_seed(options.seed);
  if (options.kernel != "auto") {
    if (options.kernel != "check") check_kernel(options);
    static const AttentionKernelScope for_the_program(options.kernel);
  }
}

std::string threads_word() {
  const int threads = at::get_num_threads();
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

Session::Session(const SessionOptions& options)
    : device(device_argument(options.device)), dtype(session_dtype(options.dtype, device)) {
  set_up(options);
  at::GradMode::set_enabled(false);
  model = load_model(find_model(options.model), semantics_argument(options.semantics));
  if (options.fingerprint) fingerprint = perceiver::fingerprint(model);
  model.task->model().to(device, dtype);
  model.task->model().eval();
  const auto kernels = [&] {
    return kernels_of(model.task->summary(Split::kEval), {.device = device, .dtype = dtype});
  };
  note(fmt::format("{}, {}, attention: {}", describe(model, device.str(), dtype_word(dtype)),
                   threads_word(), options.kernel == "auto" ? kernels() : options.kernel));
  if (options.verbose) note(model.settings.bytes);
}

File read_input(const std::string& value) {
  if (value != "-") return read_file(value);
  File file{"standard input", ""};
  std::array<char, 1 << 16> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    file.bytes.append(buffer.data(), count);
  }
  return file;
}

void note(const std::string& message) {
  if (notes_are_shown) fmt::print(stderr, "{}\n", message);
}

}  // namespace perceiver
