#include "perceiver/tasks/imagenet/dataset.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/data.h"
#include "perceiver/tasks/imagenet/mix.h"

namespace perceiver {

ImageNetConfig shown(ImageNetConfig model, const ImageNetDataConfig& data) {
  if (data.bicubic) model.semantics.bicubic = *data.bicubic;
  return model;
}

PictureCache::PictureCache(std::vector<LabelledFile> files, double gib)
    : files_(std::move(files)), kept_(files_.size()), room_(gib * 0x1p30) {}

Tensor PictureCache::get(int64_t index) const {
  {
    const std::lock_guard lock(mutex_);
    if (kept_[index].defined()) return kept_[index];
  }
  if (!files_[index].error.empty()) throw Error(files_[index].error);
  const Tensor pixels = decode_image(read_file(files_[index].path));
  const auto bytes = static_cast<double>(pixels.nbytes());
  const std::lock_guard lock(mutex_);
  if (!kept_[index].defined() && bytes <= room_) {
    kept_[index] = pixels;
    room_ -= bytes;
  }
  return pixels;
}

int64_t PictureCache::most_labels() const {
  size_t most = 1;
  for (const LabelledFile& file : files_) most = std::max(most, file.labels.size());
  return static_cast<int64_t>(most);
}

PictureDataset::PictureDataset(std::vector<LabelledFile> files, const ImageNetConfig& model,
                               double cache_gib, std::optional<AugmentConfig> augment)
    : pictures_(std::move(files), cache_gib),
      most_labels_(pictures_.most_labels()),
      model_(model),
      augment_(std::move(augment)) {}

Tensor PictureDataset::prepared(int64_t index, Rng& rng) const {
  const Tensor pixels = pictures_.get(index);
  return augment_ ? augment(pixels, *augment_, model_, rng) : evaluation_crop(pixels, model_);
}

Tensor PictureDataset::labels_of(int64_t index) const {
  std::vector<int64_t> labels = pictures_.labels(index);
  labels.resize(most_labels_, -1);
  return at::tensor(labels, at::kLong);
}

Example PictureDataset::get(int64_t index, Rng& rng) const {
  std::vector<Tensor> pixels = {prepared(index, rng)};
  std::vector<Tensor> labels = {labels_of(index)};
  if (mixes()) {
    const int64_t other = rng.integer(size());
    pixels.push_back(prepared(other, rng));
    labels.push_back(labels_of(other));
  }
  return {{"pixels", at::stack(pixels)}, {"labels", at::stack(labels)}};
}

Example PictureDataset::batch(const std::vector<Example>& examples, Rng& rng) const {
  Example batch = stack(examples);
  if (mixes()) add_mixes(batch, *augment_, rng);
  return batch;
}

}  // namespace perceiver
