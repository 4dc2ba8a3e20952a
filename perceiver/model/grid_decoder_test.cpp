#include "perceiver/model/grid_decoder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/attention/attention.h"

namespace perceiver {
namespace {

class GridDecoderTest : public testing::Test {
 protected:
  GridDecoderTest() {
    at::manual_seed(2);
    at::NoGradGuard no_grad;
    for (Tensor& p : decoder->parameters()) {
      if (p.dim() == 1) p.add_(at::randn_like(p), 0.5);
    }
    decoder->eval();
  }

  Tensor by(const char* kernel) {
    at::NoGradGuard no_grad;
    const AttentionKernelScope scope(kernel);
    return grid.range(latents, 10, 90, Spacing::kSubsampled);
  }

  const PositionQuery positions{{4, 5, 6}, {4, 5, 6}, 3};  // 21 channels
  Decoder decoder{DecoderChannels{.queries = 60, .latents = 24, .outputs = 12},
                  DecoderConfig{.cross_attend = {.num_heads = 1, .query_residual = false}}};
  Tensor filling = at::randn({39});
  Linear head{12, 3};
  GridDecoder grid{decoder, positions, filling, head};
  Tensor latents = at::randn({2, 30, 24});
};

TEST_F(GridDecoderTest, GivesWhatDecoderAndHeadMakeOfFilledQueries) {
  at::NoGradGuard no_grad;
  const Tensor features = positions.at(2, at::arange(10, 90), Spacing::kSubsampled);
  const Tensor queries = at::cat({features, filling.expand({2, 80, -1})}, -1);
  const Tensor expected = head(decoder(latents, queries));
  EXPECT_LE(largest_difference(by("auto"), expected), 1e-5);
  EXPECT_GT(largest_difference(by("auto"), by("reference")), 0.0)
      << "the narrowed form was not used";
  EXPECT_LE(largest_difference(by("reference"), expected), 1e-5);
  EXPECT_EQ(largest_difference(by("check"), by("auto")), 0.0);
  const Tensor asked = at::tensor({50, 12, 12});
  EXPECT_LE(largest_difference(grid.at(latents, asked, Spacing::kSubsampled),
                               expected.index_select(1, asked - 10)),
            1e-5);
}

TEST_F(GridDecoderTest, SeesChangedParameters) {
  std::vector<Tensor> parameters = {filling, head->weight, head->bias};
  for (const Tensor& p : decoder->parameters()) parameters.push_back(p);
  for (Tensor& p : parameters) {
    const Tensor before = by("auto");
    {
      at::NoGradGuard no_grad;
      p.add_(at::randn_like(p), 0.02);
    }
    EXPECT_LE(largest_difference(by("auto"), by("reference")), 2e-5);
    EXPECT_GT(largest_difference(before, by("auto")), 0.0);
  }
}

TEST_F(GridDecoderTest, HasGradientsWhereTheyAreWanted) {
  filling.requires_grad_(true);
  grid.at(latents, at::arange(7), Spacing::kInclusive).sum().backward();
  EXPECT_GT(filling.grad().abs().sum().item<double>(), 0.0);
  EXPECT_GT(head->weight.grad().abs().sum().item<double>(), 0.0);
}

TEST_F(GridDecoderTest, IsCountedAsTheModuleIs) {
  int64_t queries = 0, channels = 0;
  const AttentionCounter counter([&](const AttentionCase& c, std::string_view) {
    queries += c.queries;
    channels = c.qk_channels;
  });
  by("auto");
  EXPECT_EQ(queries, 80);
  EXPECT_EQ(channels, 24);
}

}  // namespace
}  // namespace perceiver
