#include "perceiver/tasks/optical_flow/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/data/loader.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/optical_flow/loss.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

FlowDataConfig generated() {
  FlowDataConfig config;
  config.generator.textures = 2;
  config.pairs = 5;
  config.held_out_pairs = 3;
  return config;
}

TEST(FlowCurriculum, GrowsLinearlyAfterThePlainEpochs) {
  FlowDataConfig config;
  EXPECT_EQ(augmentation_strength(config, 0), 1.0);
  config.plain_epochs = 2, config.growth_epochs = 4;
  const std::vector<double> expected = {0, 0, 0.25, 0.5, 0.75, 1, 1};
  for (size_t epoch = 0; epoch < expected.size(); ++epoch) {
    EXPECT_EQ(augmentation_strength(config, epoch), expected[epoch]) << epoch;
  }
  config.augmented = false;
  EXPECT_EQ(augmentation_strength(config, 100), 0.0);
}

TEST(FlowData, GeneratedPairsDifferFromEpochToEpochAndRepeatWithinOne) {
  const auto data = flow_training_data(generated(), {32, 48});
  EXPECT_EQ(data->size(), 5);
  Rng a(1, 0, 2), b(1, 0, 2), next(1, 1, 2);
  const Example one = data->get(2, a), same = data->get(2, b), other = data->get(2, next);
  EXPECT_EQ(one.at("frames").sizes(), (std::vector<int64_t>{2, 3, 32, 48}));
  EXPECT_EQ(one.at("flow").sizes(), (std::vector<int64_t>{2, 32, 48}));
  EXPECT_EQ(one.at("valid").sizes(), (std::vector<int64_t>{32, 48}));
  for (const auto& [name, tensor] : one) EXPECT_TRUE(tensor.equal(same.at(name))) << name;
  EXPECT_FALSE(one.at("frames").equal(other.at("frames")));
}

// Frames whose first and second are the other's: a pair and the same backwards. At the model's size
// there is nothing to crop, so both show the same pixels.
bool is_way_back(const Tensor& frames, const Tensor& back) {
  return frames[0].equal(back[1]) && frames[1].equal(back[0]);
}

TEST(FlowData, PlainEpochsShowEachPairOfABatchBothWays) {
  FlowDataConfig config = generated();
  config.plain_epochs = 1;
  config.generated_size = 1.0;
  const auto data = flow_training_data(config, {32, 48});
  for (const int64_t threads : {1, 3}) {
    Loader loader(*data, {.batch = 4, .seed = 7, .threads = threads});
    const Tensor frames = loader.next().at("frames");
    ASSERT_EQ(frames.sizes(), (std::vector<int64_t>{4, 2, 3, 32, 48}));
    EXPECT_TRUE(is_way_back(frames[0], frames[1]));
    EXPECT_TRUE(is_way_back(frames[2], frames[3]));
    EXPECT_FALSE(frames[0].equal(frames[2]));
    // The next batch goes over to the second epoch, augmented and forwards alone.
    const Example next = loader.next();
    EXPECT_EQ(next.at("frames").size(0), 4);
  }
  config.both_ways = false;
  const auto forwards = flow_training_data(config, {32, 48});
  Rng rng(1, 0, 0);
  EXPECT_EQ(forwards->get(0, rng).at("frames").sizes(), (std::vector<int64_t>{2, 3, 32, 48}));
}

TEST(FlowData, TheLastOfAnOddBatchIsShownForwards) {
  FlowDataConfig config = generated();
  config.plain_epochs = 1;
  config.generated_size = 1.0;
  const auto data = flow_training_data(config, {32, 48});
  std::vector<Example> examples;
  for (int64_t i = 0; i < 3; ++i) {
    Rng rng(1, 0, i);
    examples.push_back(data->get(i, rng));
  }
  Rng rng(0);
  const Tensor frames = data->batch(examples, rng).at("frames");
  ASSERT_EQ(frames.size(0), 3);
  EXPECT_TRUE(is_way_back(frames[0], frames[1]));
  EXPECT_TRUE(frames[2].equal(examples[1].at("frames")[0]));
}

// Of pairs as large as their crop, each scale below 1 becomes 1 (one pixel more than the crop).
TEST(FlowData, GeneratedPairsAreLargeEnoughToBeShrunk) {
  for (const fs::path& path : sorted_entries(shipped("configs"))) {
    const std::string name = path.stem().string();
    if (!name.starts_with("flow_")) continue;
    const auto config = read_config<Experiment<OpticalFlowConfig, FlowDataConfig>>(read_file(path));
    const FlowAugmentConfig& augment = config.data.augment;
    const double smallest = std::exp2(augment.smallest_scale - augment.stretch);
    if (!config.data.augmented) continue;
    EXPECT_GE(config.data.generated_size * smallest, 1.0) << name;
  }
  const FlowDataConfig config = generated();
  const ImageSize crop{32, 48};
  const ImageSize size{std::lround(32 * config.generated_size),
                       std::lround(48 * config.generated_size)};
  int shrunk = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    // A constant flow of one pixel tells the scale: it is resized with the pair.
    const FlowPair pair{at::zeros({2, 3, size.height, size.width}, at::kByte),
                        at::ones({2, size.height, size.width}),
                        at::ones({size.height, size.width}, at::kBool)};
    Rng rng(1, 0, i);
    shrunk +=
        augment(pair, crop, config.augment, 1.0, rng).flow[1].abs().max().item<double>() < 0.95;
  }
  // A scale of 2^U(-0.2, 0.6) in 0.8 of the pairs, mostly with a stretch: about an eighth are below
  // 0.95. Of pairs as large as the crop, none.
  EXPECT_GT(shrunk, 10);
}

