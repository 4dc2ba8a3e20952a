// What optical flow is trained and measured on: pairs of folders, or generated ones.
#pragma once

#include <memory>

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/optical_flow/augment.h"
#include "perceiver/tasks/optical_flow/folders.h"
#include "perceiver/tasks/optical_flow/generator_config.h"

namespace perceiver {

struct FlowDataConfig {
  std::vector<std::string> train = {}, held_out = {};  // folders; without any, pairs are generated
  SintelPass sintel_pass = SintelPass::kBoth;
  GeneratorConfig generator = {};
  int64_t pairs = 10000;        // generated: those of an epoch; the next one's are others
  int64_t held_out_pairs = 32;  // generated
  // Generated pairs are so many times as large as the model's frames, for augmentation to shrink
  // and crop.
  double generated_size = 1.0;

  // The paper's curriculum (App. H); its lengths are not stated. At first no augmentation, and a
  // share of the pairs backwards; then augmentation grows from nothing to its full strength.
  int64_t plain_epochs = 0, growth_epochs = 0;
  double reversed_share = 0.5;
  bool augmented = true;
  FlowAugmentConfig augment = {};
};

template <typename Visitor>
void fields(Visitor& visit, FlowDataConfig& c) {
  visit("train", c.train);
  visit("held_out", c.held_out);
  visit("sintel_pass", c.sintel_pass);
  visit("generator", c.generator);
  visit("pairs", c.pairs, at_least(1));
  visit("held_out_pairs", c.held_out_pairs, at_least(1));
  visit("generated_size", c.generated_size, between(0.25, 4.0));
  visit("plain_epochs", c.plain_epochs, at_least(0));
  visit("growth_epochs", c.growth_epochs, at_least(0));
  visit("reversed_share", c.reversed_share, between(0.0, 1.0));
  visit("augmented", c.augmented);
  visit("augment", c.augment);
}

// How strongly the pairs of an epoch are augmented, in [0, 1].
double augmentation_strength(const FlowDataConfig& config, uint64_t epoch);

// Examples of "frames" uint8 [2, 3, H, W], "flow" float [2, H, W] in pixels and "valid" bool [H,
// W].

// Crops of the model's size.
std::unique_ptr<Dataset> flow_training_data(const FlowDataConfig& config, ImageSize crop);

// Whole pairs as they are. Those of a batch are filled up to one size, below and on the right, and
// "size" [2] says how high and wide a pair is. Nothing where the config has none: where training
// pairs are of folders and no folder is held out.
std::unique_ptr<Dataset> flow_held_out_data(const FlowDataConfig& config, ImageSize generated);

}  // namespace perceiver
