#include "perceiver/tasks/imagenet/mix.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "perceiver/core/beta.h"
#include "perceiver/tasks/imagenet/data.h"

namespace perceiver {
namespace {

// begin and end [B], places [S] or [S, 1] -> which are inside: [B, 1, 1, S] or [B, 1, S, 1]
Tensor inside(const Tensor& begin, const Tensor& end, const Tensor& places) {
  return places.ge(begin.view({-1, 1, 1, 1})).logical_and(places.lt(end.view({-1, 1, 1, 1})));
}

}  // namespace

Mix draw_mixup(double parameter, int64_t size, Rng& rng) {
  return {beta(parameter, rng), {0, 0, size, size}};
}

Mix draw_cutmix(int64_t size, Rng& rng) {
  const int64_t x = rng.integer(size), y = rng.integer(size);
  const auto side = static_cast<int64_t>(std::sqrt(rng.uniform()) * static_cast<double>(size));
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at, 0, size); };
  return {1.0,
          {inside(y - side / 2), inside(x - side / 2), inside(y + side / 2), inside(x + side / 2)}};
}

void add_mixes(Example& batch, const AugmentConfig& config, Rng& rng) {
  const int64_t examples = batch.at("pixels").size(0), size = batch.at("pixels").size(-1);
  Tensor share = at::empty({examples}, at::kFloat), box = at::empty({examples, 4}, at::kLong);
  const int64_t mixups = !config.cutmix ? examples : config.mixup > 0.0 ? examples / 2 : 0;
  for (int64_t i = 0; i < examples; ++i) {
    const Mix mix = i < mixups ? draw_mixup(config.mixup, size, rng) : draw_cutmix(size, rng);
    share.data_ptr<float>()[i] = static_cast<float>(mix.share);
    const std::array edges = {mix.box.top, mix.box.left, mix.box.bottom, mix.box.right};
    std::copy(edges.begin(), edges.end(), box.data_ptr<int64_t>() + 4 * i);
  }
  batch["share"] = share;
  batch["box"] = box;
}

MixedPictures mixed(const Example& batch, int64_t num_classes) {
  const Tensor pixels = batch.at("pixels"), labels = batch.at("labels");
  Tensor shares = at::ones({labels.size(0), labels.size(1)}, labels.options().dtype(at::kFloat));
  Tensor images = normalised(pixels.select(1, 0));
  if (batch.contains("share")) {
    const Tensor share = batch.at("share"), box = batch.at("box"), second = pixels.select(1, 1);
    const Tensor top = box.select(1, 0), left = box.select(1, 1);
    const Tensor bottom = box.select(1, 2), right = box.select(1, 3);
    const int64_t size = pixels.size(-1);
    const Tensor places = at::arange(size, box.options());
    const Tensor shown = inside(top, bottom, places.view({-1, 1}))
                             .logical_and(inside(left, right, places))
                             .mul(share.view({-1, 1, 1, 1}));
    images = at::lerp(normalised(second), images, shown.expand_as(images));
    const Tensor area = (bottom - top).mul(right - left).div(static_cast<double>(size * size));
    shares = at::stack({share * area, 1.0 - share * area}, 1);
  }
  // -1 is put aside, into a class more.
  const Tensor classes = at::where(labels.lt(0), num_classes, labels).flatten(1);
  const Tensor targets = at::zeros({labels.size(0), num_classes + 1}, shares.options());
  const Tensor each = shares.unsqueeze(-1).expand_as(labels).flatten(1);
  return {images, targets.scatter_add(1, classes, each).narrow(1, 0, num_classes)};
}

}  // namespace perceiver
