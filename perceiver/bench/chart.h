// Curves drawn as SVG, by hand: a picture that any browser shows and that prints in black on white.
#pragma once

#include <string>
#include <vector>

namespace perceiver {

struct ChartSeries {
  std::string name;
  std::vector<double> x, y;  // above 0
};

// One diagram. Both axes are logarithmic.
struct ChartPanel {
  enum class Unit { kSeconds, kBytes };

  std::string title;
  Unit unit;
  std::vector<ChartSeries> series;  // two at most; the same in every panel
};

struct Chart {
  std::string title;
  std::string x_label;
  std::vector<std::string> notes;  // lines under the diagrams
  std::vector<ChartPanel> panels;  // side by side
};

std::string to_svg(const Chart& chart);

// Places for the labels of a logarithmic axis from `low` to `high`: powers of ten, and 2 and 5
// times them where there are few.
std::vector<double> ticks(double low, double high);

// "2 ms", "50 MB"
std::string tick_label(double value, ChartPanel::Unit unit);

}  // namespace perceiver
