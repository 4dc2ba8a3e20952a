#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "perceiver/core/output_place.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

struct ConvertArgs {
  std::string in, out, semantics, dtype = "float32";
  bool overwrite = false;
};

void convert(const ConvertArgs& args) {
  if (!args.overwrite || !std::filesystem::is_directory(args.out)) check_new_folder(args.out);
  const Model model = load_model(find_model(args.in), semantics_argument(args.semantics));
  fmt::print(stderr, "{}\n", describe(model, "cpu", args.dtype));
  save_model(model, args.out, dtype_argument(args.dtype));
  fmt::print("{}\n", args.out);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto args = std::make_shared<ConvertArgs>();
  CLI::App* command = add_command(
      app, "convert", "Write a model's weights as a folder that this program and transformers read",
      "  perceiver convert language_perceiver_io_bytes.pickle language-perceiver\n"
      "  perceiver convert deepmind/vision-perceiver-conv conv --dtype float16\n"
      "  perceiver convert configs/flow_patches.toml random-flow");
  command
      ->add_option("in", args->in,
                   "The model: a name, a folder, a checkpoint, a hub id, or a config, whose "
                   "weights are random")
      ->required();
  command->add_option("out", args->out, "The folder to write, which must be new or empty")
      ->required();
  command->add_flag("--overwrite", args->overwrite, "Write over a model that is in the folder");
  add_semantics_option(*command, args->semantics);
  add_dtype_option(*command, args->dtype, "Number format of the weights");
  command->callback([args] { convert(*args); });
}

}  // namespace perceiver
