#include "perceiver/tasks/imagenet/augment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/tasks/imagenet/data.h"

namespace perceiver {
namespace {

// As evaluation_crop() resizes, so that training and evaluation see the same; the released
// training does not antialias either.
Tensor resized(const Tensor& pixels, const ImageNetConfig& model) {
  const bool fits = pixels.size(1) == model.image_size && pixels.size(2) == model.image_size;
  // TensorFlow's values are floats in every picture of a batch.
  if (fits && model.semantics.bicubic != Bicubic::kTensorFlow) return pixels;
  return resized_picture(pixels, model);
}

// A picture that is all looked at, as it is, needs no resizing to its own size. What comes after
// takes grey levels.
Tensor evaluated_part(const Tensor& pixels, const ImageNetConfig& model) {
  const bool whole = model.crop == 1.0 && pixels.size(1) == pixels.size(2);
  const Tensor part = whole ? resized(pixels, model) : evaluation_crop(pixels, model);
  if (part.scalar_type() == at::kByte) return part;
  return part.round().clamp(0, 255).to(at::kByte);
}

Tensor shifted(const Tensor& pixels, int64_t shift, Rng& rng) {
  const auto x = static_cast<double>(rng.integer(2 * shift + 1) - shift);
  const auto y = static_cast<double>(rng.integer(2 * shift + 1) - shift);
  return translate(pixels, x, y);
}

// A part of random size is resized after RandAugment, as released.
Tensor train_part(const Tensor& pixels, const AugmentConfig& config, const ImageNetConfig& model,
                  Rng& rng) {
  if (config.crop == TrainCrop::kShifted) {
    return shifted(evaluated_part(pixels, model), config.shift, rng);
  }
  const auto box = random_crop({pixels.size(1), pixels.size(2)}, config.min_area, rng);
  return box ? cropped(pixels, *box) : evaluated_part(pixels, model);
}

}  // namespace

// As TensorFlow draws boxes for the released code: the aspect evenly, then the height evenly among
// those that fit. A box must also cover a tenth of the picture, whatever min_area says.
std::optional<PixelBox> random_crop(ImageSize size, double min_area, Rng& rng) {
  constexpr int kAttempts = 10;
  constexpr double kMinCovered = 0.1;
  const auto full_height = static_cast<double>(size.height);
  const auto full_width = static_cast<double>(size.width);
  const double area = full_height * full_width;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double aspect = rng.uniform(3.0 / 4.0, 4.0 / 3.0);  // width over height
    const double fits = std::min({std::sqrt(area / aspect), full_height, full_width / aspect});
    const auto most = static_cast<int64_t>(fits);
    const int64_t least = std::min(std::lround(std::sqrt(min_area * area / aspect)), most);
    const int64_t height = least + rng.integer(most - least + 1);
    const int64_t width = std::lround(static_cast<double>(height) * aspect);
    const double covered = static_cast<double>(height * width) / area;
    if (width > size.width || covered < std::max(min_area, kMinCovered)) continue;
    const int64_t top = rng.integer(size.height - height + 1);
    const int64_t left = rng.integer(size.width - width + 1);
    return PixelBox{top, left, top + height, left + width};
  }
  return std::nullopt;
}

Tensor cropped(const Tensor& pixels, const PixelBox& box) {
  return pixels.slice(1, box.top, box.bottom).slice(2, box.left, box.right).contiguous();
}

Tensor mirrored(const Tensor& pixels) {
  Tensor mirror = at::empty_like(pixels);
  const int64_t width = pixels.size(2);
  const uint8_t* row = pixels.const_data_ptr<uint8_t>();
  const uint8_t* const end = row + pixels.numel();
  for (uint8_t* out = mirror.data_ptr<uint8_t>(); row < end; row += width, out += width) {
    std::reverse_copy(row, row + width, out);
  }
  return mirror;
}

Tensor augment(const Tensor& pixels, const AugmentConfig& config, const ImageNetConfig& model,
               Rng& rng) {
  Tensor part = train_part(pixels, config, model, rng);
  if (config.flip && rng.chance(0.5)) part = mirrored(part);
  return resized(randaugment(part, config.randaugment, rng), model);
}

}  // namespace perceiver
