#include "perceiver/tasks/imagenet/model.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "perceiver/core/count.h"

namespace perceiver {
namespace {

constexpr int64_t kColours = 3;

std::vector<int64_t> patch_grid(at::IntArrayRef image, int64_t size) {
  if (image[0] % size != 0 || image[1] % size != 0) {
    fail(
        "an image of {} x {} pixels cannot be cut into patches of {} x {}: its height and width "
        "must be multiples of {}",
        image[0], image[1], size, size, size);
  }
  return {image[0] / size, image[1] / size};
}

// What the features' frequencies go up to does not follow the picture, nor the padding.
std::vector<int64_t> resolution_of(const ImageNetConfig& c) {
  const std::vector<int64_t> image = {c.image_size, c.image_size};
  if (c.max_resolution) return {*c.max_resolution, *c.max_resolution};
  if (c.input == ImageInput::kConv) return ConvStageImpl::output_grid(image, ConvPadding::kSame);
  if (c.input == ImageInput::kPatches) return patch_grid(image, c.patch_size);
  return image;
}

void check_places(const ImageNetConfig& c) {
  if (c.input == ImageInput::kLearned) {
    fail("latents_start = \"places\" takes Fourier features, which input = \"learned\" has not");
  }
  const int64_t n = c.encoder.num_latents, side = std::lround(std::sqrt(static_cast<double>(n)));
  if (side * side != n) {
    fail("latents_start = \"places\" takes a square number of latents, not {}", n);
  }
  const int64_t features = fourier_channels(2, c.num_bands);
  if (features > c.encoder.latent_channels) {
    fail("latents_start = \"places\": {} features of a place do not fit a latent's {} channels",
         features, c.encoder.latent_channels);
  }
}

const ImageNetConfig& checked(const ImageNetConfig& c) {
  check_pixels("image_size", 1, c.image_size, c.image_size);
  if (c.input == ImageInput::kPatches && c.image_size % c.patch_size != 0) {
    fail("image_size ({}) must be a multiple of patch_size ({})", c.image_size, c.patch_size);
  }
  if (c.latents_start == LatentStart::kPlaces) check_places(c);
  return c;
}

int64_t content_channels(const ImageNetConfig& c) {
  if (c.input == ImageInput::kFourier) return kColours;
  if (c.input == ImageInput::kPatches) return c.patch_size * c.patch_size * kColours;
  return c.content_channels;
}

}  // namespace

ImageNetImpl::ImageNetImpl(const ImageNetConfig& config)
    : config_(checked(config)),
      fourier_(resolution_of(config), config.num_bands),
      input_channels_(content_channels(config) + (config.input == ImageInput::kLearned
                                                      ? config.position_channels
                                                      : fourier_.channels())) {
  register_input();
  encoder_ = register_module("encoder", Encoder(input_channels_, config.encoder, config.semantics));
  class_decoder_ = ClassDecoder(*this, {.by = config.decode_by,
                                        .latent_channels = config.encoder.latent_channels,
                                        .query_channels = config.query_channels,
                                        .num_classes = config.num_classes,
                                        .decoder = config.decoder,
                                        .semantics = config.semantics});
  if (config.latents_start == LatentStart::kPlaces && !constructs_without_memory()) {
    start_at_places();
  }
}

// A latent begins with the features of its place, and both looks compare these channels of latents
// and inputs by the same random directions: a latent then attends to what lies around its place,
// as an element of a Transformer begins with its own patch, and need not learn where to look.
void ImageNetImpl::start_at_places() {
  at::NoGradGuard no_grad;
  auto parameters = named_parameters();
  Tensor& latents = parameters["encoder.latents"];
  const int64_t side = std::lround(std::sqrt(static_cast<double>(latents.size(0))));
  const int64_t features = fourier_.channels();
  const Tensor places =
      fourier_features(grid_positions({side, side}), config_.num_bands, resolution_of(config_));
  latents.narrow(1, 0, features).copy_(places * (kLearnedVectors.stddev * std::numbers::sqrt2));
  for (const std::string look : {"encoder.cross_attend", "encoder.cross_attend_again"}) {
    Tensor* const keys = parameters.find(look + ".attention.k.weight");
    if (keys == nullptr) continue;
    // Twice the usual squared length: places outweigh what else is in an element.
    const Tensor directions =
        new_parameter({keys->size(0), features},
                      truncated_normal(std::sqrt(2.0 / static_cast<double>(features))));
    keys->narrow(1, input_channels_ - features, features).copy_(directions);
    parameters[look + ".attention.q.weight"].narrow(1, 0, features).copy_(directions);
  }
}

void ImageNetImpl::register_input() {
  const ImageNetConfig& c = config_;
  if (c.input == ImageInput::kConv) {
    conv_stage_ = register_module(
        "conv_stage", ConvStage(kColours, c.content_channels, c.semantics.conv_padding));
  }
  if (c.input == ImageInput::kLearned || c.input == ImageInput::kProjected) {
    content_ = register_module("content", Linear(kColours, c.content_channels));
  }
  if (c.input == ImageInput::kLearned) {
    positions_ =
        register_module("positions", Embedding(c.image_size * c.image_size, c.position_channels));
    position_projection_ =
        register_module("position_projection", Linear(c.position_channels, c.position_channels));
  }
}

std::vector<int64_t> ImageNetImpl::grid(at::IntArrayRef image) const {
  if (config_.input == ImageInput::kConv) {
    return ConvStageImpl::output_grid(image, config_.semantics.conv_padding);
  }
  return config_.input == ImageInput::kPatches ? patch_grid(image, config_.patch_size)
                                               : image.vec();
}

Tensor ImageNetImpl::content_elements(const Tensor& images) {
  switch (config_.input) {
    case ImageInput::kConv:
      return pixels_to_elements(conv_stage_(images));
    case ImageInput::kPatches:
      return pixels_to_patches(images, config_.patch_size);
    case ImageInput::kLearned:
    case ImageInput::kProjected:
      return content_(pixels_to_elements(images));
    case ImageInput::kFourier:
      break;
  }
  return pixels_to_elements(images);
}

Array ImageNetImpl::input_array(const Tensor& images) {
  check_shape(images, {kAny, kColours, kAny, kAny}, "images");
  const std::vector<int64_t> grid = this->grid(images.sizes().slice(2));
  if (config_.input != ImageInput::kLearned) {
    return fourier_.behind(content_elements(images), grid);
  }
  check_shape(images, {kAny, kColours, config_.image_size, config_.image_size}, "images");
  const Tensor positions = position_projection_(positions_->weight);
  return at::cat({content_elements(images), positions.expand({images.size(0), -1, -1})}, -1);
}

ModelSummary ImageNetImpl::summary() const {
  const std::vector<int64_t> image = {config_.image_size, config_.image_size};
  const int64_t m = c10::multiply_integers(grid(image));
  ModelSummary s{.inputs = {m, input_channels_},
                 .latents = encoder_->latent_size(),
                 .queries = {},
                 .outputs = {1, config_.num_classes}};
  if (!conv_stage_.is_empty()) s.add("input.", {conv_stage_->part(image)});
  if (!content_.is_empty()) {
    s.add("input.", {{.name = "content",
                      .parameters = num_parameters(*content_),
                      .flops = content_->flops(m)}});
  }
  if (!positions_.is_empty()) {
    s.add("input.", {{.name = "positions", .parameters = num_parameters(*positions_)},
                     {.name = "position_projection",
                      .parameters = num_parameters(*position_projection_),
                      .flops = position_projection_->flops(m)}});
  }
  // Positions of a grid are not stored; learned ones and the content are put side by side.
  const bool stored = config_.input == ImageInput::kLearned;
  s.made_inputs = m * (stored ? 2 * input_channels_ : content_channels(config_));
  s.add("encoder.", encoder_->parts(m));
  class_decoder_.add_to(s);
  return s;
}

}  // namespace perceiver
