#include "perceiver/tasks/optical_flow/tiling.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/model/memory_plan.h"

namespace perceiver {
namespace {

// What a pass takes beside the planned arrays: the kernels' own memory, the allocator's rounding.
constexpr double kShareOfMemory = 0.8;
// Beyond this a GPU is busy anyway.
constexpr int64_t kMostTilesAtOnce = 16;

struct Margins {
  int64_t before, after;
};

Margins margins(int64_t size, int64_t tile) {
  const int64_t missing = std::max<int64_t>(0, tile - size);
  return {missing / 2, missing - missing / 2};
}

// [..., H, W] with the edges repeated until both sizes are a tile's at least.
Tensor with_edges_repeated(const Tensor& frames, Margins rows, Margins columns) {
  const auto repeated = [](const Tensor& x, int64_t dim, Margins m) {
    if (m.before == 0 && m.after == 0) return x;
    const Tensor indices =
        at::arange(-m.before, x.size(dim) + m.after, x.options().dtype(at::kLong));
    return x.index_select(dim, indices.clamp(0, x.size(dim) - 1));
  };
  return repeated(repeated(frames, -2, rows), -1, columns);
}

Tensor cut(const Tensor& x, TileCorner corner, int64_t height, int64_t width) {
  return x.narrow(-2, corner.y, height).narrow(-1, corner.x, width);
}

}  // namespace

std::vector<int64_t> tile_starts(int64_t size, int64_t tile, TilePlacement placement,
                                 int64_t overlap) {
  if (size <= tile) return {0};
  const int64_t longest_step = tile - std::min(overlap, tile / 2);
  std::vector<int64_t> starts;
  if (placement == TilePlacement::kNotebook) {
    // One that touches the edge or reaches beyond it is the last already: the notebook runs such a
    // tile twice, or fails.
    for (int64_t start = 0; start + tile < size; start += longest_step) starts.push_back(start);
    starts.push_back(size - tile);
    return starts;
  }
  const int64_t steps = (size - tile + longest_step - 1) / longest_step;
  for (int64_t i = 0; i <= steps; ++i) starts.push_back(i * (size - tile) / steps);
  return starts;
}

std::vector<TileCorner> tile_corners(const OpticalFlowConfig& config, int64_t height, int64_t width,
                                     TilePlacement placement) {
  const int64_t overlap = config.tile_overlap;
  std::vector<TileCorner> corners;
  for (const int64_t y : tile_starts(height, config.height, placement, overlap)) {
    for (const int64_t x : tile_starts(width, config.width, placement, overlap)) {
      corners.push_back({y, x});
    }
  }
  return corners;
}

Tensor tile_weights(int64_t height, int64_t width, at::Device device) {
  const auto distance = [&](int64_t size) {
    const Tensor from_start = at::arange(1, size + 1, at::TensorOptions(device).dtype(at::kDouble));
    return at::minimum(from_start, from_start.flip(0));
  };
  return at::minimum(distance(height).unsqueeze(1), distance(width).unsqueeze(0));
}

FlowMosaic::FlowMosaic(int64_t height, int64_t width, at::Device device)
    : sum_(at::zeros({2, height, width}, at::TensorOptions(device).dtype(at::kDouble))),
      weights_(at::zeros({height, width}, sum_.options())) {}

void FlowMosaic::add(const Tensor& flow, TileCorner corner) {
  const int64_t height = flow.size(1), width = flow.size(2);
  const Tensor weights = tile_weights(height, width, flow.device());
  cut(sum_, corner, height, width).add_(flow.to(at::kDouble) * weights);
  cut(weights_, corner, height, width).add_(weights);
}

Tensor FlowMosaic::flow() const { return sum_ / weights_; }

int64_t tiles_at_once(const OpticalFlowImpl& model, at::Device device, int64_t free_bytes) {
  const OpticalFlowConfig& config = model.config();
  const ModelSummary summary = model.summary();
  const Tensor weight = model.parameters().front();
  const int64_t slice = model.decode_slice(device);
  const auto needed = [&](int64_t tiles) {
    const AttendPlace place{.device = device, .dtype = weight.scalar_type(), .batch = tiles};
    return plan_memory(summary, place, slice).of_pass();
  };
  if (needed(1) > free_bytes) {
    constexpr double kMebibyte = 1 << 20;
    fail("too little memory: a tile of {} x {} needs about {:.0f} MiB, {:.0f} MiB are free",
         config.width, config.height, needed(1) / kMebibyte, free_bytes / kMebibyte);
  }
  if (device.is_cpu()) return 1;
  int64_t tiles = kMostTilesAtOnce;
  while (tiles > 1 && needed(tiles) > kShareOfMemory * free_bytes) --tiles;
  return tiles;
}

FrameTiles cut_into_tiles(const OpticalFlowConfig& config, const Tensor& frames,
                          TilePlacement placement) {
  check_shape(frames, {2, 3, kAny, kAny}, "frames");
  const Margins rows = margins(frames.size(2), config.height);
  const Margins columns = margins(frames.size(3), config.width);
  const Tensor padded = with_edges_repeated(frames, rows, columns);
  return {.padded = padded,
          .frame = {rows.before, columns.before},
          .corners = tile_corners(config, padded.size(2), padded.size(3), placement)};
}

std::vector<int64_t> tile_starts(const FrameTiles& tiles) {
  std::vector<int64_t> starts;
  for (const TileCorner& corner : tiles.corners) {
    starts.push_back(corner.y);
    starts.push_back(corner.x);
  }
  return starts;
}

Tensor tile_values(const OpticalFlowConfig& config, const FrameTiles& tiles, int64_t begin,
                   int64_t end, const at::TensorOptions& place) {
  std::vector<Tensor> pixels;
  for (int64_t i = begin; i < end; ++i) {
    pixels.push_back(cut(tiles.padded, tiles.corners[i], config.height, config.width));
  }
  const Tensor values = at::stack(pixels).to(place.device()).to(at::kFloat) / 255 * 2 - 1;
  return values.to(place.dtype());
}

Tensor tiled_flow(OpticalFlowImpl& model, const Tensor& frames, const Tiling& tiling) {
  const at::NoGradGuard no_grad;
  const OpticalFlowConfig& config = model.config();
  const at::TensorOptions place = model.parameters().front().options();
  // All of it where the model is: a GPU would wait for the CPU longer than for its own passes.
  const FrameTiles tiles = cut_into_tiles(config, frames.to(place.device()), tiling.placement);

  FlowMosaic mosaic(tiles.padded.size(2), tiles.padded.size(3), place.device());
  const auto count = static_cast<int64_t>(tiles.corners.size());
  const int64_t passes = (count + tiling.tiles_at_once - 1) / tiling.tiles_at_once;
  for (int64_t pass = 0; pass < passes; ++pass) {
    // Passes of equal size: six tiles of which four fit are twice three.
    const int64_t begin = pass * count / passes, end = (pass + 1) * count / passes;
    const Tensor values = tile_values(config, tiles, begin, end, place);
    const Tensor flow = model.forward(values).to(at::kFloat);
    for (int64_t i = begin; i < end; ++i) mosaic.add(flow[i - begin], tiles.corners[i]);
  }
  const Tensor whole = mosaic.flow() * pixels_per_unit(config);
  const Tensor flow = cut(whole, tiles.frame, frames.size(2), frames.size(3)).to(at::kFloat);
  return flow.contiguous().to(at::kCPU);
}

}  // namespace perceiver
