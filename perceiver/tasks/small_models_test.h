// Small models of several tasks, each with an input that stays the same: for tests of what all of
// them have in common.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/tiny_test.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/tiny_test.h"

namespace perceiver {

struct SmallModel {
  std::string name;
  ModelSummary summary;
  std::function<Tensor()> forward;
};

namespace small_models_detail {

// In its place, and with no parameter that would hide what comes before it, as zeros do.
template <typename Model>
void put(Model& model, const at::TensorOptions& place) {
  const at::NoGradGuard no_grad;
  for (Tensor& p : model->parameters()) p.add_(at::randn_like(p), 0.05);
  model->to(place.device(), place.dtype().toScalarType());
  model->eval();
}

template <typename Model, typename Forward>
SmallModel made(std::string name, Model model, const at::TensorOptions& place, Forward forward) {
  put(model, place);
  return {std::move(name), model->summary(), [model, forward]() mutable { return forward(model); }};
}

inline SmallModel image(std::string name, ImageInput input, const at::TensorOptions& place) {
  ImageNetConfig config;
  config.image_size = 16;
  config.input = input;
  config.num_bands = 4;
  config.content_channels = config.position_channels = 8;
  config.num_classes = 10;
  config.query_channels = 12;
  config.encoder = {.num_latents = 6,
                    .latent_channels = 16,
                    .num_blocks = 2,
                    .self_attends_per_block = 2,
                    .self_attend = {.num_heads = 4}};
  const Tensor images = at::randn({2, 3, 16, 16}).to(place);
  return made(std::move(name), ImageNet(config), place,
              [images](ImageNet& model) { return model(images); });
}

inline SmallModel clip(const at::TensorOptions& place) {
  const MultimodalConfig config{
      .num_frames = 2,
      .image_size = 8,
      .samples_per_frame = 48,
      .num_image_bands = 3,
      .num_audio_bands = 5,
      .num_classes = 11,
      .label_query_channels = 20,
      .output_channels = 12,
      .train_queries = {.audio = 4, .image = 7},
      .encoder = {
          .num_latents = 6, .latent_channels = 16, .num_blocks = 1, .self_attends_per_block = 2}};
  Multimodal model(config);
  put(model, place);
  const ModelSummary summary = model->summary(model->num_outputs());
  const Modalities inputs = {{"audio", at::randn({2, 2 * 48}).to(place)},
                             {"image", at::rand({2, 2, 3, 8, 8}).to(place)},
                             {"label", at::zeros({2, 11}).to(place)}};
  return {"multimodal", summary, [model, inputs]() mutable {
            return model->decode_all(model->encode(inputs)).at("image");
          }};
}

}  // namespace small_models_detail

// The same weights and inputs for the same seed.
inline std::vector<SmallModel> small_models(const at::TensorOptions& place, uint64_t seed) {
  using namespace small_models_detail;
  at::manual_seed(seed);
  // So many texts that tables are made for the first of them (nn/packed_cpu.cpp, tables_pay()).
  const Tensor ids = at::randint(262, {24, 64}, at::kLong).to(place.device());
  BertConfig bert;
  bert.vocabulary_size = 262;
  bert.num_inputs = 64;
  bert.input_channels = 16;
  bert.transformer = {.num_layers = 2, .num_heads = 2, .mlp_channels = 32};
  OpticalFlowConfig flow = tiny_flow();
  flow.decode_slice = 100;  // of 320
  const Tensor frames = at::rand({2, 2, 3, 16, 20}).to(place);
  return {made("language", Language(tiny_language(64)), place,
               [ids](Language& model) { return model(ids); }),
          made("bert", Bert(bert), place, [ids](Bert& model) { return model(ids); }),
          image("image_fourier", ImageInput::kFourier, place),
          image("image_conv", ImageInput::kConv, place),
          made("flow", OpticalFlow(flow), place,
               [frames](OpticalFlow& model) { return model(frames); }),
          clip(place)};
}

}  // namespace perceiver
