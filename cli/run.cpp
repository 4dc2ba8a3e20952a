#include "perceiver/tasks/arrays/run.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/core/error.h"
#include "perceiver/weights/arrays.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/io_file.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

struct RunArgs {
  std::string model, io, output, semantics, dtype = "float32";
  bool check = false;
  double atol = 1e-4;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor apart = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  if (apart.numel() == 0) return 0.0;
  return apart.isnan().any().item<bool>() ? INFINITY : apart.max().item<double>();
}

void check(const TensorMap& outputs, const TensorMap& expected, const RunArgs& args) {
  if (expected.empty()) fail("{}: no 'output.*' to check against", args.io);
  bool good = true;
  for (const auto& [name, tensor] : expected) {
    const Tensor& got = outputs.at(name);
    if (got.sizes() != tensor.sizes()) {
      fail("{}: 'output.{}' has shape {}, the model gives {}", args.io, name,
           to_string(tensor.sizes()), to_string(got.sizes()));
    }
    const double apart = largest_difference(got, tensor);
    fmt::print("{}: largest difference {:.3g}\n", name, apart);
    good &= apart <= args.atol;
  }
  if (!good) fail("{}: differs by more than {} (--atol)", args.io, args.atol);
}

// A model of arrays of one's own: by the names of its config, in the user's units.
void run_own(Model& model, const RunArgs& args) {
  if (args.check)
    fail("--check compares with a reference, which models of the task arrays have not");
  const NamedTensors outputs = run_arrays(model, args.io);
  fmt::print(stderr, "{}\n", describe(model, "cpu", args.dtype));
  if (!args.output.empty()) {
    write_arrays(args.output, outputs);
    fmt::print("{}\n", args.output);
    return;
  }
  for (const auto& [name, tensor] : outputs) fmt::print("{} {}\n", name, to_string(tensor.sizes()));
}

void run(const RunArgs& args) {
  Model model = load_model(find_model(args.model), semantics_argument(args.semantics));
  check_not_read(args.output, {args.io}, model);
  model.task->model().to(dtype_argument(args.dtype));
  if (task_name(model) == "arrays") return run_own(model, args);

  const IoArrays io = read_io_file(args.io);
  fmt::print(stderr, "{}\n", describe(model, "cpu", args.dtype));
  std::vector<std::string> wanted;
  for (const auto& [name, tensor] : io.outputs) wanted.push_back(name);
  const TensorMap outputs = run_reference(model, io.inputs, wanted);

  if (!args.output.empty()) {
    write_outputs(args.output, outputs);
    fmt::print("{}\n", args.output);
  }
  if (args.check) {
    check(outputs, io.outputs, args);
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
  command
      ->add_option("model", args->model, "The model: a name, a folder, a checkpoint, or a hub id")
      ->required();
  command
      ->add_option(
          "io", args->io,
          "A .safetensors file with arrays input.* and, for --check, output.*; for a model "
          "of the task arrays a file as it was trained on")
      ->required();
  command->add_option("-o,--output", args->output,
                      "Where to write the arrays output.*; of the task arrays its "
                      "queries' (.npz or .safetensors)");
  command->add_flag("--check", args->check, "Compare with the output.* of the same file");
  command->add_option("--atol", args->atol, "The largest difference that --check lets pass")
      ->capture_default_str()
      ->check(number_from(0.0));
  add_semantics_option(*command, args->semantics);
  add_dtype_option(*command, args->dtype, "Number format to compute in");
  command->callback([args] { run(*args); });
}

}  // namespace perceiver
