#include "perceiver/zoo/reference_io.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"

namespace perceiver {
namespace {

// The inputs of one run: names are checked, and dtype is the model's.
class Inputs {
 public:
  Inputs(const TensorMap& tensors, std::vector<std::string> known, at::ScalarType dtype)
      : tensors_(tensors), dtype_(dtype) {
    for (const auto& [name, tensor] : tensors) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      fail("unknown input '{}'{}; the model takes: {}", name, did_you_mean(name, known),
           fmt::join(known, ", "));
    }
  }

  bool has(const std::string& name) const { return tensors_.contains(name); }

  const Tensor& raw(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail("input '{}' is missing", name);
    return found->second;
  }
  Tensor values(const std::string& name) const { return raw(name).to(dtype_); }
  Tensor indices(const std::string& name) const { return raw(name).to(at::kLong); }
  Tensor mask(const std::string& name) const { return has(name) ? raw(name).ne(0) : Tensor(); }

 private:
  const TensorMap& tensors_;
  at::ScalarType dtype_;
};

at::ScalarType dtype_of(torch::nn::Module& module) {
  return module.parameters().front().scalar_type();
}

Tensor channels_first(const Tensor& t) { return t.movedim(-1, -3); }

void check_ids(const Tensor& ids, int64_t vocabulary_size) {
  if (ids.dim() != 2) fail("ids has shape {}, expected [*, *]", to_string(ids.sizes()));
  const Tensor outside = ids.masked_select((ids < 0).logical_or(ids >= vocabulary_size));
  if (outside.numel() > 0) {
    fail("id {} is not among the model's {}", outside[0].item<int64_t>(), vocabulary_size);
  }
}

TensorMap run(LanguageImpl& model, const TensorMap& tensors, const LanguageConfig& config,
              const std::vector<std::string>& wanted, Reference origin) {
  const Inputs in(tensors, {"ids", "mask"}, dtype_of(model));
  const Tensor ids = in.indices("ids"), mask = in.mask("mask");
  check_ids(ids, config.vocabulary_size);
  // transformers decodes every position the model has, DeepMind's code those of the text.
  const int64_t outputs = origin == Reference::kHuggingFace ? config.num_inputs : ids.size(1);
  const Tensor positions = at::arange(outputs);
  Tensor query_mask = mask;
  if (mask.defined()) query_mask = at::constant_pad_nd(mask, {0, outputs - ids.size(1)}, false);

  const Tensor latents = model.encode(ids, mask);
  const auto asked = [&](const char* name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  TensorMap out{{"logits", model.decode(latents, positions, query_mask)}};
  if (asked("latents")) out["latents"] = latents;
  if (asked("logits_unmasked")) out["logits_unmasked"] = model.decode(model.encode(ids), positions);
  return out;
}

TensorMap run(TextClassifierImpl& model, const TensorMap& tensors,
              const TextClassifierConfig& config, const std::vector<std::string>&, Reference) {
  const Inputs in(tensors, {"ids", "mask"}, dtype_of(model));
  const Tensor ids = in.indices("ids");
  check_ids(ids, config.vocabulary_size);
  return {{"logits", model.forward(ids, in.mask("mask"))}};
}

TensorMap run(ImageNetImpl& model, const TensorMap& tensors, const ImageNetConfig&,
              const std::vector<std::string>&, Reference origin) {
  const Inputs in(tensors, {"pixels"}, dtype_of(model));
  const Tensor pixels = in.values("pixels");
  if (pixels.dim() != 4)
    fail("pixels has shape {}, expected 4 dimensions", to_string(pixels.sizes()));
  return {
      {"logits", model.forward(origin == Reference::kDeepMind ? channels_first(pixels) : pixels)}};
}

TensorMap run(OpticalFlowImpl& model, const TensorMap& tensors, const OpticalFlowConfig&,
              const std::vector<std::string>&, Reference origin) {
  const bool deepmind = origin == Reference::kDeepMind;
  const Inputs in(tensors, {deepmind ? "images" : "patches"}, dtype_of(model));
  const auto five = [](const Tensor& t, const char* name) {
    if (t.dim() != 5) fail("{} has shape {}, expected 5 dimensions", name, to_string(t.sizes()));
    return t;
  };
  const Tensor inputs = deepmind
                            ? model.input_array(channels_first(five(in.values("images"), "images")))
                            : model.input_array_of_patches(five(in.values("patches"), "patches"));
  const Tensor flow = model.decode(model.encode(inputs), model.query_array(inputs));
  return {{"flow", flow.permute({0, 2, 3, 1})}};
}

TensorMap run(MultimodalImpl& model, const TensorMap& tensors, const MultimodalConfig& config,
              const std::vector<std::string>&, Reference origin) {
  const Inputs in(tensors, {"audio", "audio_points", "image", "image_points", "label"},
                  dtype_of(model));
  const Tensor audio = in.values("audio");
  const Tensor image = in.values("image");
  check_shape(audio, {kAny, kAny, 1}, "audio");
  if (image.dim() != 5) fail("image has shape {}, expected 5 dimensions", to_string(image.sizes()));
  const int64_t batch = audio.size(0);
  const Tensor label = in.has("label") ? in.values("label")
                                       : at::zeros({batch, config.num_classes}, audio.options());
  // Both references hide the label from the encoder.
  const Tensor latents =
      model.encode({{"audio", audio.squeeze(-1)},
                    {"image", origin == Reference::kDeepMind ? channels_first(image) : image},
                    {"label", label}},
                   {{"label", at::ones({batch, 1}, at::kBool)}});
  if (!in.has("audio_points") && !in.has("image_points")) return model.decode_all(latents);

  const auto points = [&](const char* name, int64_t count) {
    const Tensor indices = in.indices(name);
    if (indices.dim() != 1) fail("{} has shape {}, expected [*]", name, to_string(indices.sizes()));
    const Tensor outside = indices.masked_select((indices < 0).logical_or(indices >= count));
    if (outside.numel() > 0) {
      fail("{}: index {} is not among the {} outputs", name, outside[0].item<int64_t>(), count);
    }
    return indices;
  };
  const ModalitySizes sizes = model.num_outputs();
  Modalities outputs = model.decode(latents, {{"audio", points("audio_points", sizes.at("audio"))},
                                              {"image", points("image_points", sizes.at("image"))},
                                              {"label", at::zeros({1}, at::kLong)}});
  outputs["audio"] = outputs["audio"].flatten(1);
  outputs["label"] = outputs["label"].squeeze(1);
  return outputs;
}

}  // namespace

TensorMap run_reference(Model& model, const TensorMap& inputs,
                        const std::vector<std::string>& wanted) {
  at::NoGradGuard no_grad;
  torch::nn::Module& module = model.task->model();
  const TensorMap outputs = with_settings(model.settings, {}, [&](const auto& s) {
    using Config = std::decay_t<decltype(s.model)>;
    const auto as = [&]<typename Impl>(std::type_identity<Impl>) {
      return run(dynamic_cast<Impl&>(module), inputs, s.model, wanted, model.origin);
    };
    if constexpr (std::is_same_v<Config, LanguageConfig>) {
      return as(std::type_identity<LanguageImpl>{});
    } else if constexpr (std::is_same_v<Config, TextClassifierConfig>) {
      return as(std::type_identity<TextClassifierImpl>{});
    } else if constexpr (std::is_same_v<Config, ImageNetConfig>) {
      return as(std::type_identity<ImageNetImpl>{});
    } else if constexpr (std::is_same_v<Config, OpticalFlowConfig>) {
      return as(std::type_identity<OpticalFlowImpl>{});
    } else if constexpr (std::is_same_v<Config, MultimodalConfig>) {
      return as(std::type_identity<MultimodalImpl>{});
    } else {
      fail("{}: neither reference has a model for the task '{}'", model.source, s.task);
      return TensorMap{};
    }
  });
  if (wanted.empty()) return outputs;
  TensorMap picked;
  std::vector<std::string> known;
  for (const auto& [name, tensor] : outputs) known.push_back(name);
  for (const std::string& name : wanted) {
    if (!outputs.contains(name)) {
      fail("unknown output '{}'{}; the model gives: {}", name, did_you_mean(name, known),
           fmt::join(known, ", "));
    }
    picked[name] = outputs.at(name);
  }
  return picked;
}

}  // namespace perceiver