TEST(FlowData, HeldOutPairsOfOneBatchAreFilledUp) {
  const fs::path root = fs::path(testing::TempDir()) / ("flow_data_" + std::to_string(getpid()));
  for (const int64_t height : {16, 20}) {
    const fs::path folder = root / std::to_string(height);
    fs::create_directories(folder);
    for (const char* name : {"im0.png", "im1.png"}) {
      write_file(folder / name, encode_png(at::full({3, height, 24}, height, at::kByte)));
    }
    write_file(folder / "forward.flo", encode_flo(at::full({2, height, 24}, 2.0)));
  }
  FlowDataConfig config = generated();
  config.held_out = {root.string()};
  const auto data = flow_held_out_data(config, {32, 48});
  ASSERT_EQ(data->size(), 2);
  Rng rng(0);
  const Example batch = data->batch({data->get(0, rng), data->get(1, rng)}, rng);
  EXPECT_EQ(batch.at("frames").sizes(), (std::vector<int64_t>{2, 2, 3, 20, 24}));
  EXPECT_TRUE(batch.at("size").equal(at::tensor({16, 24, 20, 24}, at::kLong).view({2, 2})));
  EXPECT_EQ(batch.at("valid").sum().item<int64_t>(), 36 * 24);
  EXPECT_TRUE(batch.at("set").equal(at::zeros({2}, at::kLong)));
  fs::remove_all(root);
}

TEST(FlowData, HeldOutPairsAreAlwaysTheSameAndMayBeNone) {
  FlowDataConfig config = generated();
  const auto data = flow_held_out_data(config, {32, 48});
  ASSERT_EQ(data->size(), 3);
  Rng a(1, 2, 3), b(4, 5, 6);
  EXPECT_TRUE(data->get(1, a).at("frames").equal(data->get(1, b).at("frames")));
  config.train = {"pairs"};
  EXPECT_EQ(flow_held_out_data(config, {32, 48}), nullptr);
}

TEST(EndPointError, IsTheMeanDistanceOverKnownPixels) {
  const Tensor truth = at::zeros({1, 2, 1, 3});
  Tensor flow = truth.clone().requires_grad_();
  const Tensor with = (flow + at::tensor({3.0f, 0.0f, 7.0f, 4.0f, 0.0f, 7.0f}).view({1, 2, 1, 3}));
  const Tensor valid = at::tensor({1, 1, 0}).to(at::kBool).view({1, 1, 3});
  const Loss loss = end_point_error(with, truth, valid);
  EXPECT_NEAR(loss.sum.item<double>(), 5.0, 1e-4);
  EXPECT_EQ(loss.weight.item<double>(), 2.0);
  loss.sum.backward();  // finite where the flow is exactly right, nothing where it is not known
  EXPECT_TRUE(flow.grad().flatten().allclose(at::tensor({0.6f, 0.0f, 0.0f, 0.8f, 0.0f, 0.0f})));
}

constexpr const char* kTiny = R"(
task = "optical_flow"
[model]
height = 16
width = 24
num_bands = 4
patch_channels = 8
[model.encoder]
num_latents = 8
latent_channels = 16
num_blocks = 1
self_attends_per_block = 1
self_attend.num_heads = 2
[data]
pairs = 4
held_out_pairs = 2
generator.textures = 2
generator.slowest = 0.05
[eval]
batch = 2
)";

class FlowTask : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(FlowTask, LossIsInTwentiethsOfPixelsAndTheMeasureInPixels) {
  const auto [patch, concat] = GetParam();
  const std::vector<std::string> overrides = {fmt::format("model.patch={}", patch),
                                              fmt::format("model.concat_frames={}", concat)};
  const auto task = make_task({"tiny.toml", kTiny}, overrides);
  Training& training = *task->training();
  const auto data = training.dataset(Split::kTrain);
  Rng a(1, 0, 0), b(1, 0, 1), rng(0);
  const Example batch = data->batch({data->get(0, a), data->get(1, b)}, rng);
  const Loss loss = training.loss(batch);
  // The flow starts at zero, so the error is the length of the true one.
  const Tensor length = batch.at("flow").norm(2, {1}) * batch.at("valid");
  EXPECT_NEAR(loss.sum.item<double>(), length.sum().item<double>() / 20, 1e-2);
  loss.sum.backward();

  const auto held_out = training.dataset(Split::kEval);
  const Example pairs = held_out->batch({held_out->get(0, a), held_out->get(1, b)}, rng);
  task->model().eval();
  const auto evaluator = training.evaluator();
  evaluator->add(pairs);
  const auto figures = evaluator->figures();
  EXPECT_NEAR(figures.at("epe"), pairs.at("flow").norm(2, {1}).mean().item<double>(), 1e-3);
  EXPECT_EQ(figures.size(), 5u);
  EXPECT_EQ(training.main_measure().name, "epe");
}

INSTANTIATE_TEST_SUITE_P(Variants, FlowTask,
                         testing::Combine(testing::Values("3x3", "1x1", "conv"), testing::Bool()));

}  // namespace
}  // namespace perceiver
