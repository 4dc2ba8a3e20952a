#include "perceiver/tasks/imagenet/model.h"

#include <ATen/ATen.h>

namespace perceiver {

// What the features' frequencies go up to does not follow the picture, nor the padding.
static std::vector<int64_t> resolution_of(const ImageNetConfig& c) {
  const std::vector<int64_t> image = {c.image_size, c.image_size};
  if (c.max_resolution) return {*c.max_resolution, *c.max_resolution};
  return c.input == ImageInput::kConv ? ConvStageImpl::output_grid(image, ConvPadding::kSame)
                                      : image;
}

ImageNetImpl::ImageNetImpl(const ImageNetConfig& config)
    : config_(config), fourier_(resolution_of(config), config.num_bands) {
  int64_t channels = 0;
  switch (config.input) {
    case ImageInput::kFourier:
      channels = 3 + fourier_.channels();
      break;
    case ImageInput::kLearned:
      content_ = register_module("content", Linear(3, config.content_channels));
      positions_ = register_module(
          "positions", Embedding(config.image_size * config.image_size, config.position_channels));
      position_projection_ = register_module(
          "position_projection", Linear(config.position_channels, config.position_channels));
      channels = config.content_channels + config.position_channels;
      break;
    case ImageInput::kConv:
      conv_stage_ = register_module(
          "conv_stage", ConvStage(3, config.content_channels, config.semantics.conv_padding));
      channels = config.content_channels + fourier_.channels();
      break;
  }
  encoder_ = register_module("encoder", Encoder(channels, config.encoder, config.semantics));
  class_decoder_ = ClassDecoder(*this, {.by = config.decode_by,
                                        .latent_channels = config.encoder.latent_channels,
                                        .query_channels = config.query_channels,
                                        .num_classes = config.num_classes,
                                        .decoder = config.decoder,
                                        .semantics = config.semantics});
}

std::vector<int64_t> ImageNetImpl::grid(at::IntArrayRef image) const {
  return config_.input == ImageInput::kConv
             ? ConvStageImpl::output_grid(image, config_.semantics.conv_padding)
             : image.vec();
}

Tensor ImageNetImpl::input_array(const Tensor& images) {
  check_shape(images, {kAny, 3, kAny, kAny}, "images");
  switch (config_.input) {
    case ImageInput::kFourier: {
      const Tensor content = pixels_to_elements(images);
      return at::cat({content, fourier_(grid(images.sizes().slice(2)), content)}, -1);
    }
    case ImageInput::kConv: {
      const Tensor content = pixels_to_elements(conv_stage_(images));
      return at::cat({content, fourier_(grid(images.sizes().slice(2)), content)}, -1);
    }
    case ImageInput::kLearned:
      break;
  }
  check_shape(images, {kAny, 3, config_.image_size, config_.image_size}, "images");
  const Tensor positions = position_projection_(positions_->weight);
  return at::cat({content_(pixels_to_elements(images)), positions.expand({images.size(0), -1, -1})},
                 -1);
}

ModelSummary ImageNetImpl::summary() const {
  const std::vector<int64_t> image = {config_.image_size, config_.image_size};
  const int64_t m = c10::multiply_integers(grid(image));
  ModelSummary s{.inputs = {m, 0},
                 .latents = encoder_->latent_size(),
                 .queries = {},
                 .outputs = {1, config_.num_classes}};
  switch (config_.input) {
    case ImageInput::kFourier:
      s.inputs.channels = 3 + fourier_.channels();
      break;
    case ImageInput::kConv:
      s.inputs.channels = config_.content_channels + fourier_.channels();
      s.add("input.", {conv_stage_->part(image)});
      break;
    case ImageInput::kLearned:
      s.inputs.channels = config_.content_channels + config_.position_channels;
      s.add("input.", {{.name = "content",
                        .parameters = num_parameters(*content_),
                        .flops = content_->flops(m)},
                       {.name = "positions", .parameters = num_parameters(*positions_)},
                       {.name = "position_projection",
                        .parameters = num_parameters(*position_projection_),
                        .flops = position_projection_->flops(m)}});
      break;
  }
  s.add("encoder.", encoder_->parts(m));
  class_decoder_.add_to(s);
  return s;
}

}  // namespace perceiver
