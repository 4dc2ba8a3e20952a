// What optical flow is trained and measured on: pairs of folders, or generated ones.
#pragma once

#include <memory>

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/optical_flow/augment.h"
#include "perceiver/tasks/optical_flow/folders.h"
#include "perceiver/tasks/optical_flow/generator_config.h"

namespace perceiver {

struct FlowDataConfig {
  std::vector<std::string> train = {}, held_out = {};
  SintelPass sintel_pass = SintelPass::kBoth;
  GeneratorConfig generator = {};
  int64_t pairs = 10000;
  int64_t held_out_pairs = 32;
  // Generated pairs are so many times as large as the model's frames. Augmentation shrinks a side
  // to 2^-0.4 = 1 / 1.32 at most, and there is something to crop even then.
  double generated_size = 1.35;

  // The paper's curriculum (App. H); its lengths are not stated. At first no augmentation, and each
  // pair twice in a batch, forwards and backwards; then augmentation grows from nothing to its full
  // strength.
  int64_t plain_epochs = 0, growth_epochs = 0;
  bool both_ways = true;
  bool augmented = true;
  FlowAugmentConfig augment = {};
};

template <typename Visitor>
void fields(Visitor& visit, FlowDataConfig& c) {
  visit({"train", "Folders of pairs with known flow to train on; empty: pairs are generated"},
        c.train);
  visit({"held_out",
         "Folders of pairs with known flow to measure on; empty: generated ones, where train is "
         "empty too"},
        c.held_out);
  visit({"sintel_pass", "Which renderings of Sintel's films are read"}, c.sintel_pass);
  visit({"generator", "How pairs are generated"}, c.generator);
  visit({"pairs", "Generated pairs of an epoch; the next epoch's are others"}, c.pairs,
        at_least(1));
  visit({"held_out_pairs", "Generated pairs to measure on"}, c.held_out_pairs, at_least(1));
  visit({"generated_size",
         "Size of generated pairs, in multiples of the model's frame, so that crops can be taken"},
        c.generated_size, between(0.25, 4.0));
  visit({"plain_epochs", "Epochs without augmentation at the start, in which both_ways counts"},
        c.plain_epochs, at_least(0));
  visit({"growth_epochs", "Epochs after those in which augmentation grows to its full strength"},
        c.growth_epochs, at_least(0));
  visit({"both_ways", "Whether a batch of the plain epochs has each pair forwards and backwards"},
        c.both_ways);
  visit({"augmented", "Whether pairs are augmented at all"}, c.augmented);
  visit({"augment", "How pairs are augmented"}, c.augment);
}

// How strongly the pairs of an epoch are augmented, in [0, 1].
double augmentation_strength(const FlowDataConfig& config, uint64_t epoch);

// Examples of "frames" uint8 [2, 3, H, W], "flow" float [2, H, W] in pixels and "valid" bool [H,
// W].

// Crops of the model's size. Where pairs are shown both ways, an example has them one above the
// other, and a batch of B examples is as large as any: the first B / 2 pairs both ways (of an odd B
// the next one forwards). An epoch then shows half of the pairs, drawn anew each time.
std::unique_ptr<Dataset> flow_training_data(const FlowDataConfig& config, ImageSize crop);

// Whole pairs as they are. Those of a batch are filled up to one size, below and on the right, and
// "size" [2] says how high and wide a pair is, "set" [] which FlowSet it is of. Nothing where the
// config has none: where training pairs are of folders and no folder is held out.
std::unique_ptr<Dataset> flow_held_out_data(const FlowDataConfig& config, ImageSize generated);

}  // namespace perceiver
