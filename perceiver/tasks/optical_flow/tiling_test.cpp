#include "perceiver/tasks/optical_flow/tiling.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/optical_flow/tiny_test.h"

namespace perceiver {
namespace {

using Starts = std::vector<int64_t>;

// A model whose flow, which starts at zero, depends on its input.
OpticalFlow awake(const OpticalFlowConfig& config) {
  at::manual_seed(0);
  const at::NoGradGuard no_grad;
  OpticalFlow model(config);
  for (auto& p : model->named_parameters()) {
    if (p.value().dim() == 2 && p.value().size(0) == 2) p.value().normal_(0, 100);
  }
  model->eval();
  return model;
}

Tensor random_frames(int64_t height, int64_t width) {
  return at::randint(0, 256, {2, 3, height, width}, at::kByte);
}

TEST(TileStarts, SintelAndKittiAreSixEvenlySpacedTiles) {
  const TilePlacement even = TilePlacement::kEven;
  EXPECT_EQ(tile_starts(436, 368, even), (Starts{0, 68}));
  EXPECT_EQ(tile_starts(1024, 496, even), (Starts{0, 264, 528}));
  EXPECT_EQ(tile_starts(375, 368, even), (Starts{0, 7}));
  EXPECT_EQ(tile_starts(1242, 496, even), (Starts{0, 373, 746}));
  EXPECT_EQ(tile_corners({}, 436, 1024, even).size(), 6);
  EXPECT_EQ(tile_corners({}, 375, 1242, even).size(), 6);
}

TEST(TileStarts, NotebookPlacesThemAsReleased) {
  const TilePlacement notebook = TilePlacement::kNotebook;
  EXPECT_EQ(tile_starts(436, 368, notebook), (Starts{0, 68}));
  EXPECT_EQ(tile_starts(1024, 496, notebook), (Starts{0, 476, 528}));
  EXPECT_EQ(tile_starts(375, 368, notebook), (Starts{0, 7}));
  EXPECT_EQ(tile_starts(1242, 496, notebook), (Starts{0, 476, 746}));
  EXPECT_EQ(tile_starts(716, 368, notebook), (Starts{0, 348}));  // its own has 348 twice
  EXPECT_EQ(tile_starts(700, 368, notebook), (Starts{0, 332}));  // its own fails
  EXPECT_EQ(tile_starts(368, 368, notebook), (Starts{0}));
}

TEST(TileStarts, OverlapByAsMuchAsIsAskedButHalfATileAtMost) {
  const TilePlacement even = TilePlacement::kEven;
  EXPECT_EQ(tile_starts(436, 128, even), (Starts{0, 102, 205, 308}));
  EXPECT_EQ(tile_starts(436, 128, even, 64), (Starts{0, 61, 123, 184, 246, 308}));
  EXPECT_EQ(tile_starts(436, 128, even, 100), tile_starts(436, 128, even, 64));
  OpticalFlowConfig config = tiny_flow();
  EXPECT_EQ(tile_corners(config, 16, 60, even).size(), 5);
  config.tile_overlap = 5;
  EXPECT_EQ(tile_corners(config, 16, 60, even).size(), 4);
}

TEST(TileStarts, CoverEveryPixelAndNoTileComesTwice) {
  for (const TilePlacement placement : {TilePlacement::kEven, TilePlacement::kNotebook}) {
    for (const int64_t tile : {4, 5, 16, 41, 64}) {
      for (int64_t size = 1; size <= 300; ++size) {
        const Starts starts = tile_starts(size, tile, placement);
        EXPECT_EQ(std::set<int64_t>(starts.begin(), starts.end()).size(), starts.size());
        std::vector<bool> covered(std::max(size, tile));
        for (const int64_t start : starts) {
          ASSERT_GE(start, 0);
          ASSERT_LE(start + tile, static_cast<int64_t>(covered.size()));
          std::fill_n(covered.begin() + start, tile, true);
        }
        EXPECT_TRUE(std::all_of(covered.begin(), covered.end(), std::identity()))
            << size << " in tiles of " << tile;
      }
    }
  }
}

TEST(TileStarts, EvenOnesAreAsFewAsTheOverlapAllows) {
  for (int64_t size = 65; size <= 500; ++size) {
    const Starts starts = tile_starts(size, 64, TilePlacement::kEven);
    const auto count = static_cast<int64_t>(starts.size());
    EXPECT_LT((count - 1) * 64 - (count - 2) * 20, size) << "one tile less would do";
    for (int64_t i = 1; i < count; ++i) {
      EXPECT_GE(starts[i - 1] + 64 - starts[i], 20) << size;
      const int64_t step = starts[i] - starts[i - 1], exact = (size - 64) / (count - 1);
      EXPECT_TRUE(step == exact || step == exact + 1) << size;
    }
  }
}

TEST(TileWeights, CountTheDistanceToTheNearestEdgeFromOne) {
  const Tensor expected = at::tensor({1, 1, 1, 1, 1, 1,  //
                                      1, 2, 2, 2, 2, 1,  //
                                      1, 2, 3, 3, 2, 1,  //
                                      1, 2, 2, 2, 2, 1,  //
                                      1, 1, 1, 1, 1, 1},
                                     at::kDouble)
                              .view({5, 6});
  EXPECT_TRUE(tile_weights(5, 6).equal(expected));
}

TEST(FlowMosaic, WeighsTilesByTheirDistanceToTheEdge) {
  FlowMosaic mosaic(1, 6);
  mosaic.add(at::full({2, 1, 4}, 1.0f), {0, 0});
  mosaic.add(at::full({2, 1, 4}, 4.0f), {0, 2});
  const Tensor rows = mosaic.flow()[0][0];  // a single row: every weight is 1
  EXPECT_TRUE(rows.equal(at::tensor({1.0, 1.0, 2.5, 2.5, 4.0, 4.0}, at::kDouble)));

  FlowMosaic square(4, 6);
  square.add(at::full({2, 4, 4}, 0.0f), {0, 0});
  square.add(at::full({2, 4, 4}, 3.0f), {0, 2});
  EXPECT_EQ(square.flow()[1][1][2].item<double>(), 1.0);  // weights 2 and 1
  EXPECT_EQ(square.flow()[1][1][3].item<double>(), 2.0);  // weights 1 and 2
}

TEST(FlowMosaic, OfEqualValuesIsThatValueBitForBit) {
  at::manual_seed(0);
  for (int i = 0; i < 20; ++i) {
    const Tensor value = at::randn({2, 1, 1}) * 1000;
    FlowMosaic mosaic(70, 90);
    for (const TileCorner corner :
         {TileCorner{0, 0}, {0, 33}, {0, 41}, {20, 0}, {20, 33}, {20, 41}})
      mosaic.add(value.expand({2, 50, 49}), corner);
    EXPECT_TRUE(mosaic.flow().to(at::kFloat).equal(value.expand({2, 70, 90})));
  }
}

TEST(TiledFlow, OfAConstantModelIsThatConstantAtEverySize) {
  const at::NoGradGuard no_grad;
  OpticalFlow model(tiny_flow());
  model->eval();
  for (auto& p : model->named_parameters()) {
    if (p.value().dim() == 1 && p.value().size(0) == 2) p.value().copy_(at::tensor({7.3f, -41.9f}));
  }
  const Tensor constant = model->forward(at::zeros({1, 2, 3, 16, 20}))[0].select(2, 0).select(1, 0);
  EXPECT_NEAR(constant[1].item<double>(), -41.9 / 5, 1e-5);  // x 20 / 100
  for (const auto& [height, width] :
       {std::pair{16, 20}, {3, 5}, {16, 7}, {5, 61}, {40, 20}, {53, 47}}) {
    for (const TilePlacement placement : {TilePlacement::kEven, TilePlacement::kNotebook}) {
      const Tensor flow =
          tiled_flow(*model, random_frames(height, width), {.placement = placement});
      ASSERT_EQ(flow.sizes(), (std::vector<int64_t>{2, height, width}));
      EXPECT_TRUE(flow.equal(constant.view({2, 1, 1}).expand({2, height, width})));
    }
  }
}

class TiledFlowVariants : public testing::TestWithParam<std::tuple<FlowPatch, bool>> {
 protected:
  OpticalFlowConfig config = tiny_flow(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(TiledFlowVariants, OneTileIsTheModelsOwnFlow) {
  const at::NoGradGuard no_grad;
  OpticalFlow model = awake(config);
  const Tensor frames = random_frames(16, 20);
  const Tensor flow = model(frames.unsqueeze(0).to(at::kFloat) / 255 * 2 - 1)[0];
  EXPECT_GT(flow.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(tiled_flow(*model, frames).equal(flow));
}

TEST_P(TiledFlowVariants, NumberOfTilesAtOnceDoesNotChangeTheFlow) {
  OpticalFlow model = awake(config);
  const Tensor frames = random_frames(20, 45);  // 2 x 4 tiles
  const Tensor one = tiled_flow(*model, frames, {.tiles_at_once = 1});
  for (const int64_t at_once : {3, 8, 100}) {
    const Tensor several = tiled_flow(*model, frames, {.tiles_at_once = at_once});
    EXPECT_TRUE(at::allclose(several, one, 1e-4, 1e-5));
  }
}

TEST_P(TiledFlowVariants, SmallFramesAreTheMiddleOfATileWithRepeatedEdges) {
  OpticalFlow model = awake(config);
  const Tensor frames = random_frames(11, 14);
  const Tensor padded =
      at::replication_pad2d(frames.to(at::kFloat), {3, 3, 2, 3}).to(at::kByte);  // [2, 3, 16, 20]
  const Tensor inside = tiled_flow(*model, padded).narrow(1, 2, 11).narrow(2, 3, 14);
  EXPECT_TRUE(tiled_flow(*model, frames).equal(inside));
}

TEST_P(TiledFlowVariants, HuggingFacesFlowIsInPixelsToo) {
  OpticalFlow model = awake(config);
  config.semantics.flow_in_pixels = false;
  OpticalFlow scaled = awake(config);
  const Tensor frames = random_frames(20, 30);
  EXPECT_TRUE(at::allclose(tiled_flow(*scaled, frames), tiled_flow(*model, frames), 1e-4, 1e-5));
}

TEST_P(TiledFlowVariants, OnAGpuTheyAreTheCpus) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  OpticalFlow model = awake(config);
  for (const auto& [height, width] : {std::pair{20, 45}, {11, 14}}) {
    const Tensor frames = random_frames(height, width);
    model->to(at::kCPU);
    const Tensor expected = tiled_flow(*model, frames);
    model->to(at::kCUDA);
    const Tensor flow = tiled_flow(*model, frames, {.tiles_at_once = 3});
    EXPECT_TRUE(flow.is_cpu());
    EXPECT_TRUE(at::allclose(flow, expected, 1e-3, 1e-4 * expected.abs().max().item<double>()));
  }
}

// What the model says of each tile in its own dtype, laid together by the definition: a weighted
// mean in doubles.
TEST_P(TiledFlowVariants, InBfloat16AreTheWeightedMeanOfTheModelsOwnTiles) {
  const at::NoGradGuard no_grad;
  OpticalFlow model = awake(config);
  model->to(at::kBFloat16);
  const Tensor frames = random_frames(20, 45);  // 2 x 4 tiles
  Tensor sum = at::zeros({2, 20, 45}, at::kDouble), weights = at::zeros({20, 45}, at::kDouble);
  for (const TileCorner corner : tile_corners(config, 20, 45, TilePlacement::kEven)) {
    const auto inside = [&](const Tensor& x) {
      return x.narrow(-2, corner.y, 16).narrow(-1, corner.x, 20);
    };
    const Tensor values = inside(frames).unsqueeze(0).to(at::kFloat) / 255 * 2 - 1;
    const Tensor flow = model(values.to(at::kBFloat16))[0].to(at::kDouble);
    const Tensor weight = tile_weights(16, 20);
    inside(sum).add_(flow * weight);
    inside(weights).add_(weight);
  }
  const Tensor flow = tiled_flow(*model, frames);
  EXPECT_EQ(flow.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(flow, (sum / weights).to(at::kFloat), 1e-6, 1e-6));
}

// How far bfloat16 is from float32 is measured on the model alone: a mean of tiles is no further.
TEST_P(TiledFlowVariants, InBfloat16AreNoFurtherFromFloat32ThanTheModelIs) {
  const at::NoGradGuard no_grad;
  OpticalFlow exact = awake(config), narrow = awake(config);
  narrow->to(at::kBFloat16);
  const Tensor frames = random_frames(20, 45);
  double spread = 0.0;
  for (const TileCorner corner : tile_corners(config, 20, 45, TilePlacement::kEven)) {
    const Tensor tile = frames.narrow(2, corner.y, 16).narrow(3, corner.x, 20);
    const Tensor values = tile.unsqueeze(0).to(at::kFloat) / 255 * 2 - 1;
    const Tensor apart = narrow(values.to(at::kBFloat16)).to(at::kFloat) - exact(values);
    spread = std::max(spread, apart.abs().max().item<double>());
  }
  const Tensor apart = tiled_flow(*narrow, frames) - tiled_flow(*exact, frames);
  EXPECT_GT(spread, 0.0);
  EXPECT_LE(apart.abs().max().item<double>(), spread * (1 + 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Variants, TiledFlowVariants,
                         testing::Combine(testing::Values(FlowPatch::k3x3, FlowPatch::k1x1,
                                                          FlowPatch::kConv),
                                          testing::Bool()));

// The released tile, 182,528 pixels of 26 channels.
OpticalFlow wide_model(int64_t num_latents = 8) {
  OpticalFlowConfig config = tiny_flow();
  config.height = 368;
  config.width = 496;
  config.encoder.num_latents = num_latents;
  return OpticalFlow(config);
}

TEST(TilesAtOnce, AreAsManyAsFitOnAGpuAndOneOnTheCpu) {
  OpticalFlow model = wide_model();
  const auto gibibytes = [](int64_t count) { return count << 30; };
  EXPECT_EQ(tiles_at_once(*model, at::kCPU, gibibytes(100)), 1);
  // 89 MiB a tile: a GPU decodes all pixels at once, of which it holds 2 x 16 channels of queries
  // and results, 3 x 26 of the queries on their way and 2 of outputs, float32: 78 MiB. In float32
  // no kernel streams, so that there are 8 scores and their softmax for each: 11 MiB. Four fifths
  // are filled.
  EXPECT_EQ(tiles_at_once(*model, at::kCUDA, gibibytes(1)), 9);
  EXPECT_EQ(tiles_at_once(*model, at::kCUDA, gibibytes(100)), 16);
}

// What computes attention in blocks of queries holds up to 2^29 scores of a pass, and as many of
// their softmax: 4 GiB in float32.
TEST(TilesAtOnce, CountTheScoresThatAreHeld) {
  OpticalFlow model = wide_model(/*num_latents=*/2048);
  // 2048 x 182,528 scores are fewer, twice 1,426 MiB; 78 MiB of queries and such, as above, and
  // less than a mebibyte of latents.
  EXPECT_EQ(error_of([&] { tiles_at_once(*model, at::kCUDA, int64_t{2} << 30); }),
            "too little memory: a tile of 496 x 368 needs about 2930 MiB, 2048 MiB are free");
  EXPECT_EQ(tiles_at_once(*model, at::kCUDA, int64_t{3} << 30), 1);
  // Two or more hold the 4 GiB: eight tenths of 6 GiB leave 819 MiB for others' arrays.
  EXPECT_EQ(tiles_at_once(*model, at::kCUDA, int64_t{6} << 30), 10);
}

TEST(TilesAtOnce, OneThatDoesNotFitIsAnError) {
  EXPECT_EQ(error_of([&] { tiles_at_once(*wide_model(), at::kCPU, int64_t{20} << 20); }),
            "too little memory: a tile of 496 x 368 needs about 122 MiB, 20 MiB are free");
}

}  // namespace
}  // namespace perceiver
