#include "perceiver/zoo/reference_io.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"
#include "perceiver/model/recorded.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"

namespace perceiver {
namespace {

// The inputs of one run: names are checked, device and dtype are the model's.
class Inputs {
 public:
  Inputs(const TensorMap& tensors, std::vector<std::string> known, const at::TensorOptions& place)
      : tensors_(tensors), place_(place) {
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
  Tensor values(const std::string& name) const { return raw(name).to(place_); }
  Tensor indices(const std::string& name) const { return raw(name).to(place_.dtype(at::kLong)); }
  Tensor mask(const std::string& name) const {
    return has(name) ? raw(name).ne(0).to(place_.device()) : Tensor();
  }

 private:
  const TensorMap& tensors_;
  at::TensorOptions place_;
};

at::TensorOptions place_of(torch::nn::Module& module) {
  return module.parameters().front().options();
}

Tensor channels_first(const Tensor& t) { return t.movedim(-1, -3); }

void check_ids(const Tensor& ids, int64_t vocabulary_size) {
  if (ids.dim() != 2) fail("ids has shape {}, expected [*, *]", to_string(ids.sizes()));
  const Tensor outside = ids.masked_select((ids < 0).logical_or(ids >= vocabulary_size));
  if (outside.numel() > 0) {
    fail("id {} is not among the model's {}", outside[0].item<int64_t>(), vocabulary_size);
  }
}

// One overload a model: what is checked and moved once, and the pass that is left to run.
ReferencePass pass(LanguageImpl& model, const TensorMap& tensors, const LanguageConfig& config,
                   const std::vector<std::string>& wanted, Reference origin) {
  const Inputs in(tensors, {"ids", "mask"}, place_of(model));
  const Tensor ids = in.indices("ids"), mask = in.mask("mask");
  check_ids(ids, config.vocabulary_size);
  // transformers decodes every position the model has, DeepMind's code those of the text.
  const int64_t outputs = origin == Reference::kHuggingFace ? config.num_inputs : ids.size(1);
  const Tensor positions = at::arange(outputs, ids.options());
  Tensor query_mask = mask;
  if (mask.defined()) query_mask = at::constant_pad_nd(mask, {0, outputs - ids.size(1)}, false);
  const auto asked = [&](const char* name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  const auto recorded = std::make_shared<RecordedForward>();
  return [=, &model, keep = asked("latents"), unmasked = asked("logits_unmasked")] {
    const auto logits = [&](const std::vector<Tensor>& x) {
      return model.decode(model.encode(x[0], x[1]), x[2], x[3]);
    };
    TensorMap out{{"logits", (*recorded)(model, {ids, mask, positions, query_mask}, logits)}};
    if (keep) out["latents"] = model.encode(ids, mask);
    if (unmasked) out["logits_unmasked"] = model.decode(model.encode(ids), positions);
    return out;
  };
}

ReferencePass pass(TextClassifierImpl& model, const TensorMap& tensors,
                   const TextClassifierConfig& config, const std::vector<std::string>&, Reference) {
  const Inputs in(tensors, {"ids", "mask"}, place_of(model));
  const Tensor ids = in.indices("ids"), mask = in.mask("mask");
  check_ids(ids, config.vocabulary_size);
  return [=, &model] { return TensorMap{{"logits", model.forward(ids, mask)}}; };
}

ReferencePass pass(ImageNetImpl& model, const TensorMap& tensors, const ImageNetConfig&,
                   const std::vector<std::string>&, Reference origin) {
  const Inputs in(tensors, {"pixels"}, place_of(model));
  Tensor pixels = in.values("pixels");
  if (pixels.dim() != 4)
    fail("pixels has shape {}, expected 4 dimensions", to_string(pixels.sizes()));
  if (origin == Reference::kDeepMind) pixels = channels_first(pixels);
  return [=, &model] { return TensorMap{{"logits", model.forward(pixels)}}; };
}

ReferencePass pass(OpticalFlowImpl& model, const TensorMap& tensors, const OpticalFlowConfig&,
                   const std::vector<std::string>&, Reference origin) {
  const bool deepmind = origin == Reference::kDeepMind;
  const char* name = deepmind ? "images" : "patches";
  const Inputs in(tensors, {name}, place_of(model));
  Tensor pictures = in.values(name);
  if (pictures.dim() != 5) {
    fail("{} has shape {}, expected 5 dimensions", name, to_string(pictures.sizes()));
  }
  if (deepmind) pictures = channels_first(pictures);
  return [=, &model] {
    const Tensor flow = deepmind ? model.forward(pictures) : model.forward_of_patches(pictures);
    return TensorMap{{"flow", flow.permute({0, 2, 3, 1})}};
  };
}

// The outputs of some modalities that are asked for, by index [O_i]; empty: all of them.
Modalities points_of(const Inputs& in, const ModalitySizes& sizes) {
  if (!in.has("audio_points") && !in.has("image_points")) return {};
  const auto points = [&](const char* name, int64_t count) {
    const Tensor indices = in.indices(name);
    if (indices.dim() != 1) fail("{} has shape {}, expected [*]", name, to_string(indices.sizes()));
    const Tensor outside = indices.masked_select((indices < 0).logical_or(indices >= count));
    if (outside.numel() > 0) {
      fail("{}: index {} is not among the {} outputs", name, outside[0].item<int64_t>(), count);
    }
    return indices;
  };
  const Tensor audio = points("audio_points", sizes.at("audio"));
  return {{"audio", audio},
          {"image", points("image_points", sizes.at("image"))},
          {"label", at::zeros({1}, audio.options())}};
}

ReferencePass pass(MultimodalImpl& model, const TensorMap& tensors, const MultimodalConfig& config,
                   const std::vector<std::string>&, Reference origin) {
  const Inputs in(tensors, {"audio", "audio_points", "image", "image_points", "label"},
                  place_of(model));
  const Tensor audio = in.values("audio");
  const Tensor image = in.values("image");
  check_shape(audio, {kAny, kAny, 1}, "audio");
  if (image.dim() != 5) fail("image has shape {}, expected 5 dimensions", to_string(image.sizes()));
  const int64_t batch = audio.size(0);
  const Tensor label = in.has("label") ? in.values("label")
                                       : at::zeros({batch, config.num_classes}, audio.options());
  const Modalities inputs = {
      {"audio", audio.squeeze(-1)},
      {"image", origin == Reference::kDeepMind ? channels_first(image) : image},
      {"label", label}};
  // Both references hide the label from the encoder.
  const Modalities hidden = model.hide({"label"}, batch);
  const Modalities points = points_of(in, model.num_outputs());
  return [=, &model] {
    const Tensor latents = model.encode(inputs, hidden);
    if (points.empty()) return model.decode_all(latents);
    Modalities outputs = model.decode(latents, points);
    outputs["audio"] = outputs["audio"].flatten(1);
    outputs["label"] = outputs["label"].squeeze(1);
    return outputs;
  };
}

// The outputs that are wanted, which the model must have.
TensorMap picked(const TensorMap& outputs, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return outputs;
  TensorMap some;
  std::vector<std::string> known;
  for (const auto& [name, tensor] : outputs) known.push_back(name);
  for (const std::string& name : wanted) {
    if (!outputs.contains(name)) {
      fail("unknown output '{}'{}; the model gives: {}", name, did_you_mean(name, known),
           fmt::join(known, ", "));
    }
    some[name] = outputs.at(name);
  }
  return some;
}

}  // namespace

ReferencePass reference_pass(Model& model, const TensorMap& inputs,
                             const std::vector<std::string>& wanted) {
  ReferencePass run;
  const auto as = [&]<typename Impl, typename Config>(std::type_identity<Impl>,
                                                      std::type_identity<Config>) {
    const Config* config = model.settings->model<Config>();
    if (config == nullptr) return;
    run = pass(dynamic_cast<Impl&>(model.task->model()), inputs, *config, wanted, model.reference);
  };
  as(std::type_identity<LanguageImpl>{}, std::type_identity<LanguageConfig>{});
  as(std::type_identity<TextClassifierImpl>{}, std::type_identity<TextClassifierConfig>{});
  as(std::type_identity<ImageNetImpl>{}, std::type_identity<ImageNetConfig>{});
  as(std::type_identity<OpticalFlowImpl>{}, std::type_identity<OpticalFlowConfig>{});
  as(std::type_identity<MultimodalImpl>{}, std::type_identity<MultimodalConfig>{});
  if (!run) {
    fail("{}: neither reference has a model for the task '{}'", model.source, task_name(model));
  }
  return [run = std::move(run), wanted] {
    at::NoGradGuard no_grad;
    return picked(run(), wanted);
  };
}

TensorMap run_reference(Model& model, const TensorMap& inputs,
                        const std::vector<std::string>& wanted) {
  return reference_pass(model, inputs, wanted)();
}

}  // namespace perceiver
