#include <algorithm>

#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/cuda/tma_map.h"
#include "perceiver/kernels/linear/gemm_sm90.h"
#include "perceiver/kernels/linear/gemm_sm90_kernel.h"

namespace perceiver {
namespace hopper {
namespace {

int pieces(int64_t whole, int piece) { return static_cast<int>((whole + piece - 1) / piece); }

struct Rows {
  const void* data;
  int64_t rows, channels, stride;
};

cudaError_t make_map(bool bfloat16, const Rows& x, int box_channels, int box_rows,
                     CUtensorMap* map) {
  return make_copy_map<3>({.bfloat16 = bfloat16,
                           .data = x.data,
                           .sizes = {x.channels, x.rows, 1},
                           .strides = {x.stride, 0},
                           .box = {box_channels, box_rows, 1}},
                          map);
}

template <class Tile>
cudaError_t make_maps(const HopperProduct& p, ProductArguments* args) {
  const auto staged = [&](const Rows& x, int rows, CUtensorMap* map) {
    return make_map(p.bfloat16, x, kStageChannels, rows, map);
  };
  const auto finished = [&](const Rows& x, CUtensorMap* map) {
    return make_map(p.bfloat16, x, Tile::kBoxColumns, 64, map);
  };
  cudaError_t error = staged({p.x, p.rows, p.in, p.x_stride}, Tile::kRows, &args->x);
  if (error != cudaSuccess) return error;
  error = staged({p.weight, p.out, p.in, p.in}, Tile::kColumns, &args->weight);
  if (error != cudaSuccess) return error;
  error = finished({p.result, p.rows, p.out, p.result_stride}, &args->result);
  if (error != cudaSuccess || p.residual == nullptr) return error;
  return finished({p.residual, p.rows, p.out, p.residual_stride}, &args->residual);
}

template <class Tile, Finish kFinish>
cudaError_t start(const HopperProduct& p, cudaStream_t stream) {
  ProductArguments args{};
  const cudaError_t error = make_maps<Tile>(p, &args);
  if (error != cudaSuccess) return error;
  args.p = p;
  args.row_tiles = pieces(p.rows, Tile::kRows);
  args.column_tiles = pieces(p.out, Tile::kColumns);
  args.steps = pieces(p.in, kStageChannels);
  const int tiles = args.row_tiles * args.column_tiles;
  const int blocks = std::min(tiles, device_attribute(cudaDevAttrMultiProcessorCount));
  return start_early(product_kernel<Tile, kFinish>,
                     {dim3(blocks), dim3(Tile::kThreads), Tile::kSharedBytes, stream}, args);
}

template <class Tile>
cudaError_t start(const HopperProduct& p, cudaStream_t stream) {
  if (p.residual) return start<Tile, Finish::kAdded>(p, stream);
  return p.gelu ? start<Tile, Finish::kNormedGelu>(p, stream)
                : start<Tile, Finish::kNormed>(p, stream);
}

template <typename T>
cudaError_t start(const HopperProduct& p, ProductTiles tiles, cudaStream_t stream) {
  switch (tiles) {
    case ProductTiles::k64x40:
      return start<ProductTile<T, 64, 40, 15>>(p, stream);
    case ProductTiles::k64x64:
      return start<ProductTile<T, 64, 64, 12>>(p, stream);
    case ProductTiles::k128x64:
      return start<ProductTile<T, 128, 64, 8>>(p, stream);
    case ProductTiles::k128x192:
      return start<ProductTile<T, 128, 192, 4>>(p, stream);
  }
  return cudaErrorInvalidValue;
}

// Microseconds on an H200, about, as bench/cuda_product_bench.cu has measured them: of a stage of a
// tile, of a tile's end, and of all that is around.
struct TileTimes {
  ProductTiles tiles;
  int rows, columns;
  double stage, finish, around;
};
constexpr TileTimes kTimes[] = {
    {ProductTiles::k64x40, 64, 40, 0.15, 0.9, 2.0},
    {ProductTiles::k64x64, 64, 64, 0.17, 1.0, 2.0},
    {ProductTiles::k128x64, 128, 64, 0.21, 1.2, 2.1},
    {ProductTiles::k128x192, 128, 192, 0.5, 2.5, 2.5},
};

double time_of(const TileTimes& t, int64_t rows, int64_t in, int64_t out) {
  constexpr int64_t kProcessors = 132;
  const int64_t tiles = int64_t{pieces(rows, t.rows)} * pieces(out, t.columns);
  const auto rounds = static_cast<double>((tiles + kProcessors - 1) / kProcessors);
  return rounds * (pieces(in, kStageChannels) * t.stage + t.finish) + t.around;
}

}  // namespace
}  // namespace hopper

ProductTiles quickest_tiles(int64_t rows, int64_t in, int64_t out) {
  const auto time = [&](const hopper::TileTimes& t) { return hopper::time_of(t, rows, in, out); };
  return std::ranges::min_element(hopper::kTimes, {}, time)->tiles;
}

int columns_of(ProductTiles tiles) {
  return std::ranges::find(hopper::kTimes, tiles, &hopper::TileTimes::tiles)->columns;
}

cudaError_t product_hopper(const HopperProduct& p, ProductTiles tiles, cudaStream_t stream) {
  return p.bfloat16 ? hopper::start<__nv_bfloat16>(p, tiles, stream)
                    : hopper::start<__half>(p, tiles, stream);
}

}  // namespace perceiver
