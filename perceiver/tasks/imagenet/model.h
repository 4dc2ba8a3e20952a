// ImageNet classification (paper, App. A): a picture in, class logits out.
#pragma once

#include "perceiver/modalities/image.h"
#include "perceiver/model/class_decoder.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/recorded.h"

namespace perceiver {

// What an element of the input array is (Tab. 6).
enum class ImageInput {
  kFourier,    // a pixel's RGB and 2D Fourier features
  kProjected,  // a pixel's projected RGB and 2D Fourier features: configuration B by its text
  kLearned,    // a pixel's projected RGB and a learned position, itself projected
  kConv,       // a feature of the convolution stage and 2D Fourier features
  kPatches,    // the RGB of a patch's pixels and 2D Fourier features: in the released code alone
};
constexpr std::array<std::string_view, 5> enum_words(ImageInput) {
  return {"fourier", "projected", "learned", "conv", "patches"};
}

// What the latents start as.
enum class LatentStart {
  kRandom,  // as the paper's
  kPlaces,  // the Fourier features of places spread over the picture: each looks around its own
};
constexpr std::array<std::string_view, 2> enum_words(LatentStart) { return {"random", "places"}; }

struct ImageNetConfig {
  int64_t image_size = 224;
  double crop = 0.875;
  ImageInput input = ImageInput::kFourier;
  int64_t patch_size = 4;
  int64_t num_bands = 64;
  std::optional<int64_t> max_resolution = {};
  int64_t content_channels = 64;
  int64_t position_channels = 256;
  int64_t num_classes = 1000;
  bool several_labels = false;
  DecodeBy decode_by = DecodeBy::kQuery;
  int64_t query_channels = 1024;
  LatentStart latents_start = LatentStart::kRandom;
  EncoderConfig encoder = {};
  DecoderConfig decoder = {};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, ImageNetConfig& c) {
  visit({"image_size", "Pixels of a side of the picture as the model gets it"}, c.image_size,
        at_least(1));
  visit({"crop",
         "Side of the middle square that is looked at, as a share of the picture's shorter side"},
        c.crop, between(0.01, 1.0));
  visit({"input",
         "What an input element is: a pixel with Fourier features, with projected colours, or with "
         "a learned position; a feature of a convolution; a patch"},
        c.input);
  visit({"patch_size", "input patches: pixels along a side"}, c.patch_size, at_least(1));
  visit({"num_bands", "Frequencies of the Fourier features"}, c.num_bands, at_least(1));
  visit({"max_resolution", "Resolution the Fourier features are made for; not set: the grid's"},
        c.max_resolution, at_least(1));
  visit({"content_channels", "Channels of the convolution stage, or of projected colours"},
        c.content_channels, at_least(1));
  visit({"position_channels", "input learned: channels of a position"}, c.position_channels,
        at_least(1));
  visit({"num_classes", "Classes the model tells apart"}, c.num_classes, at_least(1));
  visit({"several_labels",
         "Whether a picture may have several classes, each by itself (sigmoid), or has one "
         "(softmax)"},
        c.several_labels);
  visit({"decode_by", "How classes are read off the latents: by a query, or as their average"},
        c.decode_by);
  visit({"query_channels", "Channels of the query (Q)"}, c.query_channels, at_least(1));
  visit({"latents_start",
         "What latents start as in training: random, as the paper's, or places: spread over the "
         "picture, each looking around its own"},
        c.latents_start);
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit(kSemanticsKey, c.semantics);
}

class ImageNetImpl : public torch::nn::Module {
 public:
  explicit ImageNetImpl(const ImageNetConfig& config);

  // images [B, 3, H, W], normalised -> inputs [B, M, C]. Learned positions need the config's size;
  // Fourier features take any, of patches any multiple of theirs.
  Array input_array(const Tensor& images);

  Tensor encode(const Tensor& images) { return encoder_(input_array(images)); }  // -> [B, N, D]
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
  void start_at_places();
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
