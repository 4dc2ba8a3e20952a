// Two pictures and their labels become one (paper, App. A): MixUp (Zhang et al. 2018) and CutMix
// (Yun et al. 2019).
#pragma once

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/imagenet/augment.h"

namespace perceiver {

// How a picture and a second one become one: inside the box `share` of the first and the rest of
// the second, outside the second alone.
struct Mix {
  double share;
  PixelBox box;
};
Mix draw_mixup(double parameter, int64_t size, Rng& rng);
Mix draw_cutmix(int64_t size, Rng& rng);

// Into a batch: share [B], box [B, 4]. The first half is MixUp's and the second CutMix's where
// there are both.
void add_mixes(Example& batch, const AugmentConfig& config, Rng& rng);

// The batch of a dataset as a model takes it, on the batch's device, where mixing costs nothing:
// pixels [B, K, 3, S, S] in grey levels, labels [B, K, labels], -1 where a picture has fewer, and
// for K = 2 what add_mixes() adds.
struct MixedPictures {
  Tensor images;   // [B, 3, S, S], normalised
  Tensor targets;  // [B, classes]: the share of the picture that is of each class
};
MixedPictures mixed(const Example& batch, int64_t num_classes);

}  // namespace perceiver
