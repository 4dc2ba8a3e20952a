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

// Training pairs as the curriculum shows them.
class TrainingPairs : public Dataset {
 public:
  TrainingPairs(const FlowDataConfig& config, ImageSize crop) : config_(config), crop_(crop) {}

  Example get(int64_t index, Rng& rng) const override {
    const double strength = augmentation_strength(config_, rng.epoch());
    const GeneratedPair found = pair(index, rng);
    const auto shown = [&](const FlowPair& pair) {
      return to_example(augment(pair, crop_, config_.augment, strength, rng));
    };
    const Example forwards = shown(found.pair);
    if (strength > 0.0 || !config_.both_ways) return forwards;
    return stack({forwards, shown(reversed(found.pair, found.hidden))});
  }

  Example batch(const std::vector<Example>& examples, Rng&) const override {
    std::vector<Example> shown;
    for (const Example& example : examples) {
      for (const Example& one : ways(example)) {
        if (shown.size() < examples.size()) shown.push_back(one);
      }
    }
    return stack(shown);
  }

 protected:
  virtual GeneratedPair pair(int64_t index, Rng& rng) const = 0;  // hidden: where it is known

 private:
  // An example of get() -> one for each way.
  static std::vector<Example> ways(const Example& example) {
    if (example.at("valid").dim() == 2) return {example};
    std::vector<Example> both(2);
    for (const auto& [name, tensor] : example) {
      for (int64_t i = 0; i < 2; ++i) both[i][name] = tensor[i];
    }
    return both;
  }

  FlowDataConfig config_;
  ImageSize crop_;
};

class FolderPairs : public TrainingPairs {
 public:
  FolderPairs(const FlowDataConfig& config, ImageSize crop)
      : TrainingPairs(config, crop), pairs_(pairs_of(config.train, config.sintel_pass)) {}

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }

 protected:
  GeneratedPair pair(int64_t index, Rng&) const override { return {read_pair(pairs_[index]), {}}; }

 private:
  std::vector<PairFiles> pairs_;
};

class GeneratedPairs : public TrainingPairs {
 public:
  GeneratedPairs(const FlowDataConfig& config, ImageSize crop)
      : TrainingPairs(config, crop),
        pairs_(config.pairs),
        generator_(config.generator, scaled(crop.height, config), scaled(crop.width, config)) {}

  int64_t size() const override { return pairs_; }

 protected:
  GeneratedPair pair(int64_t, Rng& rng) const override { return generator_.pair(rng); }

 private:
  static int64_t scaled(int64_t side, const FlowDataConfig& config) {
    return std::lround(static_cast<double>(side) * config.generated_size);
  }

  int64_t pairs_;
  FlowGenerator generator_;
};

// x [..., h, w] -> [..., H, W], zeros below and on the right.
Tensor filled(const Tensor& x, int64_t height, int64_t width) {
  return at::constant_pad_nd(x, {0, width - x.size(-1), 0, height - x.size(-2)});
}

Example with_set(Example example, FlowSet set) {
  example["set"] = at::scalar_tensor(static_cast<int64_t>(set), at::kLong);
  return example;
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
      for (const auto& [name, tensor] : example) {
        one[name] = name == "set" ? tensor : filled(tensor, height, width);
      }
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
  Example get(int64_t index, Rng&) const override {
    return with_set(to_example(read_pair(pairs_[index])), pairs_[index].set);
  }

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
    return with_set(to_example(generator_.pair(own).pair), FlowSet::kOther);
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
