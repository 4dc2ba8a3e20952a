#include "perceiver/bench/chart.h"

#include <gtest/gtest.h>

#include <regex>

namespace perceiver {
namespace {

Chart two_curves() {
  const ChartSeries ours{"Perceiver IO", {256, 512, 1024}, {0.01, 0.011, 0.013}};
  const ChartSeries theirs{"Transformer & <others>", {256, 512}, {0.02, 0.08}};
  return {.title = "time & memory < all",
          .x_label = "inputs",
          .notes = {"a note"},
          .panels = {{"time", ChartPanel::Unit::kSeconds, {ours, theirs}},
                     {"memory", ChartPanel::Unit::kBytes, {ours, theirs}}}};
}

// Every tag that is opened is closed, in order, and nothing but tags holds a '<'.
bool is_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)((?: [A-Za-z0-9:-]+=\"[^\"<]*\")*)(/?)>");
  std::string rest;
  std::smatch match;
  for (std::string left = svg; std::regex_search(left, match, tag); left = match.suffix()) {
    rest += match.prefix();
    if (match[1] == "/") {
      if (open.empty() || open.back() != match[2]) return false;
      open.pop_back();
    } else if (match[4] != "/") {
      open.push_back(match[2]);
    }
    if (match.suffix().length() < 2) rest += match.suffix();
  }
  static const std::regex loose("<|&(?!amp;|lt;|gt;|quot;)");
  return open.empty() && !std::regex_search(rest, loose);
}

std::vector<double> numbers(const std::string& svg, const std::string& pattern) {
  std::vector<double> found;
  const std::regex attribute(pattern + "=\"(-?[0-9.]+)\"");
  for (std::sregex_iterator i(svg.begin(), svg.end(), attribute), end; i != end; ++i) {
    found.push_back(std::stod((*i)[1]));
  }
  return found;
}

TEST(Chart, IsWellFormedWhateverTheNames) {
  const std::string svg = to_svg(two_curves());
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_FALSE(is_well_formed(svg + "<g>"));
  EXPECT_NE(svg.find("Transformer &amp; &lt;others&gt;"), std::string::npos);
}

TEST(Chart, WithNothingMeasuredIsWellFormedToo) {
  Chart chart = two_curves();
  for (ChartPanel& panel : chart.panels) {
    for (ChartSeries& series : panel.series) series.x.clear(), series.y.clear();
  }
  EXPECT_TRUE(is_well_formed(to_svg(chart)));
  EXPECT_EQ(to_svg(chart).find("nan"), std::string::npos);
}

TEST(Chart, EverythingIsInsideThePicture) {
  const std::string svg = to_svg(two_curves());
  const double width = numbers(svg, "width").front(), height = numbers(svg, "height").front();
  for (const char* name : {" x", "x1", "x2", "cx"}) {
    for (const double x : numbers(svg, name)) EXPECT_TRUE(x >= 0 && x <= width) << name << x;
  }
  for (const char* name : {" y", "y1", "y2", "cy"}) {
    for (const double y : numbers(svg, name)) EXPECT_TRUE(y >= 0 && y <= height) << name << y;
  }
}

TEST(Chart, HasAMarkForEachPoint) {
  const std::string svg = to_svg(two_curves());
  // Three circles a panel and one in the legend.
  EXPECT_EQ(numbers(svg, "cx").size(), 7);
}

TEST(Chart, TicksArePowersOfTenAndMoreWhereThereAreFew) {
  EXPECT_EQ(ticks(1.0, 1000.0), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(ticks(1.0, 20.0), (std::vector<double>{1, 2, 5, 10, 20}));
}

TEST(Chart, LabelsHaveUnits) {
  EXPECT_EQ(tick_label(2e-3, ChartPanel::Unit::kSeconds), "2 ms");
  EXPECT_EQ(tick_label(10.0, ChartPanel::Unit::kSeconds), "10 s");
  EXPECT_EQ(tick_label(5e-5, ChartPanel::Unit::kSeconds), "50 µs");
  EXPECT_EQ(tick_label(5e7, ChartPanel::Unit::kBytes), "50 MB");
  EXPECT_EQ(tick_label(1e9, ChartPanel::Unit::kBytes), "1 GB");
}

}  // namespace
}  // namespace perceiver
