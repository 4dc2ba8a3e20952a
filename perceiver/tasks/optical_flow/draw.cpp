#include "perceiver/tasks/optical_flow/draw.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "perceiver/media/lettering.h"

namespace perceiver {
namespace {

using Colour = std::array<uint8_t, 3>;

// Steps from a colour to the next: more where the eye tells more apart.
constexpr int kRedYellow = 15, kYellowGreen = 6, kGreenCyan = 4, kCyanBlue = 11, kBlueMagenta = 13,
              kMagentaRed = 6;

struct Point {
  double y, x;
};

// A picture that is drawn upon, whose outside swallows what falls there.
class Canvas {
 public:
  explicit Canvas(const Tensor& picture)
      : picture_(picture.clone(at::MemoryFormat::Contiguous)),
        pixels_(picture_.accessor<uint8_t, 3>()) {}

  void line(Point from, Point to, int64_t thickness, const Colour& colour) {
    // A vector may lead far beyond the picture; nothing of it is seen there.
    const double longest = std::max(std::abs(to.y - from.y), std::abs(to.x - from.x));
    const auto steps = static_cast<int64_t>(
        std::min(std::ceil(longest), 2.0 * (pixels_.size(1) + pixels_.size(2))));
    const double part = longest > 0.0 ? 1.0 / longest : 0.0;
    for (int64_t i = 0; i <= steps; ++i) {
      const double share = std::min(1.0, static_cast<double>(i) * part);
      dot({from.y + share * (to.y - from.y), from.x + share * (to.x - from.x)}, thickness, colour);
    }
  }

  const Tensor& picture() const { return picture_; }

 private:
  void dot(Point centre, int64_t thickness, const Colour& colour) {
    const int64_t top = std::llround(centre.y) - thickness / 2;
    const int64_t left = std::llround(centre.x) - thickness / 2;
    for (int64_t y = std::max<int64_t>(0, top); y < std::min(pixels_.size(1), top + thickness); ++y)
      for (int64_t x = std::max<int64_t>(0, left); x < std::min(pixels_.size(2), left + thickness);
           ++x)
        for (int channel = 0; channel < 3; ++channel) pixels_[channel][y][x] = colour[channel];
  }

