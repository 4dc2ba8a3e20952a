#include "perceiver/tasks/optical_flow/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error.h"
#include "perceiver/tasks/on_gpu_test.h"
#include "perceiver/tasks/optical_flow/tiny_test.h"

namespace perceiver {
namespace {

// Random values where the flow's layers start at zero.
void wake(OpticalFlow& model) {
  for (auto& p : model->named_parameters()) {
    if (p.value().dim() == 2 && p.value().size(0) == 2) p.value().normal_();
  }
}

class OpticalFlowTest : public testing::TestWithParam<std::tuple<FlowPatch, bool>> {
 protected:
  void SetUp() override { at::manual_seed(0); }
  at::NoGradGuard no_grad;
  OpticalFlowConfig config = tiny_flow(std::get<0>(GetParam()), std::get<1>(GetParam()));
  Tensor frames = at::rand({2, 2, 3, 16, 20}) * 2 - 1;
};

TEST_P(OpticalFlowTest, FlowStartsAtZeroForEveryPixel) {
  OpticalFlow model(config);
  model->eval();
  const Tensor flow = model(frames);
  EXPECT_EQ(flow.sizes(), (std::vector<int64_t>{2, 2, 16, 20}));
  EXPECT_TRUE(flow.eq(0).all().item<bool>());
}

TEST_P(OpticalFlowTest, OnAGpuBfloat16IsAsExactAsTheModules) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const bool query_residual : {false, true}) {
    config.decoder.cross_attend.query_residual = query_residual;
    ErrorsOnAGpu errors;
    for (int64_t draw = 0; draw < ErrorsOnAGpu::kDraws; ++draw) {
      at::manual_seed(draw);
      const Tensor drawn = at::randn_like(frames).to(at::kCUDA, at::kBFloat16);
      OpticalFlow model(config);
      wake(model);
      errors.add(model, [&](at::ScalarType t) { return model(drawn.to(t)); });
    }
    errors.expect_as_exact_as_modules();
  }
}

TEST_P(OpticalFlowTest, SlicesDoNotChangeTheFlow) {
  OpticalFlow model(config);
  wake(model);
  model->eval();
  const Tensor whole = model(frames);
  config.decode_slice = 7;
  OpticalFlow sliced(config);
  sliced->eval();
  for (const auto& p : model->named_parameters())
    sliced->named_parameters()[p.key()].copy_(p.value());
  EXPECT_GT(whole.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(at::allclose(sliced(frames), whole, 1e-4, 1e-6));
}

TEST_P(OpticalFlowTest, InputsNeedNotBeStored) {
  for (const bool query_residual : {false, true}) {
    config.decoder.cross_attend.query_residual = query_residual;
    OpticalFlow model(config);
    wake(model);
    model->eval();
    const Array inputs = model->input_array(frames);
    const Tensor latents = model->encode(inputs);
    EXPECT_TRUE(at::allclose(model->encode_frames(frames), latents, 1e-4, 1e-5));
    const Tensor flow = model->decode(latents, model->query_array(inputs));
    EXPECT_TRUE(at::allclose(model(frames), flow, 1e-4, 1e-4 * flow.abs().max().item<double>()));
  }
}

TEST_P(OpticalFlowTest, QueriesAreTheFirstFramesElements) {
  OpticalFlow model(config);
  model->eval();
  const Array inputs = model->input_array(frames);
  const Tensor queries = model->query_array(inputs).materialise();
  EXPECT_EQ(queries.size(1), model->summary().outputs.index);
  EXPECT_TRUE(queries.equal(inputs.materialise().narrow(1, 0, queries.size(1))));
  if (!config.concat_frames) {  // no query knows of the second frame
    Tensor other = frames.clone();
    other.select(1, 1).normal_();
    EXPECT_TRUE(model->query_array(model->input_array(other)).materialise().equal(queries));
  }
}

TEST_P(OpticalFlowTest, HuggingFacesFlowIsATwentieth) {
  OpticalFlow model(config);
  wake(model);
  model->eval();
  config.semantics.flow_in_pixels = false;
  OpticalFlow scaled(config);
  scaled->eval();
  for (const auto& p : model->named_parameters())
    scaled->named_parameters()[p.key()].copy_(p.value());
  EXPECT_TRUE(at::allclose(scaled(frames) * 20, model(frames), 1e-4, 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Variants, OpticalFlowTest,
                         testing::Combine(testing::Values(FlowPatch::k3x3, FlowPatch::k1x1,
                                                          FlowPatch::kConv),
                                          testing::Bool()));

TEST(OpticalFlow, ElementHoldsFrameOneThenFrameTwo) {
  at::NoGradGuard no_grad;
  OpticalFlow model(tiny_flow(FlowPatch::k3x3, true));
  Tensor weight = model->named_parameters()["patch.weight"];  // [8, 54]
  weight.zero_();
  weight[0][12] = 1;       // frame 1, centre of the neighbourhood, red
  weight[1][27 + 13] = 1;  // frame 2, centre, green
  const Tensor frames = at::randn({1, 2, 3, 16, 20});
  const Tensor inputs = model->input_array(frames).materialise();
  EXPECT_TRUE(inputs.select(2, 0).equal(frames.select(1, 0).select(1, 0).flatten(1)));
  EXPECT_TRUE(inputs.select(2, 1).equal(frames.select(1, 1).select(1, 1).flatten(1)));
}

TEST(OpticalFlow, ConvolutionNeedsMultiplesOfFour) {
  OpticalFlowConfig config = tiny_flow(FlowPatch::kConv, true);
  config.height = 18;
  try {
    OpticalFlow model(config);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "height (18) and width (20) must be multiples of 4 with patch \"conv\"");
  }
}

TEST(ConvexUpsample, EqualScoresAverageTheNeighbours) {
  const Tensor coarse = at::ones({1, 2, 5, 6});
  const Tensor fine = convex_upsample(coarse, at::zeros({1, 9 * 16, 5, 6}), 4);
  ASSERT_EQ(fine.sizes(), (std::vector<int64_t>{1, 2, 20, 24}));
  EXPECT_NEAR(fine[0][0][10][10].item<double>(), 4.0, 1e-6);        // 1 coarse pixel = 4 fine
  EXPECT_NEAR(fine[0][0][0][0].item<double>(), 4.0 * 4 / 9, 1e-6);  // 5 neighbours are outside
}

TEST(ConvexUpsample, ScoreOfTheCentreKeepsThePixelInItsPlace) {
  const Tensor coarse = at::arange(2 * 5 * 6, at::kFloat).view({1, 2, 5, 6});
  Tensor scores = at::full({1, 9, 16, 5, 6}, -100.0);
  scores.select(1, 4).fill_(100.0);
  const Tensor fine = convex_upsample(coarse, scores.view({1, 144, 5, 6}), 4);
  EXPECT_TRUE(at::allclose(fine, coarse.repeat_interleave(4, 2).repeat_interleave(4, 3) * 4));
}

}  // namespace
}  // namespace perceiver
