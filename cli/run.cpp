#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "perceiver/core/error.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

struct RunArgs {
  std::string model, io, output, semantics, dtype = "float32";
  bool check = false;
  double atol = 1e-4;
};

constexpr std::string_view kInput = "input.", kOutput = "output.";

TensorMap with_prefix(const TensorMap& tensors, std::string_view prefix) {
  TensorMap picked;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) picked[name.substr(prefix.size())] = tensor;
  }
  return picked;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor apart = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  if (apart.numel() == 0) return 0.0;
  return apart.isnan().any().item<bool>() ? INFINITY : apart.max().item<double>();
}

void check(const TensorMap& outputs, const TensorMap& expected, const RunArgs& args) {
  if (expected.empty()) fail("{}: no '{}*' to check against", args.io, kOutput);
  bool good = true;
  for (const auto& [name, tensor] : expected) {
    const Tensor& got = outputs.at(name);
    if (got.sizes() != tensor.sizes()) {
      fail("{}: '{}{}' has shape {}, the model gives {}", args.io, kOutput, name,
           to_string(tensor.sizes()), to_string(got.sizes()));
    }
    const double apart = largest_difference(got, tensor);
    fmt::print("{}: largest difference {:.3g}\n", name, apart);
    good &= apart <= args.atol;
  }
  if (!good) fail("{}: differs by more than {} (--atol)", args.io, args.atol);
}

void run(const RunArgs& args) {
  const TensorMap io = read_safetensors(args.io).tensors;
  for (const auto& [name, tensor] : io) {
    if (name.starts_with(kInput) || name.starts_with(kOutput)) continue;
    fail("{}: tensor '{}' must be named '{}…' or '{}…'", args.io, name, kInput, kOutput);
  }
  Model model = load_model(find_model(args.model), semantics_argument(args.semantics));
  model.task->model().to(dtype_argument(args.dtype));
  fmt::print(stderr, "{}\n", describe(model, "cpu", args.dtype));

  const TensorMap expected = with_prefix(io, kOutput);
  std::vector<std::string> wanted;
  for (const auto& [name, tensor] : expected) wanted.push_back(name);
  const TensorMap outputs = run_reference(model, with_prefix(io, kInput), wanted);

  if (!args.output.empty()) {
    NamedTensors named;
    for (const auto& [name, tensor] : outputs) {
      named.emplace_back(std::string(kOutput) + name, tensor.contiguous());
    }
    write_safetensors(args.output, named);
    fmt::print("{}\n", args.output);
  }
  if (args.check) {
    check(outputs, expected, args);
  } else if (args.output.empty()) {
    for (const auto& [name, tensor] : outputs) {
      fmt::print("{} {}\n", name, to_string(tensor.sizes()));
    }
  }
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* command = add_command(
      app, "run", "Run a model on arrays, exactly as the reference it comes from would",
      "  perceiver run deepmind/optical-flow-perceiver io.safetensors -o out.safetensors\n"
      "  perceiver run folder io.safetensors --check --atol 1e-5\n"
      "  perceiver run imagenet_conv_preprocessing.pystate io.safetensors --semantics huggingface");
  command->add_option("model", args->model, "A folder, a checkpoint, or a hub id")->required();
  command->add_option("io", args->io, "safetensors with input.* and, to check, output.*")
      ->required();
  command->add_option("-o,--output", args->output, "Where to write output.*");
  command->add_flag("--check", args->check, "Compare with the output.* of the same file");
  command->add_option("--atol", args->atol, "The largest difference that --check lets pass")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  add_semantics_option(*command, args->semantics);
  add_dtype_option(*command, args->dtype, "Numbers to compute with");
  command->callback([args] { run(*args); });
}

}  // namespace perceiver
