#include "perceiver/tasks/optical_flow/data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/tasks/optical_flow/generator.h"

namespace perceiver {
namespace {

constexpr uint64_t kHeldOutSeed = 0x4E1D0;  // no run's

std::vector<PairFiles> pairs_of(const std::vector<std::string>& folders, SintelPass pass) {
  std::vector<PairFiles> all;
  for (const std::string& folder : folders) {
    const std::vector<PairFiles> pairs = find_pairs(folder, pass);
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  return all;
}

Example to_example(const FlowPair& pair) {
  return {{"frames", pair.frames}, {"flow", pair.flow}, {"valid", pair.valid}};
}

class FolderPairs : public Dataset {
 public:
  FolderPairs(const FlowDataConfig& config, ImageSize crop)
      : config_(config), crop_(crop), pairs_(pairs_of(config.train, config.sintel_pass)) {}

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }

  Example get(int64_t index, Rng& rng) const override {
    FlowPair pair = read_pair(pairs_[index]);
    const double strength = augmentation_strength(config_, rng.epoch());
    if (strength == 0.0 && rng.chance(config_.reversed_share)) pair = reversed(pair);
    return to_example(augment(pair, crop_, config_.augment, strength, rng));
  }

 private:
  FlowDataConfig config_;
  ImageSize crop_;
  std::vector<PairFiles> pairs_;
};

class GeneratedPairs : public Dataset {
 public:
  GeneratedPairs(const FlowDataConfig& config, ImageSize crop)
      : config_(config),
        crop_(crop),
        generator_(config.generator, scaled(crop.height), scaled(crop.width)) {}

  int64_t size() const override { return config_.pairs; }

  Example get(int64_t, Rng& rng) const override {
    GeneratedPair made = generator_.pair(rng);
    const double strength = augmentation_strength(config_, rng.epoch());
    if (strength == 0.0 && rng.chance(config_.reversed_share)) {
      made.pair = reversed(made.pair, made.hidden);
    }
    return to_example(augment(made.pair, crop_, config_.augment, strength, rng));
  }

 private:
  int64_t scaled(int64_t side) const {
    return std::lround(static_cast<double>(side) * config_.generated_size);
  }

  FlowDataConfig config_;
  ImageSize crop_;
  FlowGenerator generator_;
};

// x [..., h, w] -> [..., H, W], zeros below and on the right.
Tensor filled(const Tensor& x, int64_t height, int64_t width) {
  return at::constant_pad_nd(x, {0, width - x.size(-1), 0, height - x.size(-2)});
}

class HeldOut : public Dataset {
 public:
  Example batch(const std::vector<Example>& examples, Rng&) const override {
    int64_t height = 0, width = 0;
    for (const Example& example : examples) {
      height = std::max(height, example.at("valid").size(0));
      width = std::max(width, example.at("valid").size(1));
    }
    std::vector<Example> alike;
    for (const Example& example : examples) {
      Example one;
      for (const auto& [name, tensor] : example) one[name] = filled(tensor, height, width);
      const Tensor& valid = example.at("valid");
      one["size"] = at::tensor({valid.size(0), valid.size(1)}, at::kLong);
      alike.push_back(std::move(one));
    }
    return stack(alike);
  }
};

class HeldOutFolders : public HeldOut {
 public:
  explicit HeldOutFolders(const FlowDataConfig& config)
      : pairs_(pairs_of(config.held_out, config.sintel_pass)) {}

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  Example get(int64_t index, Rng&) const override { return to_example(read_pair(pairs_[index])); }

 private:
  std::vector<PairFiles> pairs_;
};

class HeldOutGenerated : public HeldOut {
 public:
  HeldOutGenerated(const FlowDataConfig& config, ImageSize size)
      : pairs_(config.held_out_pairs), generator_(config.generator, size.height, size.width) {}

  int64_t size() const override { return pairs_; }

  Example get(int64_t index, Rng&) const override {
    Rng own(kHeldOutSeed, 0, index);
    return to_example(generator_.pair(own).pair);
  }

 private:
  int64_t pairs_;
  FlowGenerator generator_;
};

}  // namespace

double augmentation_strength(const FlowDataConfig& config, uint64_t epoch) {
  const auto grown = static_cast<double>(epoch) - static_cast<double>(config.plain_epochs);
  if (!config.augmented || grown < 0.0) return 0.0;
  if (config.growth_epochs == 0) return 1.0;
  return std::min((grown + 1.0) / static_cast<double>(config.growth_epochs), 1.0);
}

std::unique_ptr<Dataset> flow_training_data(const FlowDataConfig& config, ImageSize crop) {
  if (config.train.empty()) return std::make_unique<GeneratedPairs>(config, crop);
  return std::make_unique<FolderPairs>(config, crop);
}

std::unique_ptr<Dataset> flow_held_out_data(const FlowDataConfig& config, ImageSize generated) {
  if (!config.held_out.empty()) return std::make_unique<HeldOutFolders>(config);
  if (!config.train.empty()) return {};
  return std::make_unique<HeldOutGenerated>(config, generated);
}

}  // namespace perceiver
