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
  double min_area = 0.08;
  int64_t shift = 4;
  bool flip = true;
  RandAugmentConfig randaugment = {};
  double mixup = 0.2;
  bool cutmix = true;

  bool mixes() const { return mixup > 0.0 || cutmix; }
};

template <typename Visitor>
void fields(Visitor& visit, AugmentConfig& c) {
  visit({"crop",
         "Part of a picture that is trained on: a random part made the model's size, or what "
         "evaluation looks at, shifted by a few pixels"},
        c.crop);
  visit({"min_area", "crop resized: least share of the picture's area"}, c.min_area,
        between(0.0, 1.0));
  visit({"shift", "crop shifted: most pixels each way; grey moves in"}, c.shift, at_least(0));
  visit({"flip", "Whether every other picture is mirrored, left to right"}, c.flip);
  visit({"randaugment", "Random changes of colour and shape (RandAugment)"}, c.randaugment);
  visit({"mixup", "Both parameters of MixUp's Beta distribution; 0: no MixUp"}, c.mixup,
        between(0.0, 1.0));
  visit({"cutmix",
         "Whether CutMix joins pictures: those of half a batch where there is MixUp too, else all"},
        c.cutmix);
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

// uint8 [3, H, W] of any size -> [3, S, S], of resized_picture()'s dtype
Tensor augment(const Tensor& pixels, const AugmentConfig& config, const ImageNetConfig& model,
               Rng& rng);

}  // namespace perceiver
