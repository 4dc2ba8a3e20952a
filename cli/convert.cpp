#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "perceiver/core/error.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

struct ConvertArgs {
  std::string in, out, semantics, dtype = "float32";
};

void convert(const ConvertArgs& args) {
  if (std::filesystem::exists(args.out) && !std::filesystem::is_directory(args.out)) {
    fail("{}: is a file, expected a folder", args.out);
  }
  const Model model = load_model(find_model(args.in), semantics_argument(args.semantics));
  fmt::print(stderr, "{}\n", describe(model, "cpu", args.dtype));
  save_model(model, args.out, dtype_argument(args.dtype));
  fmt::print("{}\n", args.out);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto args = std::make_shared<ConvertArgs>();
  CLI::App* command =
      add_command(app, "convert", "Any readable weights to a Hugging Face folder",
                  "  perceiver convert language_perceiver_io_bytes.pickle language-perceiver\n"
                  "  perceiver convert deepmind/vision-perceiver-conv conv --dtype float16\n"
                  "  perceiver convert configs/flow_patches.toml random-flow");
  command
      ->add_option("in", args->in,
                   "A folder, a checkpoint, a hub id, or a config for random weights")
      ->required();
  command->add_option("out", args->out, "The folder to write")->required();
  add_semantics_option(*command, args->semantics);
  add_dtype_option(*command, args->dtype, "Numbers of the weights");
  command->callback([args] { convert(*args); });
}

}  // namespace perceiver
