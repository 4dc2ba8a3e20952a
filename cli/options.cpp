#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/nn/layers.h"
#include "perceiver/zoo/find.h"

namespace perceiver {

void add_semantics_option(CLI::App& command, std::string& value) {
  command
      .add_option("--semantics", value,
                  "Compute as this reference does; default: the one the weights come from")
      ->check(CLI::IsMember({"deepmind", "huggingface"}));
}

void add_dtype_option(CLI::App& command, std::string& value, const std::string& description) {
  command.add_option("--dtype", value, description)
      ->capture_default_str()
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
}

std::optional<Reference> semantics_argument(const std::string& value) {
  if (value.empty()) return {};
  return value == "deepmind" ? Reference::kDeepMind : Reference::kHuggingFace;
}

at::ScalarType dtype_argument(const std::string& value) {
  if (value == "float32") return at::kFloat;
  return value == "bfloat16" ? at::kBFloat16 : at::kHalf;
}

std::string paths_override(const std::string& key, const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    list += (list.empty() ? "" : ", ") + nlohmann::json(path).dump();  // quoted as TOML quotes
  }
  return fmt::format("{}=[{}]", key, list);
}

std::string describe(const Model& model, const std::string& device, const std::string& dtype) {
  const std::string parameters =
      amount(static_cast<double>(num_parameters(model.task->model()))) + " parameters";
  const std::string task = read_config_key(model.settings, "task");
  if (is_shipped(model.folder)) {
    return fmt::format(
        "{}: {}, small model trained by this project, not DeepMind's weights, {}, {}, {}",
        model.folder.filename().string(), task, parameters, device, dtype);
  }
  return fmt::format("{}: {} from {}, {}, {}, {}", model.source, task, to_word(model.origin),
                     parameters, device, dtype);
}

}  // namespace perceiver
