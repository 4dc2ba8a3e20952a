#include "perceiver/tasks/optical_flow/measures.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <string_view>

#include "perceiver/core/error.h"
#include "perceiver/media/lettering.h"
#include "perceiver/media/paint.h"

namespace perceiver {
namespace {

constexpr uint8_t kUnknownGrey = 128;

// Of figures' names, by FlowSet.
constexpr std::array<std::string_view, 4> kEndings = {"", "_clean", "_final", "_kitti"};

Tensor length(const Tensor& flow) { return flow.to(at::kDouble).pow(2).sum(0).sqrt(); }

// The truth, zero where it is unknown: what stands there in a file may be no number at all.
Tensor known_flow(const FlowField& truth) {
  return truth.flow.to(at::kDouble).masked_fill(~truth.valid, 0.0);
}

Tensor errors(const Tensor& flow, const FlowField& truth) {
  return length(flow.to(at::kDouble) - known_flow(truth));
}

// The picture above a bar of its colours, with the pixels of error at its ends and in its middle;
// the picture alone where it is too narrow to be written below. `largest` is log1p of the last.
Tensor with_scale(const Tensor& picture, double largest) {
  constexpr int64_t kLeastWidth = 128, kBarHeight = 8, kNumbersHeight = 11;
  const int64_t width = picture.size(2);
  if (width < kLeastWidth) return picture;
  const Tensor along = at::linspace(0.0, 1.0, width).expand({kBarHeight, width});
  const Tensor bar = heat_colours(along);
  const auto pixels = [&](double share) {
    return fmt::format("{:.3g}", std::expm1(share * largest));
  };
  Tensor numbers = at::full({3, kNumbersHeight, width}, 255, at::kByte);
  numbers = with_text(numbers, "0", kNumbersHeight, 10);
  numbers = with_text(numbers, pixels(0.5), kNumbersHeight, width / 2 + 12);
  numbers = with_text(numbers, pixels(1.0) + " px", kNumbersHeight, width);
  return below({picture, bar, numbers});
}

}  // namespace

void check_same_size(const FlowField& truth, const std::string& name, int64_t height,
                     int64_t width) {
  if (truth.flow.size(1) == height && truth.flow.size(2) == width) return;
  fail("{} is {} x {}, expected {} x {}: ground truth must have the frames' size", name,
       truth.flow.size(2), truth.flow.size(1), width, height);
}

FlowMeasures measure_flow(const Tensor& flow, const FlowField& truth) {
  const Tensor error = errors(flow, truth).masked_select(truth.valid);
  if (error.numel() == 0) return {};
  const Tensor size = length(known_flow(truth)).masked_select(truth.valid);
  const auto share = [](const Tensor& are) { return are.to(at::kDouble).mean().item<double>(); };
  return {.num_pixels = error.numel(),
          .epe = error.mean().item<double>(),
          .above_1 = share(error > 1),
          .above_3 = share(error > 3),
          .above_5 = share(error > 5),
          .fl_all = share((error > 3).logical_and(error > 0.05 * size))};
}

FlowMeasures pooled(std::span<const FlowMeasures> measures) {
  FlowMeasures all;
  for (const FlowMeasures& m : measures) all.num_pixels += m.num_pixels;
  for (const FlowMeasures& m : measures) {
    if (m.num_pixels == 0) continue;
    const double weight = static_cast<double>(m.num_pixels) / static_cast<double>(all.num_pixels);
    all.epe += weight * m.epe;
    all.above_1 += weight * m.above_1;
    all.above_3 += weight * m.above_3;
    all.above_5 += weight * m.above_5;
    all.fl_all += weight * m.fl_all;
  }
  return all;
}

void add_picture(Measures& all, const FlowMeasures& picture, FlowSet set) {
  if (picture.num_pixels == 0) return;
  const auto pixels = static_cast<double>(picture.num_pixels);
  const auto add = [&](const std::string& name, double mean, double weight) {
    all[name].sum += mean * weight, all[name].weight += weight;
  };
  const std::string ending(kEndings[static_cast<size_t>(set)]);
  add("epe" + ending, picture.epe, set == FlowSet::kKitti ? 1.0 : pixels);
  add("pictures" + ending, 1.0, 1.0);
  add("above_1", picture.above_1, pixels), add("above_3", picture.above_3, pixels);
  add("above_5", picture.above_5, pixels), add("fl_all", picture.fl_all, pixels);
}

std::map<std::string, double> flow_figures(const Measures& all) {
  std::map<std::string, double> figures;
  double errors = 0.0, pictures = 0.0;
  for (const std::string_view ending : kEndings) {
    const auto found = all.find("epe" + std::string(ending));
    if (found == all.end()) continue;
    const double epe = found->second.sum / found->second.weight;
    const double count = all.at("pictures" + std::string(ending)).sum;
    errors += count * epe, pictures += count;
    figures[found->first] = epe;
  }
  if (pictures > 0.0) figures["epe"] = errors / pictures;
  for (const char* name : {"above_1", "above_3", "above_5", "fl_all"}) {
    if (all.contains(name)) figures[name] = all.at(name).sum / all.at(name).weight;
  }
  return figures;
}

Tensor error_picture(const Tensor& flow, const FlowField& truth) {
  const Tensor heat = errors(flow, truth).masked_fill(~truth.valid, 0.0).log1p();
  const double largest = heat.max().item<double>();
  const Tensor picture = heat_colours((largest > 0.0 ? heat / largest : heat).to(at::kFloat));
  return with_scale(picture.masked_fill(~truth.valid, kUnknownGrey), largest);
}

std::pair<Tensor, Tensor> follow(const Tensor& values, const Tensor& flow) {
  const int64_t height = values.size(1), width = values.size(2);
  const Tensor x = flow[0].to(at::kDouble) + at::arange(width, at::kDouble);
  const Tensor y = flow[1].to(at::kDouble) + at::arange(height, at::kDouble).unsqueeze(1);
  const Tensor inside =
      (x >= 0).logical_and(x <= width - 1).logical_and(y >= 0).logical_and(y <= height - 1);
  const Tensor left = at::where(inside, x, 0.0).floor(), top = at::where(inside, y, 0.0).floor();
  const Tensor right_share = at::where(inside, x, 0.0) - left;
  const Tensor bottom_share = at::where(inside, y, 0.0) - top;
  const auto at_corner = [&](int64_t down, int64_t across) {
    // On the last row or column, the neighbour beyond it has a share of zero.
    const Tensor row = (top.to(at::kLong) + down).clamp_max(height - 1);
    const Tensor column = (left.to(at::kLong) + across).clamp_max(width - 1);
    const Tensor share =
        (down ? bottom_share : 1 - bottom_share) * (across ? right_share : 1 - right_share);
    const Tensor picked =
        values.to(at::kDouble).flatten(1).index_select(1, (row * width + column).flatten());
    return picked.view_as(values) * share;
  };
  return {at_corner(0, 0) + at_corner(0, 1) + at_corner(1, 0) + at_corner(1, 1), inside};
}

Tensor consistent(const Tensor& forward, const Tensor& backward) {
  const auto [back, inside] = follow(backward, forward);
  const auto squared = [](const Tensor& flow) { return flow.pow(2).sum(0); };
  const Tensor there = forward.to(at::kDouble);
  const Tensor close = squared(there + back) < 0.01 * (squared(there) + squared(back)) + 0.5;
  return close.logical_and(inside);
}

}  // namespace perceiver
