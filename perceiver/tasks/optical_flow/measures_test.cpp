#include "perceiver/tasks/optical_flow/measures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/media/lettering.h"

namespace perceiver {
namespace {

// One row of vectors -> [2, 1, W]
Tensor row(const std::vector<float>& x, const std::vector<float>& y) {
  return at::stack({at::tensor(x), at::tensor(y)}).unsqueeze(1);
}

FlowField known(const Tensor& flow) {
  return {flow, at::ones({flow.size(1), flow.size(2)}, at::kBool)};
}

TEST(FlowMeasures, OfAZeroFlowAreTheMeanLength) {
  at::manual_seed(0);
  const FlowField truth = known(at::randn({2, 9, 7}) * 10);
  const FlowMeasures m = measure_flow(at::zeros({2, 9, 7}), truth);
  EXPECT_EQ(m.num_pixels, 63);
  EXPECT_NEAR(m.epe, truth.flow.norm(2, 0).mean().item<double>(), 1e-5);
}

TEST(FlowMeasures, CountErrorsAboveEachLimit) {
  // Errors of 0, 1, 1.5, 5 (3, 4), 8 and 8, the last on a vector of 200.
  const Tensor truth = row({0, 0, 0, 0, 0, 200}, {0, 0, 0, 0, 0, 0});
  const FlowMeasures m =
      measure_flow(row({0, 1, 1.5, 3, 8, 208}, {0, 0, 0, 4, 0, 0}), known(truth));
  EXPECT_NEAR(m.epe, (0 + 1 + 1.5 + 5 + 8 + 8) / 6, 1e-12);
  EXPECT_NEAR(m.above_1, 4.0 / 6, 1e-12);
  EXPECT_NEAR(m.above_3, 3.0 / 6, 1e-12);
  EXPECT_NEAR(m.above_5, 2.0 / 6, 1e-12);
  EXPECT_NEAR(m.fl_all, 2.0 / 6, 1e-12);  // 8 px are 4 % of 200
}

// Two pictures, of 100 and of 300 known pixels.
const FlowMeasures kSmall{.num_pixels = 100, .epe = 2.0, .above_3 = 0.5, .fl_all = 0.4};
const FlowMeasures kLarge{.num_pixels = 300, .epe = 4.0, .above_3 = 0.1, .fl_all = 0.2};

std::map<std::string, double> figures_of(
    const std::vector<std::pair<FlowMeasures, FlowSet>>& pictures) {
  Measures all;
  for (const auto& [picture, set] : pictures) add_picture(all, picture, set);
  return flow_figures(all);
}

TEST(FlowFigures, EndPointErrorOfKittiIsTheMeanOverPicturesAndFlAllOverPixels) {
  const auto figures = figures_of({{kSmall, FlowSet::kKitti}, {kLarge, FlowSet::kKitti}});
  EXPECT_NEAR(figures.at("epe"), (2.0 + 4.0) / 2, 1e-12);
  EXPECT_NEAR(figures.at("epe_kitti"), (2.0 + 4.0) / 2, 1e-12);
  EXPECT_NEAR(figures.at("fl_all"), (40.0 + 60.0) / 400, 1e-12);
  const auto others = figures_of({{kSmall, FlowSet::kOther}, {kLarge, FlowSet::kOther}});
  EXPECT_NEAR(others.at("epe"), (200.0 + 1200.0) / 400, 1e-12);
  EXPECT_EQ(others.size(), 5u);
}

TEST(FlowFigures, SintelsPassesAreReportedApart) {
  const auto figures = figures_of({{kSmall, FlowSet::kSintelClean},
                                   {kSmall, FlowSet::kSintelFinal},
                                   {kLarge, FlowSet::kSintelFinal},
                                   {{}, FlowSet::kSintelFinal}});  // nothing is known of it
  EXPECT_NEAR(figures.at("epe_clean"), 2.0, 1e-12);
  EXPECT_NEAR(figures.at("epe_final"), (200.0 + 1200.0) / 400, 1e-12);
  EXPECT_NEAR(figures.at("epe"), (2.0 + 2 * 3.5) / 3, 1e-12);
  EXPECT_FALSE(figures.contains("epe_kitti"));
}

TEST(FlowMeasures, LeaveOutWhatIsUnknown) {
  FlowField truth = known(row({1, 1e10, NAN}, {0, 0, 0}));
  truth.valid[0][1] = false;
  truth.valid[0][2] = false;
  const FlowMeasures m = measure_flow(at::zeros({2, 1, 3}), truth);
  EXPECT_EQ(m.num_pixels, 1);
  EXPECT_EQ(m.epe, 1.0);
  truth.valid.fill_(false);
  EXPECT_EQ(measure_flow(at::zeros({2, 1, 3}), truth).num_pixels, 0);
  EXPECT_EQ(measure_flow(at::zeros({2, 1, 3}), truth).epe, 0.0);
}

TEST(FlowMeasures, PooledCountEachPixelAlike) {
  const Tensor a = at::full({2, 1, 2}, 1.0f), b = at::full({2, 1, 6}, 5.0f);
  const FlowMeasures each[] = {measure_flow(at::zeros({2, 1, 2}), known(a)),
                               measure_flow(at::zeros({2, 1, 6}), known(b)),
                               {}};
  const FlowMeasures together = measure_flow(at::zeros({2, 1, 8}), known(at::cat({a, b}, 2)));
  const FlowMeasures all = pooled(each);
  EXPECT_EQ(all.num_pixels, together.num_pixels);
  EXPECT_NEAR(all.epe, together.epe, 1e-12);
  EXPECT_NEAR(all.above_3, together.above_3, 1e-12);
  EXPECT_NEAR(all.fl_all, together.fl_all, 1e-12);
}

TEST(FlowMeasures, TruthOfAnotherSizeIsAnError) {
  EXPECT_EQ(error_of([] {
              check_same_size(known(at::zeros({2, 4, 5})), "gt.flo", 480, 640);
            }),
            "gt.flo is 5 x 4, expected 640 x 480: ground truth must have the frames' size");
  check_same_size(known(at::zeros({2, 4, 5})), "gt.flo", 4, 5);
}

TEST(ErrorPicture, IsBrightestWhereTheErrorIsLargestAndGreyWhereUnknown) {
  FlowField truth = known(row({0, 3, 50, 1e10}, {0, 0, 0, 0}));
  truth.valid[0][3] = false;
  const Tensor picture = error_picture(at::zeros({2, 1, 4}), truth);
  ASSERT_EQ(picture.sizes(), (std::vector<int64_t>{3, 1, 4}));
  const Tensor brightness = picture.to(at::kInt).sum(0)[0];
  EXPECT_LT(brightness[0].item<int>(), brightness[1].item<int>());
  EXPECT_LT(brightness[1].item<int>(), brightness[2].item<int>());
  EXPECT_TRUE(picture.select(2, 3).eq(128).all().item<bool>());
}

TEST(ErrorPicture, HasAScaleInPixelsWhereThereIsRoom) {
  Tensor flow = at::zeros({2, 30, 200});
  flow[0][0][0] = 8.0;
  const Tensor picture = error_picture(flow, known(at::zeros({2, 30, 200})));
  ASSERT_EQ(picture.sizes(), (std::vector<int64_t>{3, 30 + 8 + 11, 200}));
  const Tensor bar = picture.narrow(1, 30, 8), numbers = picture.narrow(1, 38, 11);
  EXPECT_TRUE(bar.select(2, 0).equal(picture.select(2, 199).narrow(1, 0, 8)));  // no error
  EXPECT_TRUE(bar.select(2, 199).select(1, 0).equal(picture.select(2, 0).select(1, 0)));
  const Tensor largest = lettering("8 px"),
               middle = lettering("2");  // log1p(2) is half of log1p(8)
  const auto ink = [&](int64_t right, const Tensor& like) {
    return numbers[0].narrow(0, 2, 7).narrow(1, right - 2 - like.size(1), like.size(1)).eq(0);
  };
  EXPECT_TRUE(ink(200, largest).equal(largest));
  EXPECT_TRUE(ink(112, middle).equal(middle));
}

TEST(Follow, TakesValuesBetweenTheFourNeighbours) {
  const Tensor values = at::arange(12, at::kFloat).view({1, 3, 4});  // 4 y + x
  Tensor flow = at::zeros({2, 3, 4});
  flow[0].fill_(0.5);
  flow[1].fill_(0.25);
  const auto [moved, inside] = follow(values, flow);
  for (int64_t y = 0; y < 3; ++y) {
    for (int64_t x = 0; x < 4; ++x) {
      EXPECT_EQ(inside[y][x].item<bool>(), x < 3 && y < 2);
      if (!inside[y][x].item<bool>()) continue;
      EXPECT_EQ(moved[0][y][x].item<double>(), 4 * (y + 0.25) + x + 0.5);
    }
  }
}

TEST(Consistent, IsWhatComesBackToWhereItBegan) {
  const Tensor forward = at::full({2, 8, 8}, 2.0f);
  const Tensor there = consistent(forward, -forward);
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 8; ++x) {
      EXPECT_EQ(there[y][x].item<bool>(), x < 6 && y < 6) << "two pixels on, outside the frame";
    }
  }
  EXPECT_FALSE(consistent(forward, forward).any().item<bool>());
}

TEST(Consistent, AllowsHalfASquaredPixelAndAPercent) {
  Tensor forward = at::zeros({2, 3, 3}), backward = at::zeros({2, 3, 3});
  backward[0].fill_(0.7);  // 0.49 < 0.01 * 0.49 + 0.5
  EXPECT_TRUE(consistent(forward, backward).all().item<bool>());
  backward[0].fill_(0.72);  // 0.5184 > 0.01 * 0.5184 + 0.5
  EXPECT_FALSE(consistent(forward, backward).any().item<bool>());
}

}  // namespace
}  // namespace perceiver
