#include "perceiver/tasks/optical_flow/pixel_attention.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/attention/attention_map.h"
#include "perceiver/tasks/optical_flow/query.h"
#include "perceiver/tasks/optical_flow/tiling.h"
#include "perceiver/tasks/selection.h"

namespace perceiver {
namespace {

// Where a pixel lies in the tile that counts most for it.
struct Place {
  int64_t tile, y, x;
};

Place place_of(const OpticalFlowConfig& config, const FrameTiles& tiles, const Pixel& pixel) {
  const Tensor weights = tile_weights(config.height, config.width);
  Place best{};
  double most = 0.0;
  for (int64_t i = 0; i < std::ssize(tiles.corners); ++i) {
    const int64_t y = pixel.y + tiles.frame.y - tiles.corners[i].y;
    const int64_t x = pixel.x + tiles.frame.x - tiles.corners[i].x;
    if (y < 0 || x < 0 || y >= config.height || x >= config.width) continue;
    const double weight = weights[y][x].item<double>();
    if (weight > most) best = {i, y, x}, most = weight;
  }
  return best;
}

// The first attention of a pass, whose rest is not computed.
template <typename Pass>
AttentionInputs first_attention(const Pass& pass) {
  AttentionInputs seen;
  const AttentionObserver observer([&](const AttentionInputs& in) {
    if (!seen.q.defined()) seen = {.q = in.q, .k = in.k, .v = {}, .kv_mask = in.kv_mask};
    return Observed::kEnough;
  });
  pass();
  return seen;
}

// weights [1, M] over the input array -> [h, w] over the pixels of a tile: of both frames together,
// and each element's where the pixels lie that it was made of
Tensor over_pixels(const OpticalFlowImpl& model, const Tensor& weights) {
  const std::vector<int64_t> grid = model.input_grid();
  Tensor map = weights[0].reshape(grid);
  if (grid.size() == 3) map = map.sum(0);
  const OpticalFlowConfig& config = model.config();
  return map.repeat_interleave((config.height + map.size(0) - 1) / map.size(0), 0)
      .repeat_interleave((config.width + map.size(1) - 1) / map.size(1), 1)
      .narrow(0, 0, config.height)
      .narrow(1, 0, config.width);
}

}  // namespace

PixelAttention attention_of_pixel(Model& loaded, const LatentsFile& file,
                                  const std::string& pixel) {
  const at::NoGradGuard no_grad;
  auto& model = model_as<OpticalFlowImpl>(loaded, "attention of a pixel", "optical_flow");
  const OpticalFlowConfig& config = model.config();
  const Tensor frames = frames_in(model, file);
  const int64_t height = frames.size(2), width = frames.size(3);
  const FrameTiles tiles = cut_into_tiles(config, frames, TilePlacement::kEven);
  const Place place = place_of(config, tiles, parse_pixels({pixel}, {height, width})[0]);
  const at::TensorOptions weights_place = model.parameters().front().options();
  const Tensor values = tile_values(config, tiles, place.tile, place.tile + 1, weights_place);

  const AttentionInputs decoder = first_attention([&] {
    model.decode_at(file.latents().narrow(0, place.tile, 1).to(weights_place), values,
                    at::scalar_tensor(place.y * config.width + place.x, at::kLong).view({1}));
  });
  const int64_t queries = decoder.q.size(2);  // several, where the flow is upsampled
  const Tensor latents = mix_attention(decoder, at::full({1, queries}, 1.0 / queries));
  const AttentionInputs encoder = first_attention([&] { model.encode_frames(values); });
  const Tensor map = over_pixels(model, mix_attention(encoder, latents).cpu());

  // A tile may reach beyond frames that are smaller than it.
  const auto [y, x] = tiles.corners[place.tile];
  const int64_t first_y = std::max<int64_t>(0, tiles.frame.y - y);
  const int64_t first_x = std::max<int64_t>(0, tiles.frame.x - x);
  const int64_t left = x + first_x - tiles.frame.x, top = y + first_y - tiles.frame.y;
  const Tensor seen = map.narrow(0, first_y, std::min(config.height - first_y, height - top))
                          .narrow(1, first_x, std::min(config.width - first_x, width - left));
  return {left, top, seen / seen.max().clamp_min(1e-30)};
}

}  // namespace perceiver
