#include "perceiver/media/paint.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

constexpr int64_t kWhite = 255;

// Red, green, blue at equal steps: dark violet, violet, red, orange, light yellow.
Tensor heat_stops() {
  static const Tensor stops = at::tensor({12,  7,   42,   //
                                          58,  15,  110,  //
                                          125, 28,  109,  //
                                          187, 48,  74,   //
                                          229, 92,  41,   //
                                          249, 152, 30,   //
                                          248, 208, 80,   //
                                          252, 250, 190},
                                         at::kFloat)
                                  .view({8, 3});
  return stops;
}

// float [H, W, 3]
Tensor heat(const Tensor& values) {
  const Tensor stops = heat_stops();
  const int64_t last = stops.size(0) - 1;
  const Tensor at = values.to(at::kCPU, at::kFloat).nan_to_num().clamp(0.0, 1.0) * last;
  const Tensor lower = at.floor().clamp_max(last - 1).to(at::kLong);
  const Tensor share = (at - lower).unsqueeze(-1);
  const auto stop = [&](const Tensor& index) {
    return stops.index_select(0, index.flatten()).view({values.size(0), values.size(1), 3});
  };
  return at::lerp(stop(lower), stop(lower + 1), share);
}

Tensor to_pixels(const Tensor& colours) {
  return colours.round().clamp(0, 255).to(at::kByte).permute({2, 0, 1}).contiguous();
}

void check_picture(const Tensor& picture) {
  check_shape(picture, {3, kAny, kAny}, "picture");
  if (picture.scalar_type() != at::kByte) {
    fail("picture has elements of type {}, expected uint8", c10::toString(picture.scalar_type()));
  }
}

// In one line along dimension 1 (below each other) or 2 (beside each other).
Tensor in_line(const std::vector<Tensor>& pictures, int64_t gap, int64_t along) {
  if (pictures.empty()) fail("no pictures to put together");
  const int64_t across = 3 - along, size = pictures[0].size(across);
  std::vector<Tensor> parts;
  for (const Tensor& picture : pictures) {
    check_picture(picture);
    if (picture.size(across) != size) {
      fail("pictures {} each other have {}s {} and {}, expected one",
           along == 1 ? "below" : "beside", along == 1 ? "width" : "height", size,
           picture.size(across));
    }
    if (gap > 0 && !parts.empty()) {
      parts.push_back(
          at::full({3, along == 1 ? gap : size, along == 1 ? size : gap}, kWhite, at::kByte));
    }
    parts.push_back(picture);
  }
  return at::cat(parts, along);
}

}  // namespace

Tensor heat_colours(const Tensor& values) {
  check_shape(values, {kAny, kAny}, "values");
  return to_pixels(heat(values));
}

Tensor heat_map(const Tensor& picture, const Tensor& values, std::optional<double> largest) {
  check_picture(picture);
  check_shape(values, {kAny, kAny}, "values");
  const Tensor spread = values.to(at::kCPU, at::kFloat).nan_to_num();
  const double top = largest.value_or(spread.max().item<double>());
  const Tensor relative = (spread / std::max(top, 1e-30)).clamp(0.0, 1.0);
  const Tensor cells = at::upsample_nearest2d(relative.unsqueeze(0).unsqueeze(0),
                                              {picture.size(1), picture.size(2)})[0][0];
  // Grey and darker, so that the colours and the light are the values' alone.
  const Tensor grey = picture.cpu().to(at::kFloat).mean(0).mul(0.6).unsqueeze(-1);
  return to_pixels(
      at::lerp(grey.expand({-1, -1, 3}), heat(cells), cells.sqrt().mul(0.75).unsqueeze(-1)));
}

Tensor beside(const std::vector<Tensor>& pictures, int64_t gap) {
  return in_line(pictures, gap, 2);
}

Tensor below(const std::vector<Tensor>& pictures, int64_t gap) { return in_line(pictures, gap, 1); }

Tensor contact_sheet(const std::vector<Tensor>& pictures, int64_t columns, int64_t gap) {
  if (columns < 1) fail("a contact sheet of {} columns, expected at least 1", columns);
  std::vector<Tensor> rows;
  const auto count = static_cast<int64_t>(pictures.size());
  for (int64_t first = 0; first < count; first += columns) {
    std::vector<Tensor> row(pictures.begin() + first,
                            pictures.begin() + std::min(first + columns, count));
    // The last row is filled up, unless it is the only one.
    while (first > 0 && static_cast<int64_t>(row.size()) < columns) {
      row.push_back(at::full_like(pictures[0], kWhite));
    }
    rows.push_back(beside(row, gap));
  }
  return below(rows, gap);
}

}  // namespace perceiver
