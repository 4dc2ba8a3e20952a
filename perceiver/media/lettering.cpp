#include "perceiver/media/lettering.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace perceiver {
namespace {

constexpr int64_t kWidth = 5, kHeight = 7, kStep = kWidth + 1;
constexpr int64_t kCaptionHeight = 20, kMargin = 2;

struct Glyph {
  char character;
  std::string_view rows;  // of ink and ground, one after another
};

// clang-format off
constexpr std::array kGlyphs = {
    Glyph{'0', ".###." "#...#" "#..##" "#.#.#" "##..#" "#...#" ".###."},
    Glyph{'1', "..#.." ".##.." "..#.." "..#.." "..#.." "..#.." ".###."},
    Glyph{'2', ".###." "#...#" "....#" "..##." ".#..." "#...." "#####"},
    Glyph{'3', ".###." "#...#" "....#" "..##." "....#" "#...#" ".###."},
    Glyph{'4', "...#." "..##." ".#.#." "#..#." "#####" "...#." "...#."},
    Glyph{'5', "#####" "#...." "####." "....#" "....#" "#...#" ".###."},
    Glyph{'6', "..##." ".#..." "#...." "####." "#...#" "#...#" ".###."},
    Glyph{'7', "#####" "....#" "...#." "..#.." ".#..." ".#..." ".#..."},
    Glyph{'8', ".###." "#...#" "#...#" ".###." "#...#" "#...#" ".###."},
    Glyph{'9', ".###." "#...#" "#...#" ".####" "....#" "...#." ".##.."},
    Glyph{'A', ".###." "#...#" "#...#" "#####" "#...#" "#...#" "#...#"},
    Glyph{'B', "####." "#...#" "#...#" "####." "#...#" "#...#" "####."},
    Glyph{'C', ".###." "#...#" "#...." "#...." "#...." "#...#" ".###."},
    Glyph{'D', "####." "#...#" "#...#" "#...#" "#...#" "#...#" "####."},
    Glyph{'E', "#####" "#...." "#...." "####." "#...." "#...." "#####"},
    Glyph{'F', "#####" "#...." "#...." "####." "#...." "#...." "#...."},
    Glyph{'G', ".###." "#...#" "#...." "#.###" "#...#" "#...#" ".####"},
    Glyph{'H', "#...#" "#...#" "#...#" "#####" "#...#" "#...#" "#...#"},
    Glyph{'I', ".###." "..#.." "..#.." "..#.." "..#.." "..#.." ".###."},
    Glyph{'J', "..###" "...#." "...#." "...#." "...#." "#..#." ".##.."},
    Glyph{'K', "#...#" "#..#." "#.#.." "##..." "#.#.." "#..#." "#...#"},
    Glyph{'L', "#...." "#...." "#...." "#...." "#...." "#...." "#####"},
    Glyph{'M', "#...#" "##.##" "#.#.#" "#.#.#" "#...#" "#...#" "#...#"},
    Glyph{'N', "#...#" "##..#" "#.#.#" "#..##" "#...#" "#...#" "#...#"},
    Glyph{'O', ".###." "#...#" "#...#" "#...#" "#...#" "#...#" ".###."},
    Glyph{'P', "####." "#...#" "#...#" "####." "#...." "#...." "#...."},
    Glyph{'Q', ".###." "#...#" "#...#" "#...#" "#.#.#" "#..#." ".##.#"},
    Glyph{'R', "####." "#...#" "#...#" "####." "#.#.." "#..#." "#...#"},
    Glyph{'S', ".####" "#...." "#...." ".###." "....#" "....#" "####."},
    Glyph{'T', "#####" "..#.." "..#.." "..#.." "..#.." "..#.." "..#.."},
    Glyph{'U', "#...#" "#...#" "#...#" "#...#" "#...#" "#...#" ".###."},
    Glyph{'V', "#...#" "#...#" "#...#" "#...#" ".#.#." ".#.#." "..#.."},
    Glyph{'W', "#...#" "#...#" "#...#" "#.#.#" "#.#.#" "##.##" "#...#"},
    Glyph{'X', "#...#" "#...#" ".#.#." "..#.." ".#.#." "#...#" "#...#"},
    Glyph{'Y', "#...#" "#...#" ".#.#." "..#.." "..#.." "..#.." "..#.."},
    Glyph{'Z', "#####" "....#" "...#." "..#.." ".#..." "#...." "#####"},
    Glyph{'.', "....." "....." "....." "....." "....." ".##.." ".##.."},
    Glyph{',', "....." "....." "....." "....." ".##.." "..#.." ".#..."},
    Glyph{'-', "....." "....." "....." "#####" "....." "....." "....."},
    Glyph{'+', "....." "..#.." "..#.." "#####" "..#.." "..#.." "....."},
    Glyph{'%', "##..#" "##..#" "...#." "..#.." ".#..." "#..##" "#..##"},
    Glyph{'/', "....#" "....#" "...#." "..#.." ".#..." "#...." "#...."},
};
// clang-format on

void draw(const Glyph& glyph, at::TensorAccessor<bool, 2> ink, int64_t left) {
  for (int64_t y = 0; y < kHeight; ++y) {
    for (int64_t x = 0; x < kWidth; ++x) ink[y][left + x] = glyph.rows[y * kWidth + x] == '#';
  }
}

// Text in black on white, with a margin -> uint8 [3, h, w]
Tensor label(std::string_view text, int64_t scale) {
  const Tensor ground = (~lettering(text, scale)).to(at::kByte) * 255;
  return at::constant_pad_nd(ground, {kMargin, kMargin, kMargin, kMargin}, 255)
      .unsqueeze(0)
      .expand({3, -1, -1});
}

}  // namespace

Tensor lettering(std::string_view text, int64_t scale) {
  const auto count = static_cast<int64_t>(text.size());
  const Tensor ink = at::zeros({kHeight, std::max<int64_t>(1, count * kStep - 1)}, at::kBool);
  for (int64_t i = 0; i < count; ++i) {
    const int wanted = std::toupper(static_cast<unsigned char>(text[i]));
    const auto* glyph = std::find_if(kGlyphs.begin(), kGlyphs.end(),
                                     [&](const Glyph& g) { return g.character == wanted; });
    if (glyph != kGlyphs.end()) draw(*glyph, ink.accessor<bool, 2>(), i * kStep);
  }
  return ink.repeat_interleave(scale, 0).repeat_interleave(scale, 1);
}

Tensor with_text(const Tensor& picture, std::string_view text, int64_t bottom, int64_t right,
                 int64_t scale) {
  const Tensor words = label(text, scale);
  const int64_t top = bottom - words.size(1), left = right - words.size(2);
  if (top < 0 || left < 0 || bottom > picture.size(1) || right > picture.size(2)) return picture;
  Tensor result = picture.clone();
  result.narrow(1, top, words.size(1)).narrow(2, left, words.size(2)).copy_(words);
  return result;
}

Tensor captioned(const Tensor& picture, std::string_view caption) {
  const int64_t width = picture.size(2);
  Tensor words = label(caption, 2);
  if (words.size(2) > width) words = label(caption, 1);
  const int64_t shown = std::min(width, words.size(2));
  Tensor strip = at::full({3, kCaptionHeight, width}, 255, at::kByte);
  strip.narrow(1, kCaptionHeight - words.size(1), words.size(1))
      .narrow(2, 0, shown)
      .copy_(words.narrow(2, 0, shown));
  return at::cat({strip, picture}, 1);
}

}  // namespace perceiver
