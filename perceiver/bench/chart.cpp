#include "perceiver/bench/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "perceiver/core/markup.h"

namespace perceiver {
namespace {

// Pixels.
constexpr double kWidth = 400, kHeight = 280;  // of the area that curves are drawn in
constexpr double kLeft = 76, kRight = 24;      // beside it: labels of the y axis stand on the left
constexpr double kTop = 96, kBottom = 52;      // above and below it
constexpr double kLine = 18;                   // from one line of text to the next

// Told apart in print, and by those who see no colours, by dashes and marks.
struct Style {
  const char *colour, *dashes;
  bool round;
};
constexpr std::array kStyles = {Style{"#1f5fa8", "none", true}, Style{"#c24a12", "7 4", false}};

std::string text(double x, double y, const std::string& anchor, const std::string& words,
                 const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(words));
}

std::string line(double x0, double y0, double x1, double y1, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0,
                     x1, y1, style);
}

std::string mark(double x, double y, const Style& style) {
  if (style.round) {
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x, y,
                       style.colour);
  }
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\" fill=\"white\" stroke=\"{}\" "
      "stroke-width=\"1.6\"/>\n",
      x - 3.5, y - 3.5, style.colour);
}

// Of a logarithmic axis.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0.0;

  void add(const std::vector<double>& values) {
    for (const double v : values) low = std::min(low, v), high = std::max(high, v);
  }
  // So wide that what hardly changes looks flat, and to the ticks around it.
  Range widened() const {
    if (high == 0.0) return {1.0, 10.0};
    Range wide = {low, high};
    while (wide.high / wide.low < 10.0) wide.low /= 1.5, wide.high *= 1.5;
    const auto step = [](double value, bool up) {
      const double ten = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
      if (up)
        return value <= 1.001 * ten ? ten
               : value <= 2 * ten   ? 2 * ten
               : value <= 5 * ten   ? 5 * ten
                                    : 10 * ten;
      return value >= 4.999 * ten ? 5 * ten : value >= 1.999 * ten ? 2 * ten : ten;
    };
    return {step(wide.low, false), step(wide.high, true)};
  }
  double share(double value) const {
    return high > low ? std::log(value / low) / std::log(high / low) : 0.5;
  }
};

// "256", "4k", "1M": sizes double, so that they are written in units of 1024.
std::string size_label(double size) {
  const auto whole = static_cast<int64_t>(size);
  if (whole >= 1 << 20 && whole % (1 << 20) == 0) return fmt::format("{}M", whole >> 20);
  if (whole >= 1024 && whole % 1024 == 0) return fmt::format("{}k", whole >> 10);
  return std::to_string(whole);
}

class PanelDrawing {
 public:
  PanelDrawing(const ChartPanel& panel, double left) : panel_(panel), left_(left) {
    for (const ChartSeries& series : panel.series) x_.add(series.x), y_.add(series.y);
    y_ = y_.widened();
  }

  std::string draw(const std::string& x_label) const {
    std::string svg =
        text(left_ + kWidth / 2, kTop - 14, "middle", panel_.title, " font-weight=\"bold\"");
    svg += y_axis() + x_axis();
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
        "stroke=\"black\"/>\n",
        left_, kTop, kWidth, kHeight);
    svg += text(left_ + kWidth / 2, kTop + kHeight + 40, "middle", x_label);
    for (size_t i = 0; i < panel_.series.size(); ++i) {
      svg += curve(panel_.series[i], kStyles[i % kStyles.size()]);
    }
    return svg;
  }

 private:
  // A little inside the frame: marks are not to lie on it.
  double x(double value) const { return left_ + kWidth * (0.04 + 0.92 * x_.share(value)); }
  double y(double value) const { return kTop + kHeight * (1.0 - y_.share(value)); }

  std::string y_axis() const {
    std::string svg;
    for (const double tick : ticks(y_.low, y_.high)) {
      svg += line(left_, y(tick), left_ + kWidth, y(tick), "stroke=\"#d8d8d8\"");
      svg += text(left_ - 8, y(tick) + 4, "end", tick_label(tick, panel_.unit));
    }
    return svg;
  }

  // Sizes that were measured, as many as there is room for.
  std::string x_axis() const {
    std::vector<double> sizes;
    for (const ChartSeries& series : panel_.series) {
      if (series.x.size() > sizes.size()) sizes = series.x;
    }
    const size_t every = sizes.size() / 12 + 1;
    std::string svg;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const double foot = kTop + kHeight;
      svg += line(x(sizes[i]), foot, x(sizes[i]), foot + 5, "stroke=\"black\"");
      if (i % every == 0) svg += text(x(sizes[i]), foot + 20, "middle", size_label(sizes[i]));
    }
    return svg;
  }

  std::string curve(const ChartSeries& series, const Style& style) const {
    std::string points, marks;
    for (size_t i = 0; i < series.x.size(); ++i) {
      points += fmt::format("{:.1f},{:.1f} ", x(series.x[i]), y(series.y[i]));
      marks += mark(x(series.x[i]), y(series.y[i]), style);
    }
    return fmt::format(
               "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
               "stroke-dasharray=\"{}\"/>\n",
               points, style.colour, style.dashes) +
           marks;
  }

  const ChartPanel& panel_;
  double left_;
  Range x_, y_;
};

