// Where DeepMind's code and Hugging Face's port of it compute different things, one switch each.
#pragma once

#include <array>
#include <string_view>

namespace perceiver {

enum class Gelu { kTanh, kErf };
constexpr std::array<std::string_view, 2> enum_words(Gelu) { return {"tanh", "erf"}; }

// How the convolution stage pads. kSame: as much before as after, the odd one after, and the pool
// likewise. kSymmetric: 3 around the convolution, nothing around the pool, so 224 pixels give 55.
enum class ConvPadding { kSame, kSymmetric };
constexpr std::array<std::string_view, 2> enum_words(ConvPadding) { return {"same", "symmetric"}; }

// Whose bicubic resizing prepares a picture: OpenCV's, which looks at four neighbours whatever the
// reduction, or Pillow's, which looks at all that fall together.
enum class Bicubic { kOpenCv, kPillow };
constexpr std::array<std::string_view, 2> enum_words(Bicubic) { return {"opencv", "pillow"}; }

struct Semantics {
  Gelu gelu = Gelu::kTanh;
  ConvPadding conv_padding = ConvPadding::kSame;
  bool query_mask = true;        // a masked query attends to nothing; false: the mask is ignored
  bool zero_masked_rows = true;  // no key to attend to gives zeros; false: the mean of all values
  bool flow_in_pixels = true;    // false: flow as the decoder scales it, a twentieth of a pixel
  Bicubic bicubic = Bicubic::kOpenCv;
};

constexpr Semantics kDeepMind = {};
constexpr Semantics kHuggingFace = {.gelu = Gelu::kErf,
                                    .conv_padding = ConvPadding::kSymmetric,
                                    .query_mask = false,
                                    .zero_masked_rows = false,
                                    .flow_in_pixels = false,
                                    .bicubic = Bicubic::kPillow};

template <typename Visitor>
void fields(Visitor& visit, Semantics& c) {
  visit("gelu", c.gelu);
  visit("conv_padding", c.conv_padding);
  visit("query_mask", c.query_mask);
  visit("zero_masked_rows", c.zero_masked_rows);
  visit("flow_in_pixels", c.flow_in_pixels);
  visit("bicubic", c.bicubic);
}

}  // namespace perceiver
