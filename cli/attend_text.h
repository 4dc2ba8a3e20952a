// Maps of attention over a text, in the terminal.
#pragma once

#include "perceiver/tasks/attend_draw.h"

namespace perceiver {

// In colours where they are wanted, else with marks below the letters.
void print_text(const InputView& view, const std::vector<NamedMap>& maps);

}  // namespace perceiver
