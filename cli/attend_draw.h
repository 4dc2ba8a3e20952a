// Maps of attention as a person sees them: over pictures, over the frames of a clip, behind words.
#pragma once

#include <string>
#include <vector>

#include "perceiver/tasks/task.h"

namespace perceiver {

struct NamedMap {
  std::string name;
  Tensor weights;  // float, of the view's grid
};

// Fails, before anything is computed, where `output` is no name for a drawing of this view.
void check_picture_name(const std::string& output, const InputView& view);

// Draws the maps and returns where they went; "" for a text that went to the terminal, which is
// left alone when it is `kept_clean`. An empty `output` is attend.png for pictures.
std::string draw_maps(const InputView& view, const std::vector<NamedMap>& maps,
                      const std::string& output, bool kept_clean);

}  // namespace perceiver
