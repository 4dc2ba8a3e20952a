// Where DeepMind's code and Hugging Face's port of it compute different things, one switch each.
#pragma once

#include <array>
#include <string_view>

#include "perceiver/core/config_key.h"

namespace perceiver {

enum class Gelu { kTanh, kErf };
constexpr std::array<std::string_view, 2> enum_words(Gelu) { return {"tanh", "erf"}; }

// How the convolution stage pads. kSame: as much before as after, the odd one after, and the pool
// likewise. kSymmetric: 3 around the convolution, nothing around the pool, so 224 pixels give 55.
enum class ConvPadding { kSame, kSymmetric };
constexpr std::array<std::string_view, 2> enum_words(ConvPadding) { return {"same", "symmetric"}; }

// Whose bicubic resizing prepares a picture: OpenCV's, which looks at four neighbours whatever the
// reduction (the released notebooks), Pillow's, which looks at all that fall together, or
// TensorFlow's, whose values are no grey levels (the released training and its evaluation).
enum class Bicubic { kOpenCv, kPillow, kTensorFlow };
constexpr std::array<std::string_view, 3> enum_words(Bicubic) {
  return {"opencv", "pillow", "tensorflow"};
}

struct Semantics {
  Gelu gelu = Gelu::kTanh;
  ConvPadding conv_padding = ConvPadding::kSame;
  bool query_mask = true;
  bool zero_masked_rows = true;
  bool flow_in_pixels = true;
  Bicubic bicubic = Bicubic::kOpenCv;
};

constexpr Semantics kDeepMind = {};
constexpr Semantics kHuggingFace = {.gelu = Gelu::kErf,
                                    .conv_padding = ConvPadding::kSymmetric,
                                    .query_mask = false,
                                    .zero_masked_rows = false,
                                    .flow_in_pixels = false,
                                    .bicubic = Bicubic::kPillow};

inline constexpr ConfigKey kSemanticsKey = {
    "semantics", "Which of two codes the model follows where DeepMind's and Hugging Face's differ"};

template <typename Visitor>
void fields(Visitor& visit, Semantics& c) {
  visit({"gelu", "GELU by its tanh approximation or exactly"}, c.gelu);
  visit({"conv_padding",
         "How the convolution stage pads: as much before as after, or 3 around it and nothing "
         "around the pool"},
        c.conv_padding);
  visit({"query_mask",
         "Whether a masked query attends to nothing; else the mask of queries is ignored"},
        c.query_mask);
  visit(
      {"zero_masked_rows", "Whether no key to attend to gives zeros; else the mean of all values"},
      c.zero_masked_rows);
  visit({"flow_in_pixels",
         "Whether flow is in pixels; else as the decoder scales it, a twentieth of that"},
        c.flow_in_pixels);
  visit({"bicubic", "Whose bicubic resizing prepares a picture"}, c.bicubic);
}

}  // namespace perceiver
