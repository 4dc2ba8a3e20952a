// Flow of frames of any size from a model of one size (paper, App. H): tiles that overlap, and a
// weighted mean of what each says of a pixel.
#pragma once

#include <vector>

#include "perceiver/tasks/optical_flow/model.h"

namespace perceiver {

// Even: the fewest tiles that overlap enough, the same distance apart, as the paper says.
// Notebook: as the released notebook places them, in steps as long as the overlap allows, the last
// one moved back to the edge.
enum class TilePlacement { kEven, kNotebook };
constexpr std::array<std::string_view, 2> enum_words(TilePlacement) { return {"even", "notebook"}; }

// Where tiles begin along an axis of `size` pixels. They cover it, none twice, and neighbours share
// at least `overlap` pixels (half a tile where that is less). Frames up to the tile's size: {0}.
std::vector<int64_t> tile_starts(int64_t size, int64_t tile, TilePlacement placement,
                                 int64_t overlap = OpticalFlowConfig().tile_overlap);

// The upper left corner of a tile.
struct TileCorner {
  int64_t y, x;
  bool operator==(const TileCorner&) const = default;
};

// Row by row, for frames of height x width.
std::vector<TileCorner> tile_corners(const OpticalFlowConfig& config, int64_t height, int64_t width,
                                     TilePlacement placement);

// Frames uint8 [2, 3, H, W] where tiles can be cut out of them.
struct FrameTiles {
  Tensor padded;     // to a tile's size at least
  TileCorner frame;  // where the frames themselves begin in it
  std::vector<TileCorner> corners;
};
FrameTiles cut_into_tiles(const OpticalFlowConfig& config, const Tensor& frames,
                          TilePlacement placement);

// Where they begin, y and x of each in turn.
std::vector<int64_t> tile_starts(const FrameTiles& tiles);

// Tiles [begin, end) as the model takes them: [tiles, 2, 3, h, w] in [-1, 1].
Tensor tile_values(const OpticalFlowConfig& config, const FrameTiles& tiles, int64_t begin,
                   int64_t end, const at::TensorOptions& place);

// How much each pixel of a tile counts: its distance to the nearest edge, from 1 -> [H, W], double.
Tensor tile_weights(int64_t height, int64_t width, at::Device device = at::kCPU);

// The weighted mean of tiles. It is kept in doubles, where a float times a weight is exact, and so
// is a sum of equal ones: where all tiles agree, the mean is their very value.
class FlowMosaic {
 public:
  FlowMosaic(int64_t height, int64_t width, at::Device device = at::kCPU);

  void add(const Tensor& flow, TileCorner corner);  // [2, h, w], all of it inside the frame
  Tensor flow() const;                              // double [2, H, W]

 private:
  Tensor sum_, weights_;  // [2, H, W], [H, W]
};

// How many tiles of a pass fit into so much memory of the device, at most 16; fails when not even
// one does. On the CPU always one: there more at once are no faster.
int64_t tiles_at_once(const OpticalFlowImpl& model, at::Device device, int64_t free_bytes);

struct Tiling {
  TilePlacement placement = TilePlacement::kEven;
  int64_t tiles_at_once = 1;
};

// frames uint8 [2, 3, H, W] -> flow float [2, H, W], in pixels whatever the model's semantics, on
// the CPU. The model may be on any device and of any dtype.
//
// Frames smaller than a tile are put into its middle and their edges repeated outwards. A margin
// of one colour would put a sharp edge around both frames that does not move, and a mirrored one
// moves the wrong way; a repeated edge moves as the picture beside it does, or has nothing to see.
Tensor tiled_flow(OpticalFlowImpl& model, const Tensor& frames, const Tiling& tiling = {});

}  // namespace perceiver
