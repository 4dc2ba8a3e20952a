#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/core/error.h"
#include "perceiver/core/output_place.h"
#include "perceiver/nn/layers.h"
#include "perceiver/zoo/find.h"

namespace perceiver {

void add_semantics_option(CLI::App& command, std::string& value) {
  command
      .add_option("--semantics", value,
                  "Whose code to compute like: the two differ in small ways from the same weights; "
                  "default: like the code that the weights come from")
      ->check(one_of({"deepmind", "huggingface"}));
}

void add_dtype_option(CLI::App& command, std::string& value, const std::string& description) {
  command.add_option("--dtype", value, description)
      ->capture_default_str()
      ->check(one_of({"float32", "bfloat16", "float16"}));
}

void add_device_option(CLI::App& command, std::string& value) {
  command
      .add_option("--device", value,
                  "Where to compute: cpu, cuda, cuda:N, or auto, a GPU if there is one")
      ->capture_default_str();
}

void add_threads_option(CLI::App& command, int64_t& value) {
  command
      .add_option("--threads", value,
                  "Number of CPU threads; default: one for each core the process may use")
      ->check(whole_number(1, 1024));
}

void add_quiet_option(CLI::App& command, bool& value) {
  command.add_flag("-q,--quiet", value, "Print nothing but results and errors");
}

std::optional<Reference> semantics_argument(const std::string& value) {
  if (value.empty()) return {};
  return value == "deepmind" ? Reference::kDeepMind : Reference::kHuggingFace;
}

at::ScalarType dtype_argument(const std::string& value) {
  if (value == "float32") return at::kFloat;
  return value == "bfloat16" ? at::kBFloat16 : at::kHalf;
}

void check_not_read(const std::string& output, std::vector<std::string> inputs,
                    const Model& model) {
  inputs.push_back(model.source);
  inputs.push_back((model.folder / "config.json").string());
  check_not_input(output, inputs);
}

// As TOML and JSON quote it.
static std::string quoted(const std::string& path) {
  try {
    return nlohmann::json(path).dump();
  } catch (const nlohmann::json::type_error&) {
    fail("{}: its name is no UTF-8, which a config's text must be; rename it", path);
  }
}

std::string paths_override(const std::string& key, const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    list += (list.empty() ? "" : ", ") + quoted(path);
  }
  return fmt::format("{}=[{}]", key, list);
}

// What comes with the program is called as -m takes it.
static std::string shown_name(const Model& model) {
  if (is_shipped(model.folder)) return model.folder.filename().string();
  const std::filesystem::path config = model.source;
  return config.parent_path() == shipped("configs") ? config.stem().string() : model.source;
}

std::string describe(const Model& model, const std::string& device, const std::string& dtype) {
  const std::string parameters =
      amount(static_cast<double>(num_parameters(model.task->model()))) + " parameters";
  const std::string task = task_name(model);
  return fmt::format("{}: {}, {}, {}, {}, {}", shown_name(model), task, to_string(model.origin),
                     parameters, device, dtype);
}

}  // namespace perceiver