// A stroke and a mark of each series with its name, in one row.
std::string legend(const std::vector<ChartSeries>& series, double x, double y) {
  std::string svg;
  for (size_t i = 0; i < series.size(); ++i, x += 180) {
    const Style& style = kStyles[i % kStyles.size()];
    svg += line(x, y - 4, x + 36, y - 4,
                fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"",
                            style.colour, style.dashes));
    svg += mark(x + 18, y - 4, style) + text(x + 46, y, "start", series[i].name);
  }
  return svg;
}

}  // namespace

std::vector<double> ticks(double low, double high) {
  const double slack = 1e-9;  // of the logarithm: an end of the axis may be a tick itself
  const auto inside = [&](const std::vector<double>& factors) {
    std::vector<double> found;
    for (double e = std::floor(std::log10(low)); e <= std::ceil(std::log10(high)); ++e) {
      for (const double factor : factors) {
        const double tick = factor * std::pow(10.0, e), l = std::log10(tick);
        if (l >= std::log10(low) - slack && l <= std::log10(high) + slack) found.push_back(tick);
      }
    }
    return found;
  };
  const std::vector<double> tens = inside({1.0});
  return tens.size() > 3 ? tens : inside({1.0, 2.0, 5.0});
}

std::string tick_label(double value, ChartPanel::Unit unit) {
  struct Step {
    double size;
    const char* name;
  };
  const auto in = [&](std::initializer_list<Step> steps) {
    for (const auto& [size, name] : steps) {
      if (value >= 0.999 * size) return fmt::format("{:g} {}", value / size, name);
    }
    const Step& last = *(steps.end() - 1);
    return fmt::format("{:g} {}", value / last.size, last.name);
  };
  if (unit == ChartPanel::Unit::kSeconds) return in({{1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}});
  return in({{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1.0, "B"}});
}

std::string to_svg(const Chart& chart) {
  const double panel_width = kLeft + kWidth + kRight;
  const double width = panel_width * static_cast<double>(chart.panels.size());
  const double foot = kTop + kHeight + kBottom;
  const double height = foot + kLine * static_cast<double>(chart.notes.size()) + 8;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
      "font-size=\"13\" fill=\"black\">\n<title>{2}</title>\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      width, height, escaped(chart.title));
  svg += text(kLeft, 28, "start", chart.title, " font-size=\"17\" font-weight=\"bold\"");
  if (!chart.panels.empty()) svg += legend(chart.panels.front().series, kLeft, 54);
  for (size_t i = 0; i < chart.panels.size(); ++i) {
    const double left = static_cast<double>(i) * panel_width + kLeft;
    svg += PanelDrawing(chart.panels[i], left).draw(chart.x_label);
  }
  for (size_t i = 0; i < chart.notes.size(); ++i) {
    svg += text(kLeft, foot + kLine * static_cast<double>(i + 1) - 4, "start", chart.notes[i],
                " font-size=\"12\"");
  }
  return svg + "</svg>\n";
}

}  // namespace perceiver
