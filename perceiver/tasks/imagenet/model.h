// ImageNet classification (paper, App. A): a picture in, class logits out.
#pragma once

#include "perceiver/modalities/image.h"
#include "perceiver/model/class_decoder.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/recorded.h"

namespace perceiver {

// What an element of the input array is (Tab. 6).
enum class ImageInput {
  kFourier,  // a pixel's RGB and 2D Fourier features
  kLearned,  // a pixel's projected RGB and a learned position, itself projected
  kConv,     // a feature of the convolution stage and 2D Fourier features
  kPatches,  // the RGB of a patch's pixels and 2D Fourier features: in the released code alone
};
constexpr std::array<std::string_view, 4> enum_words(ImageInput) {
  return {"fourier", "learned", "conv", "patches"};
}

struct ImageNetConfig {
  int64_t image_size = 224;
  double crop = 0.875;  // side of the middle square that is looked at, of the picture's shorter one
  ImageInput input = ImageInput::kFourier;
  int64_t patch_size = 4;  // pixels along a side
  int64_t num_bands = 64;
  std::optional<int64_t> max_resolution = {};  // of the Fourier features; default: the grid's
  int64_t content_channels = 64;               // of the convolution stage, or of projected RGB
  int64_t position_channels = 256;             // of learned positions
  int64_t num_classes = 1000;
  DecodeBy decode_by = DecodeBy::kQuery;
  int64_t query_channels = 1024;
  EncoderConfig encoder = {};
  DecoderConfig decoder = {};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, ImageNetConfig& c) {
  visit("image_size", c.image_size, at_least(1));
  visit("crop", c.crop, between(0.01, 1.0));
  visit("input", c.input);
  visit("patch_size", c.patch_size, at_least(1));
  visit("num_bands", c.num_bands, at_least(1));
  visit("max_resolution", c.max_resolution, at_least(1));
  visit("content_channels", c.content_channels, at_least(1));
  visit("position_channels", c.position_channels, at_least(1));
  visit("num_classes", c.num_classes, at_least(1));
  visit("decode_by", c.decode_by);
  visit("query_channels", c.query_channels, at_least(1));
  visit("encoder", c.encoder);
  visit("decoder", c.decoder);
  visit("semantics", c.semantics);
}

class ImageNetImpl : public torch::nn::Module {
 public:
  explicit ImageNetImpl(const ImageNetConfig& config);

  // images [B, 3, H, W], normalised -> inputs [B, M, C]. Learned positions need the config's size;
  // Fourier features take any, of patches any multiple of theirs.
  Tensor input_array(const Tensor& images);

  Tensor encode(const Tensor& images);  // -> [B, N, D]
  // [B, N, D] -> logits [B, classes]
  Tensor decode(const Tensor& latents) { return class_decoder_(latents); }
  Tensor forward(const Tensor& images) {
    return recorded_(*this, {images},
                     [this](const std::vector<Tensor>& x) { return decode(encode(x[0])); });
  }

  ModelSummary summary() const;

  std::vector<int64_t> grid(at::IntArrayRef image) const;  // of the input array

 private:
  void register_input();
  Tensor content_elements(const Tensor& images);  // -> [B, M, content channels]

  ImageNetConfig config_;
  ConvStage conv_stage_{nullptr};
  Linear content_{nullptr};  // RGB -> content_channels, a 1x1 convolution
  Embedding positions_{nullptr};
  Linear position_projection_{nullptr};
  GridFeatures fourier_;
  int64_t input_channels_;
  Encoder encoder_{nullptr};
  ClassDecoder class_decoder_;
  RecordedForward recorded_;
};
TORCH_MODULE(ImageNet);

}  // namespace perceiver
