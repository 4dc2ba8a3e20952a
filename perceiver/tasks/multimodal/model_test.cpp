#include "perceiver/tasks/multimodal/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/on_gpu_test.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

bool same(const Tensor& a, const Tensor& b) { return at::allclose(a, b, 1e-5, 1e-6); }

TEST(Multimodal, NumbersAreTheReleasedModels) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const Multimodal model(MultimodalConfig{});
  EXPECT_EQ(num_parameters(*model), 19'858'855);

  const ModelSummary eval = model->summary(model->num_outputs());
  EXPECT_EQ(eval.inputs, (ArraySize{52'097, 704}));
  EXPECT_EQ(eval.latents, (ArraySize{784, 512}));
  EXPECT_EQ(eval.queries, (ArraySize{804'737, 1026}));
  EXPECT_EQ(eval.outputs, (ArraySize{804'737, 512}));
  EXPECT_NEAR(eval.flops() / 1e12, 7.470, 0.0005);

  const ModelSummary train = model->summary(model->num_train_queries());
  EXPECT_EQ(train.outputs.index, 512 + 512 + 1);
  EXPECT_NEAR(train.flops() / 1e9, 260.1, 0.05);
  EXPECT_EQ(train.parameters(), 19'858'855);

  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters["input_padding.image"].numel(), 461);
  EXPECT_EQ(parameters["input_padding.audio"].numel(), 303);
  EXPECT_EQ(parameters["query_padding.image"].numel(), 831);
  EXPECT_EQ(parameters["query_padding.audio"].numel(), 641);
}

class MultimodalSizes : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(MultimodalSizes, FlopsAndParametersAreTheModules) {
  const File config{"multimodal.toml", R"(
    task = "multimodal"
    [model]
    num_frames = 2
    image_size = 8
    samples_per_frame = 48
    num_image_bands = 3
    num_audio_bands = 5
    num_classes = 11
    label_query_channels = 20
    output_channels = 12
    train_queries = { audio = 4, image = 7 }
    encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 2 })"};
  at::NoGradGuard no_grad;
  const auto task = make_task(config, GetParam());
  for (const Split split : {Split::kTrain, Split::kEval}) {
    const ModelSummary summary = task->summary(split);
    EXPECT_EQ(summary.parameters(), num_parameters(task->model()));
    Tensor outputs;
    EXPECT_EQ(summary.flops(), recorded_flops([&] { outputs = task->forward_random(1, split); }));
    const int64_t o = split == Split::kTrain ? 4 + 7 + 1 : 6 + 128 + 1;
    if (split == Split::kTrain) {
      EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{1, o, 12}));
    } else {
      EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{1, 6 * 16 + 128 * 3 + 11}));
    }
    EXPECT_EQ(summary.outputs, (ArraySize{o, 12}));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hearing, MultimodalSizes,
    testing::Values(std::vector<std::string>{},
                    std::vector<std::string>{
                        "model.audio='mel'",
                        "model.mel={samples_per_second=1200, window_samples=32, "
                        "hop_samples=16, num_energies=4, high_hz=600.0}"}));

TEST(Multimodal, OnAGpuBfloat16IsAsExactAsTheModules) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  // The released model's channels, of fewer and smaller frames.
  const MultimodalConfig config{.num_frames = 4,
                                .image_size = 32,
                                .train_queries = {.audio = 8, .image = 8},
                                .encoder = {.num_latents = 784,
                                            .latent_channels = 512,
                                            .num_blocks = 1,
                                            .self_attends_per_block = 2},
                                .decode_slice = 1500};
  for (const int64_t batch : {1, 2}) {
    std::map<std::string, ErrorsOnAGpu> errors;
    for (int64_t draw = 0; draw < ErrorsOnAGpu::kDraws; ++draw) {
      at::manual_seed(draw);
      Multimodal model(config);
      const Modalities inputs = {{"audio", at::rand({batch, 4 * 1920}) * 2 - 1},
                                 {"image", at::rand({batch, 4, 3, 32, 32})},
                                 {"label", at::zeros({batch, 700})}};
      for (const char* name : {"audio", "image", "label"}) {
        errors[name].add(model, [&](at::ScalarType dtype) {
          Modalities here;
          for (const auto& [key, input] : inputs) here[key] = input.to(at::kCUDA, dtype);
          return model->decode_all(model->encode(here, model->hide({"label"}, batch))).at(name);
        });
      }
    }
    for (const auto& [name, sums] : errors) {
      SCOPED_TRACE(name);
      sums.expect_as_exact_as_modules();
    }
  }
}

class MultimodalTest : public testing::Test {
 protected:
  MultimodalTest() { at::manual_seed(1); }

  Multimodal small() const { return Multimodal(config); }
  Modalities inputs() const {
    return {{"audio", at::randn({2, 2 * 48})},
            {"image", at::rand({2, 2, 3, 8, 8})},
            {"label", at::one_hot(at::arange(3, 5), 11).to(at::kFloat)}};
  }
  const Tensor all_hidden = at::ones({2, 1}, at::kBool);

  at::NoGradGuard no_grad;
  MultimodalConfig config{
      .num_frames = 2,
      .image_size = 8,
      .samples_per_frame = 48,
      .num_image_bands = 3,
      .num_audio_bands = 5,
      .num_classes = 11,
      .label_query_channels = 20,
      .output_channels = 12,
      .train_queries = {.audio = 4, .image = 7},
      .encoder = {
          .num_latents = 6, .latent_channels = 16, .num_blocks = 1, .self_attends_per_block = 2}};
};

TEST_F(MultimodalTest, DecodesWhatItEncodes) {
  Multimodal model = small();
  const Modalities in = inputs();
  const Modalities out = model->decode_all(model->encode(in, {{"label", all_hidden}}));
  for (const auto& [name, input] : in) EXPECT_EQ(out.at(name).sizes(), input.sizes()) << name;
}

TEST_F(MultimodalTest, InputsAreContentThenPosition) {
  Multimodal model = small();
  Modalities in = inputs();
  const Tensor array = model->input_array(in);
  // 6 audio patches, 2 x 2 x 2 patches of the video, the label.
  ASSERT_EQ(array.size(1), 6 + 8 + 1);
  EXPECT_TRUE(array[1][2].narrow(0, 0, 16).equal(in["audio"][1].narrow(0, 32, 16)));
  EXPECT_TRUE(array[0][5].narrow(0, 16, 1).equal(at::ones(1)));  // the last patch is at 1
  // A patch's third colour in row 1, column 2; second frame, lower left patch.
  EXPECT_TRUE(array[0][6 + 6][(1 * 4 + 2) * 3 + 2].equal(in["image"][0][1][2][5][2]));
  EXPECT_TRUE(array[0][6].narrow(0, 48, 3).equal(-at::ones(3)));
  EXPECT_TRUE(array[1][14].narrow(0, 0, 11).equal(in["label"][1]));
}

// Six windows of four energies, two an element; put out are samples as ever.
TEST_F(MultimodalTest, HearsASpectrogramWhereTheConfigSaysSo) {
  config.audio = AudioInput::kMel;
  config.mel = {.samples_per_second = 1200,
                .window_samples = 32,
                .hop_samples = 16,
                .num_energies = 4,
                .high_hz = 600.0};
  config.energies_per_element = 2;
  Multimodal model = small();
  Modalities in = inputs();
  const Tensor array = model->input_array(in);
  ASSERT_EQ(array.size(1), 12 + 8 + 1);
  const Tensor energies = log_mel_spectrogram(in["audio"], config.mel);  // [2, 6, 4]
  const Tensor silence = log_mel_spectrogram(at::zeros({1, 96}), config.mel)[0][0][0];
  EXPECT_TRUE(
      same(array[1][5].narrow(0, 0, 2), 1.0 - 2.0 * energies[1][2].narrow(0, 2, 2) / silence));

  const Modalities out = model->decode_all(model->encode(in, {{"label", all_hidden}}));
  EXPECT_EQ(out.at("audio").sizes(), in.at("audio").sizes());
  // The spectrogram may come ready, as a data set makes it.
  const Tensor latents = model->encode(in);
  in["audio"] = model->sound().of(in["audio"]);
  EXPECT_TRUE(model->encode(in).equal(latents));

  config.mel.samples_per_second = 16'000;
  EXPECT_EQ(error_of([&] { small(); }),
            "mel.samples_per_second (16000) must be 1200, 25 frames of samples_per_frame");
}

TEST_F(MultimodalTest, SlicesGiveWhatDecodingWholeGives) {
  Multimodal whole = small();
  const Tensor latents = at::randn({2, 6, 16});
  for (const Spacing spacing : {Spacing::kSubsampled, Spacing::kInclusive}) {
    const Modalities expected = whole->decode_all(latents, spacing);
    for (const int64_t slice : {7, 50, 134}) {
      config.decode_slice = slice;
      Multimodal sliced = small();
      for (const auto& p : sliced->named_parameters())
        p.value().copy_(whole->named_parameters()[p.key()]);
      for (const auto& [name, values] : sliced->decode_all(latents, spacing)) {
        EXPECT_TRUE(same(values, expected.at(name))) << name << " by " << slice;
      }
    }
  }
}

TEST_F(MultimodalTest, APointIsThatPointOfTheWhole) {
  Multimodal model = small();
  const Tensor latents = at::randn({2, 6, 16});
  const Modalities all = model->decode_all(latents);
  // The pixel in frame 1, row 2, column 3; the samples of patch 4.
  const Modalities some = model->decode(
      latents, {{"image", at::tensor({(1 * 8 + 2) * 8 + 3})}, {"audio", at::tensor({4})}});
  EXPECT_EQ(some.size(), 2);
  const Tensor pixel = all.at("image").select(1, 1).select(2, 2).select(2, 3);  // [B, 3]
  EXPECT_TRUE(same(some.at("image").squeeze(1), pixel));
  EXPECT_TRUE(same(some.at("audio").squeeze(1), all.at("audio").narrow(1, 4 * 16, 16)));
}

TEST_F(MultimodalTest, SpacingMovesPixelsAndSoundsButNotTheLabel) {
  Multimodal model = small();
  const Tensor latents = at::randn({2, 6, 16});
  const Modalities a = model->decode_all(latents, Spacing::kSubsampled);
  const Modalities b = model->decode_all(latents, Spacing::kInclusive);
  EXPECT_TRUE(same(a.at("label"), b.at("label")));
  EXPECT_FALSE(same(a.at("image"), b.at("image")));
  EXPECT_FALSE(same(a.at("audio"), b.at("audio")));
}

TEST_F(MultimodalTest, AHiddenLabelDoesNotLeak) {
  Multimodal model = small();
  Modalities in = inputs();
  const Tensor seen = model->encode(in), hidden = model->encode(in, {{"label", all_hidden}});
  in["label"] = at::roll(in["label"], 1, 1);
  EXPECT_FALSE(same(model->encode(in), seen));
  EXPECT_TRUE(model->encode(in, {{"label", all_hidden}}).equal(hidden));
}

TEST_F(MultimodalTest, AWholeModalityIsHiddenBehindItsMask) {
  Multimodal model = small();
  const Modalities in = inputs();
  const Modalities hidden = model->hide({"audio", "image"}, 2);
  EXPECT_EQ(hidden.at("audio").sizes(), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(hidden.at("image").sizes(), (std::vector<int64_t>{2, 8}));
  const Tensor seen = model->input_array(in), masked = model->input_array(in, hidden);
  const auto tokens = model->named_parameters();
  for (int64_t i = 0; i < 6; ++i) EXPECT_TRUE(masked[1][i].equal(tokens["input_mask.audio"])) << i;
  for (int64_t i = 6; i < 14; ++i) EXPECT_TRUE(masked[1][i].equal(tokens["input_mask.image"])) << i;
  EXPECT_TRUE(masked[1][14].equal(seen[1][14]));
}

TEST_F(MultimodalTest, EachExampleMayBeAskedForPointsOfItsOwn) {
  Multimodal model = small();
  const Tensor latents = at::randn({2, 6, 16}), pixels = at::tensor({3, 77, 5, 127}).view({2, 2}),
               sounds = at::tensor({4, 0}).view({2, 1}), label = at::zeros({1}, at::kLong);
  const Modalities points = {{"image", pixels}, {"audio", sounds}, {"label", label}};
  const Modalities both = model->heads(model->outputs(latents, points), points);
  for (int64_t i = 0; i < 2; ++i) {
    const Modalities own = {{"image", pixels[i]}, {"audio", sounds[i]}, {"label", label}};
    const Tensor latent = latents.narrow(0, i, 1);
    for (const auto& [name, values] : model->heads(model->outputs(latent, own), own)) {
      EXPECT_TRUE(same(both.at(name)[i], values[0])) << name;
    }
  }
}

// The paper's arrays (Tab. 5): its ratios are the first cut to a whole number, and twice that.
TEST(Compression, IsThePapers) {
  const ArraySize inputs{50'657, 704};
  EXPECT_NEAR(compression(inputs, {784, 512}), 88.8, 0.05);
  EXPECT_NEAR(compression(inputs, {392, 512}), 2 * 88.8, 0.1);
  EXPECT_NEAR(compression(inputs, {196, 512}), 4 * 88.8, 0.2);
  const ConstructScope scope(Construct::kWithoutMemory);
  const Multimodal released(MultimodalConfig{});  // 1,920 elements of sound, not 480
  EXPECT_NEAR(released->summary(released->num_outputs()).compression.value(),
              52'097.0 * 704 / (784 * 512), 1e-9);
}

TEST_F(MultimodalTest, TheResolutionFollowsThePatchesUnlessGiven) {
  const auto first_of_second_frame = [&] {
    return small()->input_array({{"audio", at::zeros({1, 96})},
                                 {"image", at::zeros({1, 2, 3, 8, 8})},
                                 {"label", at::zeros({1, 11})}})[0][6 + 4];
  };
  const Tensor by_default = first_of_second_frame();
  config.max_resolution = {2, 2, 2};
  const Tensor given = first_of_second_frame();
  EXPECT_TRUE(given.narrow(0, 48, 21).equal(by_default.narrow(0, 48, 21)));
  config.max_resolution = {2, 5, 5};
  EXPECT_FALSE(first_of_second_frame().narrow(0, 48, 21).equal(by_default.narrow(0, 48, 21)));
}

TEST_F(MultimodalTest, WrongSizesAreNamed) {
  Multimodal model = small();
  Modalities wide = inputs();
  wide["image"] = at::rand({2, 2, 3, 8, 12});
  EXPECT_EQ(error_of([&] { model->encode(wide); }),
            "image has shape [2, 2, 3, 8, 12], expected [*, 2, 3, 8, 8]");
  EXPECT_EQ(error_of([&] {
              model->encode({{"audio", Tensor()}, {"label", Tensor()}});
            }),
            "inputs must be audio, image and label; image is missing");
  config.train_queries.audio = 7;
  EXPECT_EQ(error_of([&] { small(); }), "train_queries.audio (7) must be at most 6, all there are");
  config.max_resolution = {56};
  EXPECT_EQ(error_of([&] { small(); }),
            "max_resolution must have 3 values, of time, height and width; got 1");
  config.samples_per_frame = 49;
  EXPECT_EQ(error_of([&] { small(); }),
            "samples_per_patch (16) must divide the number of samples (98)");
  config.image_size = 9;
  EXPECT_EQ(error_of([&] { small(); }),
            "patch (1 x 4 x 4) must divide the video's frames, height and width (2 x 9 x 9)");
}

}  // namespace
}  // namespace perceiver
