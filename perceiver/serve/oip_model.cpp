#include "perceiver/serve/oip_model.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "perceiver/core/names.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/arrays/signature.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"

namespace perceiver {
namespace {

using OipArray = OipModel::Array;

OipArray reals(const std::string& name, std::vector<int64_t> shape, bool optional = false) {
  return {.name = name, .type = OipType::kFp32, .shape = std::move(shape), .optional = optional};
}

OipArray whole(const std::string& name, std::vector<int64_t> shape, bool optional = false) {
  return {.name = name, .type = OipType::kInt64, .shape = std::move(shape), .optional = optional};
}

const OipArray kMask = {
    .name = "mask", .type = OipType::kBool, .shape = {-1, -1}, .optional = true};

// Channels are the last axis for DeepMind's code, and stand before the picture for transformers.
std::vector<int64_t> picture(const Model& model, std::vector<int64_t> before, int64_t height,
                             int64_t width, int64_t channels) {
  const bool last = model.reference == Reference::kDeepMind;
  if (!last) before.push_back(channels);
  before.insert(before.end(), {height, width});
  if (last) before.push_back(channels);
  return before;
}

OipModel of(const Model&, const LanguageConfig& c) {
  return {.inputs = {whole("ids", {-1, -1}), kMask},
          .outputs = {reals("logits", {-1, -1, c.vocabulary_size}),
                      reals("latents", {-1, c.encoder.num_latents, c.encoder.latent_channels})}};
}

OipModel of(const Model&, const TextClassifierConfig& c) {
  return {.inputs = {whole("ids", {-1, -1}), kMask},
          .outputs = {reals("logits", {-1, c.num_classes})}};
}

OipModel of(const Model& model, const ImageNetConfig& c) {
  return {.inputs = {reals("pixels", picture(model, {-1}, c.image_size, c.image_size, 3))},
          .outputs = {reals("logits", {-1, c.num_classes})}};
}

OipModel of(const Model& model, const OpticalFlowConfig& c) {
  const bool pictures = model.reference == Reference::kDeepMind;
  return {.inputs = {reals(pictures ? "images" : "patches",
                           picture(model, {-1, 2}, c.height, c.width, pictures ? 3 : 27))},
          .outputs = {reals("flow", {-1, c.height, c.width, 2})}};
}

OipModel of(const Model& model, const MultimodalConfig& c) {
  const std::vector<int64_t> image =
      picture(model, {-1, c.num_frames}, c.image_size, c.image_size, 3);
  return {.inputs = {reals("audio", {-1, c.num_frames * c.samples_per_frame, 1}),
                     reals("image", image), reals("label", {-1, c.num_classes}, true),
                     whole("audio_points", {-1}, true), whole("image_points", {-1}, true)},
          .outputs = {reals("audio", {-1, -1}), reals("image", {-1, -1, -1, -1, -1}),
                      reals("label", {-1, c.num_classes})}};
}

// By the names of its config.
OipModel of(const Model&, const ArraysConfig& c) {
  const ArraysSignature signature = signature_of(c);
  OipModel model;
  for (const NamedArray& one : signature.inputs) {
    model.inputs.push_back(one.whole ? whole(one.name, one.shape) : reals(one.name, one.shape));
  }
  for (const NamedArray& one : signature.outputs) {
    model.outputs.push_back(reals(one.name, one.shape));
  }
  return model;
}

bool is_whole(OipType type) {
  return type != OipType::kFp16 && type != OipType::kFp32 && type != OipType::kFp64 &&
         type != OipType::kBf16 && type != OipType::kBytes;
}

std::optional<at::ScalarType> scalar_of(OipType type) {
  switch (type) {
    case OipType::kBool:
      return at::kBool;
    case OipType::kUint8:
      return at::kByte;
    case OipType::kInt8:
      return at::kChar;
    case OipType::kInt16:
      return at::kShort;
    case OipType::kInt32:
      return at::kInt;
    case OipType::kInt64:
      return at::kLong;
    case OipType::kFp16:
      return at::kHalf;
    case OipType::kFp32:
      return at::kFloat;
    case OipType::kFp64:
      return at::kDouble;
    case OipType::kBf16:
      return at::kBFloat16;
    default:
      return {};
  }
}

// Types that LibTorch only stores.
template <typename T>
Tensor widened(const OipTensor& given) {
  const auto count = static_cast<int64_t>(given.bytes.size() / sizeof(T));
  Tensor values = at::empty({count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, given.bytes.data() + i * sizeof(T), sizeof(T));
    values.data_ptr<int64_t>()[i] = static_cast<int64_t>(value);
  }
  return values.view(given.shape);
}

Tensor tensor_of(const OipTensor& given) {
  if (given.type == OipType::kUint16) return widened<uint16_t>(given);
  if (given.type == OipType::kUint32) return widened<uint32_t>(given);
  if (given.type == OipType::kUint64) return widened<uint64_t>(given);
  Tensor tensor = at::empty(given.shape, *scalar_of(given.type));
  std::memcpy(tensor.data_ptr(), given.bytes.data(), given.bytes.size());
  return tensor;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(size < 0 ? "*" : std::to_string(size));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

void check(const OipTensor& given, const OipArray& expected) {
  bool good = given.shape.size() == expected.shape.size();
  for (size_t i = 0; good && i < given.shape.size(); ++i) {
    good = expected.shape[i] < 0 || given.shape[i] == expected.shape[i];
  }
  if (!good) {
    refuse(400, "input '{}' has the shape {}, expected {}", given.name, shape_text(given.shape),
           shape_text(expected.shape));
  }
  if (given.type == OipType::kBytes || (is_whole(expected.type) && !is_whole(given.type))) {
    refuse(400, "input '{}' is {}, expected {}", given.name, oip_name(given.type),
           oip_name(expected.type));
  }
}

}  // namespace

std::optional<OipModel> oip_model(const ServedModel& served) {
  std::optional<OipModel> found;
  const auto as = [&]<typename Config>(std::type_identity<Config>) {
    if (const auto* config = served.model.settings->model<Config>()) {
      found = of(served.model, *config);
    }
  };
  as(std::type_identity<LanguageConfig>{});
  as(std::type_identity<TextClassifierConfig>{});
  as(std::type_identity<ImageNetConfig>{});
  as(std::type_identity<OpticalFlowConfig>{});
  as(std::type_identity<MultimodalConfig>{});
  as(std::type_identity<ArraysConfig>{});
  if (found) found->name = served.name;
  return found;
}

TensorMap tensors_of(const OipModel& model, const std::vector<OipTensor>& inputs) {
  TensorMap tensors;
  std::vector<std::string> names;
  for (const OipArray& array : model.inputs) names.push_back(array.name);
  for (const OipTensor& given : inputs) {
    const auto expected = std::ranges::find(model.inputs, given.name, &OipArray::name);
    if (expected == model.inputs.end()) {
      refuse(400, "unknown input '{}'{}; the model takes {}", given.name,
             did_you_mean(given.name, names), fmt::join(names, ", "));
    }
    check(given, *expected);
    if (!tensors.emplace(given.name, tensor_of(given)).second) {
      refuse(400, "input '{}' is given twice", given.name);
    }
  }
  for (const OipArray& array : model.inputs) {
    if (!array.optional && !tensors.contains(array.name)) {
      refuse(400, "input '{}' is missing", array.name);
    }
  }
  return tensors;
}

OipTensor oip_tensor(const std::string& name, const Tensor& tensor) {
  const Tensor values = tensor.to(at::kCPU, at::kFloat).contiguous();
  return {.name = name,
          .type = OipType::kFp32,
          .shape = values.sizes().vec(),
          .bytes = std::string(static_cast<const char*>(values.data_ptr()), values.nbytes())};
}

}  // namespace perceiver
