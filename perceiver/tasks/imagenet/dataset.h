// Labelled pictures to train on, augmented, or to be measured on, as the model sees them.
#pragma once

#include <mutex>

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/imagenet/augment.h"
#include "perceiver/tasks/imagenet/image_folder.h"
#include "perceiver/tasks/imagenet/picture_table.h"

namespace perceiver {

struct ImageNetDataConfig {
  ImageFolders folders = {};
  PictureTable table = {};
  double cache_gib = 4.0;
  std::optional<Bicubic> bicubic = {};
  AugmentConfig augment = {};
};

// All in one table: [data].
template <typename Visitor>
void fields(Visitor& visit, ImageNetDataConfig& c) {
  fields(visit, c.folders);
  fields(visit, c.table);
  visit({"cache_gib", "GiB of memory for decoded pictures; 0: each is decoded whenever it is read"},
        c.cache_gib, at_least(0.0));
  visit({"bicubic",
         "Whose bicubic resizing prepares these pictures; not set: model.semantics.bicubic"},
        c.bicubic);
  fields(visit, c.augment);
}

// The model as it is shown the pictures of `data`.
ImageNetConfig shown(ImageNetConfig model, const ImageNetDataConfig& data);

// Pictures of files, kept once they are decoded for as long as there is room.
class PictureCache {
 public:
  PictureCache(std::vector<LabelledFile> files, double gib);

  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  const std::vector<int64_t>& labels(int64_t index) const { return files_[index].labels; }
  int64_t most_labels() const;      // of any picture, at least one
  Tensor get(int64_t index) const;  // uint8 [3, H, W]; by several threads at once

 private:
  std::vector<LabelledFile> files_;
  mutable std::mutex mutex_;
  mutable std::vector<Tensor> kept_;
  mutable double room_;  // bytes
};

// Examples: pixels [K, 3, S, S] of resized_picture()'s dtype, labels [K, labels]. K is 2 where
// two pictures will be mixed, the one asked for and any other, else 1. As many labels as any
// picture has; -1 where one has fewer. Batches as mixed() takes them.
class PictureDataset : public Dataset {
 public:
  // Without `augment`, as evaluated.
  PictureDataset(std::vector<LabelledFile> files, const ImageNetConfig& model, double cache_gib,
                 std::optional<AugmentConfig> augment);

  int64_t size() const override { return pictures_.size(); }
  Example get(int64_t index, Rng& rng) const override;
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  bool mixes() const { return augment_ && augment_->mixes(); }
  Tensor prepared(int64_t index, Rng& rng) const;  // [3, S, S]
  Tensor labels_of(int64_t index) const;           // [labels]

  PictureCache pictures_;
  int64_t most_labels_;
  ImageNetConfig model_;
  std::optional<AugmentConfig> augment_;
};

}  // namespace perceiver
