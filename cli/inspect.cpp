#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/core/file.h"
#include "perceiver/nn/init.h"
#include "perceiver/nn/layers.h"
#include "perceiver/tasks/task.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArgs {
  std::string config, dtype = "float32", device = "cpu", split = "eval";
  std::vector<std::string> overrides;
  int64_t batch = 1, slice = 16384;
  bool json = false;
};

// The kernel an attention will get, and what the faster ones say.
struct Choice {
  std::string kernel;
  std::vector<std::string> refusals;
};

Choice choose(AttentionCase c, const InspectArgs& args) {
  c.batch = args.batch;
  c.dtype = dtype_argument(args.dtype);
  c.device = at::Device(args.device);
  c.needs_grad = args.split == "train";
  return {std::string(select_attention_kernel(c).name), attention_refusals(c)};
}

// Layers that differ in their number alone are one line: "encoder.self_attend_0-23".
std::string family(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

struct Line {
  Part part;
  int64_t count = 1;
};

std::vector<Line> merged(const std::vector<Part>& parts) {
  std::vector<Line> lines;
  for (const Part& part : parts) {
    const bool numbered = std::isdigit(static_cast<unsigned char>(part.name.back())) != 0;
    if (numbered && !lines.empty() && family(lines.back().part.name) == family(part.name) &&
        lines.back().part.flops == part.flops * lines.back().count) {
      lines.back().part.parameters += part.parameters;
      lines.back().part.flops += part.flops;
      ++lines.back().count;
    } else {
      lines.push_back({part});
    }
  }
  return lines;
}

void print_text(const ModelSummary& s, const MemoryPlan& memory, const InspectArgs& args) {
  fmt::print("inputs   {}\n", array(s.inputs.index, s.inputs.channels));
  if (s.latents) fmt::print("latents  {}\n", array(s.latents->index, s.latents->channels));
  if (s.queries) fmt::print("queries  {}\n", array(s.queries->index, s.queries->channels));
  fmt::print("outputs  {}\n\n", array(s.outputs.index, s.outputs.channels));

  std::vector<std::vector<std::string>> rows = {{"part", "times", "parameters", "FLOPs", "heads",
                                                 "queries x keys", "q/k, v a head", "kernel"}};
  std::string refused;
  for (const auto& [part, count] : merged(s.parts)) {
    const std::string name = count == 1 ? part.name : fmt::format("{}-{}", part.name, count - 1);
    std::vector<std::string> row = {name, std::to_string(part.times), grouped(part.parameters),
                                    part.flops > 0 ? amount(part.flops) : "-"};
    if (part.attention) {
      const AttentionCase& a = *part.attention;
      const Choice choice = choose(a, args);
      row.insert(row.end(), {std::to_string(a.heads),
                             fmt::format("{} x {}", grouped(a.queries), grouped(a.keys)),
                             fmt::format("{}, {}", a.qk_channels, a.v_channels), choice.kernel});
      for (const std::string& reason : choice.refusals)
        refused += fmt::format("  {}: {}\n", name, reason);
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({"all", "", grouped(s.parameters()), amount(s.flops())});
  fmt::print("{}", table(rows));
  if (!refused.empty()) fmt::print("\nfaster kernels that refused\n{}", refused);
  fmt::print(
      "\nmemory, {} x {} (estimate): weights {}, then at most {} (encode {}, process {}, "
      "decode in slices of {} {}); peak {}\n",
      args.batch, args.dtype, bytes(memory.weights), bytes(memory.peak() - memory.weights),
      bytes(memory.encode), bytes(memory.process), args.slice, bytes(memory.decode),
      bytes(memory.peak()));
}

Json to_json(const std::optional<ArraySize>& a) { return a ? Json{a->index, a->channels} : Json(); }

void print_json(const ModelSummary& s, const MemoryPlan& memory, const InspectArgs& args) {
  Json parts = Json::array();
  for (const Part& part : s.parts) {
    Json item = {{"name", part.name},
                 {"times", part.times},
                 {"parameters", part.parameters},
                 {"flops", part.flops}};
    if (part.attention) {
      const AttentionCase& a = *part.attention;
      const Choice choice = choose(a, args);
      item["attention"] = {{"heads", a.heads},
                           {"queries", a.queries},
                           {"keys", a.keys},
                           {"qk_channels_per_head", a.qk_channels},
                           {"v_channels_per_head", a.v_channels},
                           {"kernel", choice.kernel},
                           {"refusals", choice.refusals}};
    }
    parts.push_back(std::move(item));
  }
  const Json document = {{"config", args.config},
                         {"split", args.split},
                         {"inputs", to_json(s.inputs)},
                         {"latents", to_json(s.latents)},
                         {"queries", to_json(s.queries)},
                         {"outputs", to_json(s.outputs)},
                         {"parameters", s.parameters()},
                         {"flops", s.flops()},
                         {"memory",
                          {{"batch", args.batch},
                           {"dtype", args.dtype},
                           {"weights", memory.weights},
                           {"encode", memory.encode},
                           {"process", memory.process},
                           {"decode", memory.decode},
                           {"peak", memory.peak()}}},
                         {"parts", std::move(parts)}};
  fmt::print("{}\n", document.dump(2));
}

// A config is read as it is; a model has its settings beside the weights.
File settings_of(const std::string& name) {
  return name.ends_with(".toml") ? read_file(name) : read_settings(find_model(name));
}

void inspect(const InspectArgs& args) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::unique_ptr<Task> task = make_task(settings_of(args.config), args.overrides);
  const ModelSummary summary = task->summary(args.split == "train" ? Split::kTrain : Split::kEval);
  const int64_t bytes_per_value = static_cast<int64_t>(at::elementSize(dtype_argument(args.dtype)));
  const MemoryPlan memory = plan_memory(summary, args.batch, bytes_per_value, args.slice);
  args.json ? print_json(summary, memory, args) : print_text(summary, memory, args);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App* command = add_command(
      app, "inspect",
      "Arrays, channels, parameters, FLOPs, memory and attention kernels of a model",
      "  perceiver inspect configs/language_bytes.toml\n"
      "  perceiver inspect configs/flow_patches.toml --batch 6 --dtype bfloat16\n"
      "  perceiver inspect deepmind/language-perceiver\n"
      "  perceiver inspect configs/imagenet_fourier.toml model.encoder.num_latents=256 --json");
  command->add_option("config", args->config, "A config, such as one of configs/, or a model")
      ->required();
  command->add_option("overrides", args->overrides, "key=value pairs that win over the config's");
  command->add_option("--batch", args->batch, "Examples at once, for the memory")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--slice", args->slice, "Queries decoded at once, for the memory")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_dtype_option(*command, args->dtype, "Numbers of weights and arrays");
  command->add_option("--device", args->device, "Where the kernels would run: cpu or cuda")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--split", args->split, "With the queries of training or of evaluation")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "eval"}));
  command->add_flag("--json", args->json, "One JSON document");
  command->callback([args] { inspect(*args); });
}

}  // namespace perceiver
