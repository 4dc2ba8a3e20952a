#include "perceiver/results/dot_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "perceiver/core/markup.h"

namespace perceiver {
namespace {

// Pixels.
constexpr double kWidth = 760, kNames = 300, kRight = 70;  // names on the left, means on the right
constexpr double kTop = 44, kLine = 34, kBottom = 48;
constexpr const char* kInk = "#1f5fa8";

struct Axis {
  double low = 0.0, high = 1.0, step = 1.0;

  double x(double value) const {
    return kNames + (value - low) / (high - low) * (kWidth - kNames - kRight);
  }
};

// Five to ten steps of 1, 2 or 5 times a power of ten, a little wider than the values.
Axis axis_of(const std::vector<DotPlotLine>& lines) {
  std::vector<double> all;
  for (const DotPlotLine& line : lines) {
    all.insert(all.end(), line.values.begin(), line.values.end());
  }
  if (all.empty()) return {};
  auto [low, high] = std::ranges::minmax(all);
  double range = high - low;
  if (range == 0.0) range = std::max(std::abs(high), 1.0) * 0.1;
  const double ten = std::pow(10.0, std::floor(std::log10(range / 5.0)));
  const double rough = range / 5.0 / ten;
  const double step = (rough > 5.0 ? 10.0 : rough > 2.0 ? 5.0 : rough > 1.0 ? 2.0 : 1.0) * ten;
  return {.low = std::floor(low / step - 0.2) * step,
          .high = std::ceil(high / step + 0.2) * step,
          .step = step};
}

std::string text(double x, double y, const char* anchor, std::string_view words,
                 std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(words));
}

std::string stroke(double x0, double y0, double x1, double y1, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0,
                     x1, y1, style);
}

std::string grid(const Axis& axis, double foot) {
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(axis.step) + 1e-9)));
  std::string svg;
  const auto steps = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int i = 0; i <= steps; ++i) {
    const double value = axis.low + i * axis.step;
    svg += stroke(axis.x(value), kTop, axis.x(value), foot, "stroke=\"#d8d8d8\"");
    svg += text(axis.x(value), foot + 18, "middle", fmt::format("{:.{}f}", value, decimals));
  }
  return svg;
}

std::string drawn(const DotPlotLine& line, const Axis& axis, double y, int decimals) {
  std::string svg = text(kNames - 14, y + 4, "end", line.name);
  if (line.values.empty()) return svg + text(kNames + 10, y + 4, "start", "not run");
  const double mean = std::accumulate(line.values.begin(), line.values.end(), 0.0) /
                      static_cast<double>(line.values.size());
  for (const double value : line.values) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" fill-opacity=\"0.55\"/>\n",
        axis.x(value), y, kInk);
  }
  svg += stroke(axis.x(mean), y - 10, axis.x(mean), y + 10, "stroke=\"black\" stroke-width=\"2\"");
  return svg + text(kWidth - kRight + 12, y + 4, "start", fmt::format("{:.{}f}", mean, decimals));
}

}  // namespace

std::string to_svg(const DotPlot& plot, int decimals) {
  const double foot = kTop + kLine * static_cast<double>(plot.lines.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
      "font-size=\"13\" fill=\"black\">\n<title>{2}</title>\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      kWidth, foot + kBottom, escaped(plot.title));
  svg += text(14, 26, "start", plot.title, " font-size=\"15\" font-weight=\"bold\"");
  const Axis axis = axis_of(plot.lines);
  const bool measured =
      std::ranges::any_of(plot.lines, [](const DotPlotLine& line) { return !line.values.empty(); });
  if (measured) svg += grid(axis, foot);
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    svg += drawn(plot.lines[i], axis, kTop + kLine * (static_cast<double>(i) + 0.5), decimals);
  }
  svg += text(kNames, foot + 38, "start", plot.axis);
  return svg + "</svg>\n";
}

}  // namespace perceiver