  Tensor picture_;
  at::TensorAccessor<uint8_t, 3> pixels_;
};

// A black outline under the colour, so that an arrow shows on any ground.
void draw_arrow(Canvas& canvas, Point from, Point to, const Colour& colour) {
  constexpr double kHeadAngle = 0.45, kLongestHead = 6.0, kHeadShare = 0.4;
  const double angle = std::atan2(to.y - from.y, to.x - from.x);
  const double head = std::min(kLongestHead, kHeadShare * std::hypot(to.y - from.y, to.x - from.x));
  const auto barb = [&](double turn) {
    return Point{to.y - head * std::sin(angle + turn), to.x - head * std::cos(angle + turn)};
  };
  for (const int64_t thickness : {3, 1}) {
    const Colour with = thickness == 3 ? Colour{0, 0, 0} : colour;
    canvas.line(from, to, thickness, with);
    canvas.line(to, barb(kHeadAngle), thickness, with);
    canvas.line(to, barb(-kHeadAngle), thickness, with);
  }
}

// Between neighbours of the wheel -> [3, H, W], in [0, 1]
Tensor hues(const Tensor& flow) {
  const Tensor wheel = colour_wheel().to(at::kFloat).t() / 255;  // [3, 55]
  const int64_t count = wheel.size(1);
  const Tensor turn = (at::atan2(-flow[1], -flow[0]) / std::numbers::pi + 1) / 2 * (count - 1);
  const Tensor below = turn.to(at::kLong);
  const auto colours = [&](const Tensor& index) {
    return wheel.index_select(1, index.flatten()).unflatten(1, index.sizes());
  };
  const Tensor share = turn - below;
  return (1 - share) * colours(below) + share * colours((below + 1).remainder(count));
}

}  // namespace

Tensor colour_wheel() {
  std::vector<int> values;
  const auto run = [&](int steps, auto colour) {
    for (int i = 0; i < steps; ++i) {
      const int rising = 255 * i / steps;
      for (const int value : colour(rising, 255 - rising)) values.push_back(value);
    }
  };
  using Rgb = std::array<int, 3>;
  run(kRedYellow, [](int up, int) { return Rgb{255, up, 0}; });
  run(kYellowGreen, [](int, int down) { return Rgb{down, 255, 0}; });
  run(kGreenCyan, [](int up, int) { return Rgb{0, 255, up}; });
  run(kCyanBlue, [](int, int down) { return Rgb{0, down, 255}; });
  run(kBlueMagenta, [](int up, int) { return Rgb{up, 0, 255}; });
  run(kMagentaRed, [](int, int down) { return Rgb{255, 0, down}; });
  return at::tensor(values, at::kByte).view({-1, 3});
}

double largest_flow(const FlowField& field) {
  const Tensor lengths = field.flow.norm(2, 0).masked_select(field.valid);
  return lengths.numel() == 0 ? 0.0 : lengths.max().item<double>();
}

Tensor flow_colours(const FlowField& field, double max_flow) {
  const Tensor flow = field.flow.to(at::kFloat).masked_fill(~field.valid, 0.0);
  // The length is divided, not the vector: rounding would darken the longest.
  const Tensor radius = flow.norm(2, 0) / (max_flow > 0.0 ? max_flow : 1.0);
  const Tensor hue = hues(flow);
  const Tensor colours = at::where(radius <= 1, 1 - radius * (1 - hue), hue * 0.75);
  return (colours.to(at::kDouble) * 255).to(at::kByte).masked_fill(~field.valid, 0);
}

Tensor with_legend(const Tensor& picture, std::optional<double> at_rim) {
  const int64_t height = picture.size(1), width = picture.size(2);
  const int64_t shorter = std::min(height, width);
  const int64_t side = std::min(shorter, std::clamp<int64_t>(shorter / 6, 32, 128));
  const double radius = side / 2.0;
  const Tensor offset = (at::arange(side, at::kFloat) + 0.5 - radius) / radius;
  const Tensor flow =
      at::stack({offset.expand({side, side}), offset.unsqueeze(1).expand({side, side})});
  const Tensor disc = flow.norm(2, 0) <= 1;
  const Tensor wheel = flow_colours({flow, disc}, 1.0);
  Tensor result = picture.clone();
  Tensor corner = result.narrow(1, height - side, side).narrow(2, width - side, side);
  corner.copy_(at::where(disc, wheel, corner));
  if (!at_rim) return result;
  const std::string number = fmt::format("{:.{}f} px", *at_rim, *at_rim < 10.0 ? 1 : 0);
  return with_text(result, number, height, width - side, std::max<int64_t>(1, side / 40));
}

Tensor flow_arrows(const Tensor& frame, const FlowField& field) {
  const int64_t height = frame.size(1), width = frame.size(2);
  const int64_t step = std::max<int64_t>(8, std::min(height, width) / 24);
  const Tensor hue = (hues(field.flow.masked_fill(~field.valid, 0.0)) * 255).to(at::kByte);
  const auto colours = hue.accessor<uint8_t, 3>();
  const auto valid = field.valid.accessor<bool, 2>();
  const Tensor flow = field.flow.to(at::kFloat).contiguous();
  const auto vectors = flow.accessor<float, 3>();
  Canvas canvas(frame);
  for (int64_t y = step / 2; y < height; y += step) {
    for (int64_t x = step / 2; x < width; x += step) {
      if (!valid[y][x]) continue;
      const Point from{static_cast<double>(y), static_cast<double>(x)};
      const Point to{from.y + vectors[1][y][x], from.x + vectors[0][y][x]};
      draw_arrow(canvas, from, to, {colours[0][y][x], colours[1][y][x], colours[2][y][x]});
    }
  }
  return canvas.picture();
}

}  // namespace perceiver
