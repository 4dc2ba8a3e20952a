// Figures of several seeds as dots on a line for each model, drawn as SVG.
#pragma once

#include <string>
#include <vector>

namespace perceiver {

struct DotPlotLine {
  std::string name;
  std::vector<double> values;  // may be none: "not run"
};

struct DotPlot {
  std::string title;
  std::string axis;  // what is measured, and which way is better
  std::vector<DotPlotLine> lines;
};

// A dot for each value, a stroke at their mean with the mean beside it.
std::string to_svg(const DotPlot& plot, int decimals);

}  // namespace perceiver
