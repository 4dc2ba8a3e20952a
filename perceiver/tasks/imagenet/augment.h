// What is done to a picture before a model is trained on it (paper, App. A): a random crop, a flip
// and RandAugment.
#pragma once

#include "perceiver/core/rng.h"
#include "perceiver/media/resize.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/imagenet/randaugment.h"

namespace perceiver {

// Which part of a picture is trained on.
enum class TrainCrop {
  kResized,  // a part of random area and aspect, resized to the model's size
  kShifted,  // what evaluation looks at, shifted by a few pixels: for pictures of few pixels
};
constexpr std::array<std::string_view, 2> enum_words(TrainCrop) { return {"resized", "shifted"}; }

// The defaults are the paper's.
struct AugmentConfig {
  TrainCrop crop = TrainCrop::kResized;
  double min_area = 0.08;  // resized: of the picture's
  int64_t shift = 4;       // shifted: pixels, at most, each way; grey moves in
  bool flip = true;        // left to right, every other picture
  RandAugmentConfig randaugment = {};
  double mixup = 0.2;  // both parameters of the Beta distribution; 0: none
  bool cutmix = true;  // of half a batch, where there is MixUp too, else of all

  bool mixes() const { return mixup > 0.0 || cutmix; }
};

template <typename Visitor>
void fields(Visitor& visit, AugmentConfig& c) {
  visit("crop", c.crop);
  visit("min_area", c.min_area, between(0.0, 1.0));
  visit("shift", c.shift, at_least(0));
  visit("flip", c.flip);
  visit("randaugment", c.randaugment);
  visit("mixup", c.mixup, between(0.0, 1.0));
  visit("cutmix", c.cutmix);
}

// Rows and columns [top, bottom) x [left, right).
struct PixelBox {
  int64_t top, left, bottom, right;
  bool operator==(const PixelBox&) const = default;
};

// Where to crop a picture of this size, or nothing after ten attempts.
std::optional<PixelBox> random_crop(ImageSize size, double min_area, Rng& rng);

Tensor cropped(const Tensor& pixels, const PixelBox& box);
Tensor mirrored(const Tensor& pixels);  // left to right

// uint8 [3, H, W] of any size -> uint8 [3, S, S]
Tensor augment(const Tensor& pixels, const AugmentConfig& config, const ImageNetConfig& model,
               Rng& rng);

}  // namespace perceiver
