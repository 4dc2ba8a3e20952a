// Maps of attention as a person sees them: over pictures, over the frames of a clip, behind words.
#pragma once

#include <string>
#include <vector>

#include "perceiver/tasks/application.h"

namespace perceiver {

struct NamedMap {
  std::string name;
  Tensor weights;  // float, of the view's grid
};

// Fails, before anything is computed, where `output` is no name for a drawing of this view.
void check_picture_name(const std::string& output, const InputView& view);

// Draws the maps: a picture (.png), a video, or .html for texts. An empty `output` is attend.png
// for pictures; for texts it is nothing. -> where they went, or "".
std::string draw_maps(const InputView& view, const std::vector<NamedMap>& maps,
                      const std::string& output);

// A character and how much of the attention it gets, relative to the most.
struct Letter {
  std::string text;
  double weight;
};
std::vector<Letter> letters(const InputView& view, const NamedMap& map);

// Backgrounds from white to dark red: letters in front stay dark, then turn light above a weight of
// a half.
struct LetterColour {
  int red, green, blue;
};
LetterColour background(double weight);

}  // namespace perceiver
