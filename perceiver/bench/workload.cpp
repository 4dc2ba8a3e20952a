#include "perceiver/bench/workload.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/memory.h"
#include "perceiver/core/names.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/optical_flow/tiling.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFrameHeight = 436, kFrameWidth = 1088;  // App. H, the speed note

const NamedWorkload* find_named(const std::string& name) {
  const std::vector<NamedWorkload>& all = named_workloads();
  const auto found = std::ranges::find(all, name, &NamedWorkload::name);
  return found == all.end() ? nullptr : &*found;
}

// The file of a config, or nothing where `name` is a model with weights.
std::optional<File> config_of(const std::string& name) {
  if (const NamedWorkload* named = find_named(name)) {
    return read_file(shipped("configs") / named->config);
  }
  if (name.ends_with(".toml")) return read_file(find_config(name));
  if (const auto config = shipped_config(name)) return read_file(*config);
  if (name.find_first_of("/.") != name.npos || fs::exists(name)) return {};
  const std::vector<std::string> models = model_names(model_places());
  if (std::ranges::find(models, name) != models.end()) return {};
  std::vector<std::string> known = all_workloads();
  known.insert(known.end(), models.begin(), models.end());
  const std::string near = did_you_mean(name, known);
  fail("unknown model '{}'{}", name,
       near.empty() ? "; 'perceiver bench --list' shows those with a name" : near);
}

// What a training step is measured with, whatever the recipe's own batch.
std::vector<std::string> training_overrides(const WorkloadOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  const char* dtype = options.dtype == at::kFloat ? "float32" : "bfloat16";
  for (const std::string& setting :
       {fmt::format("train.batch={}", options.batch), std::string("train.accumulate=1"),
        fmt::format("train.dtype={}", dtype), std::string("train.from=''")}) {
    overrides.push_back(setting);
  }
  return overrides;
}

Model make_model(const std::string& name, const WorkloadOptions& options) {
  const std::optional<File> config = config_of(name);
  if (!config && !options.overrides.empty()) {
    fail("{}: a model with weights has its settings; '{}' is for configs", name,
         options.overrides.front());
  }
  if (!config && !options.train) return load_model(find_model(name));
  const File settings = config ? *config : settings_file(find_model(name));
  if (!options.train) return new_model(settings, options.overrides);
  return new_model(settings, training_overrides(options));
}

void check_combination(const std::string& name, const WorkloadOptions& options) {
  const NamedWorkload* named = find_named(name);
  if (named == nullptr || !named->tiled) return;
  if (options.train) fail("{}: frames in tiles have no training step; take flow", name);
  if (options.batch != 1) fail("{}: takes frames one at a time, not --batch", name);
}

}  // namespace

const std::vector<NamedWorkload>& named_workloads() {
  static const std::vector<NamedWorkload> all = {
      {"language", "language_bytes.toml", "masked language, 2048 bytes", false, 2},
      {"imagenet-fourier", "imagenet_fourier.toml", "224 x 224 pixels, Fourier positions", false,
       2},
      {"imagenet-learned", "imagenet_learned.toml", "224 x 224 pixels, learned positions"},
      {"imagenet-conv", "imagenet_conv.toml", "224 x 224 pixels behind a convolution", false, 2},
      {"flow", "flow_patches.toml", "optical flow, 368 x 496, the released model", false, 1},
      {"flow-conv", "flow_conv.toml", "the same behind a convolution (row 5 of Tab. 16)"},
      {"flow-conv-small", "flow_conv_small.toml", "16 layers, 1024 latents (row 7 of Tab. 16)"},
      {"flow-tiled", "flow_patches.toml", "frames of 1088 x 436 in six tiles, the released model",
       true},
      {"flow-conv-tiled", "flow_conv.toml", "frames of 1088 x 436, row 5", true},
      {"flow-conv-small-tiled", "flow_conv_small.toml", "frames of 1088 x 436, row 7", true},
      {"multimodal", "multimodal_784.toml", "clips of 16 frames with sound, every output decoded"},
      {"audioset", "audioset_raw_perceiver_io.toml", "clips of 32 frames with raw sound"},
      {"audioset-mel", "audioset_mel_perceiver_io.toml", "clips of 32 frames with spectrograms"},
  };
  return all;
}

std::vector<std::string> all_workloads() {
  std::vector<std::string> names;
  for (const NamedWorkload& workload : named_workloads()) names.emplace_back(workload.name);
  return names;
}

std::vector<std::string> quick_workloads(at::Device device) {
  std::vector<std::string> names;
  for (const NamedWorkload& workload : named_workloads()) {
    if (workload.quick_on >= (device.is_cpu() ? 2 : 1)) names.emplace_back(workload.name);
  }
  return names;
}

void check_workload(const std::string& name, const WorkloadOptions& options) {
  check_combination(name, options);
  if (!config_of(name)) {
    find_model(name);
    return;
  }
  const ConstructScope scope(Construct::kWithoutMemory);
  Model model = make_model(name, options);
  if (options.train) training_of(model);
}

Workload::Workload(const std::string& name, const WorkloadOptions& options)
    : name_(name), train_(options.train), examples_(options.batch) {
  const NamedWorkload* named = find_named(name);
  tiled_ = named != nullptr && named->tiled;
  check_combination(name, options);
  model_ = make_model(name, options);
  if (!options.train) {
    model_.task->model().to(options.device, options.dtype);
    model_.task->model().eval();
    flops_ = static_cast<double>(examples_ * summary().flops());
  }
  if (options.train) {
    prepare_training(options);
  } else if (tiled_) {
    prepare_tiles(options);
  } else if (!options.inputs.empty()) {
    prepare_reference(options);
  } else {
    prepare_forward(options);
  }
}

ModelSummary Workload::summary() const {
  return model_.task->summary(train_ ? Split::kTrain : Split::kEval);
}

void Workload::prepare_forward(const WorkloadOptions& options) {
  inputs_ = to_model(model_.task->model(), model_.task->random_inputs(options.batch));
  pass_ = [this] {
    at::NoGradGuard no_grad;
    model_.task->forward(inputs_, Split::kEval);
  };
}

void Workload::prepare_reference(const WorkloadOptions& options) {
  const ReferencePass run = reference_pass(model_, options.inputs);
  examples_ = options.inputs.begin()->second.size(0);
  flops_ = static_cast<double>(examples_ * summary().flops());
  pass_ = [this, run] { outputs_ = run(); };
}

void Workload::prepare_tiles(const WorkloadOptions& options) {
  auto& flow = model_as<OpticalFlowImpl>(model_, "bench", "optical_flow");
  const Tensor frames = at::randint(256, {2, 3, kFrameHeight, kFrameWidth}, at::kByte);
  const Tiling tiling = {.tiles_at_once =
                             tiles_at_once(flow, options.device, free_memory(options.device))};
  const size_t tiles =
      tile_corners(flow.config(), kFrameHeight, kFrameWidth, tiling.placement).size();
  flops_ *= static_cast<double>(tiles);
  pass_ = [&flow, frames, tiling] {
    at::NoGradGuard no_grad;
    tiled_flow(flow, frames, tiling);
  };
}

void Workload::prepare_training(const WorkloadOptions& options) {
  trainer_ = std::make_unique<Trainer>(
      model_, TrainerOptions{.device = options.device,
                             .only_batch = training_of(model_).random_batch(options.batch)});
  flops_ = training_of(model_).flops_per_example() * static_cast<double>(options.batch);
  pass_ = [this] { trainer_->step(); };
}

}  // namespace perceiver
