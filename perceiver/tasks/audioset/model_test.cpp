#include "perceiver/tasks/audioset/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

struct Row {
  AudioInput audio;
  DecodeBy decode_by;
  int64_t latent_channels;
  int64_t num_inputs;
  double millions, billions;  // of parameters, of FLOPs
};

class AudioSetRow : public testing::TestWithParam<Row> {};

TEST_P(AudioSetRow, HasThePapersArraysAndItsCost) {
  const ConstructScope scope(Construct::kWithoutMemory);
  AudioSetConfig config;
  config.audio = GetParam().audio;
  config.num_audio_bands = config.audio == AudioInput::kRaw ? 64 : 192;
  config.decode_by = GetParam().decode_by;
  config.encoder.latent_channels = GetParam().latent_channels;
  const AudioSet model(config);
  const ModelSummary summary = model->summary();
  EXPECT_EQ(summary.inputs, (ArraySize{GetParam().num_inputs, 487}));
  EXPECT_EQ(summary.latents, (ArraySize{512, GetParam().latent_channels}));
  EXPECT_EQ(summary.outputs, (ArraySize{1, 527}));
  EXPECT_EQ(summary.parameters(), num_parameters(*model));
  EXPECT_NEAR(summary.parameters() / 1e6, GetParam().millions, 0.005);
  EXPECT_NEAR(summary.flops() / GetParam().billions / 1e9, 1.0, 1e-3);
}

// The paper's are 21.0M and 52.3B, 25.0M and 52.9B, 21.0M and 60.7B, 88.2M and 129.5B: its
// parameters of the last row need other key channels than its FLOPs.
INSTANTIATE_TEST_SUITE_P(
    Paper, AudioSetRow,
    testing::Values(Row{AudioInput::kRaw, DecodeBy::kAverage, 512, 13'024, 20.97, 52.16},
                    Row{AudioInput::kRaw, DecodeBy::kQuery, 512, 13'024, 24.92, 52.71},
                    Row{AudioInput::kMel, DecodeBy::kAverage, 512, 17'344, 20.97, 60.57},
                    Row{AudioInput::kMel, DecodeBy::kQuery, 1024, 17'344, 86.57, 129.3}));

TEST(AudioSetTask, FlopsAndParametersAreTheModules) {
  const File config{"audioset.toml", R"(
    task = "audioset"
    [model]
    num_frames = 4
    image_size = 16
    num_video_bands = 3
    num_samples = 256
    samples_per_patch = 32
    num_audio_bands = 5
    num_classes = 9
    query_channels = 24
    mel = { window_samples = 128, hop_samples = 64, num_energies = 4 }
    encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 2 })"};
  at::NoGradGuard no_grad;
  for (const std::string audio : {"raw", "mel"}) {
    for (const std::string decode_by : {"query", "average"}) {
      const std::vector<std::string> overrides = {"model.audio=" + audio,
                                                  "model.decode_by=" + decode_by};
      const auto task = make_task(config, overrides);
      for (const Split split : {Split::kTrain, Split::kEval}) {
        const ModelSummary summary = task->summary(split);
        EXPECT_EQ(summary.parameters(), num_parameters(task->model()));
        Tensor outputs;
        EXPECT_EQ(summary.flops(),
                  recorded_flops([&] { outputs = task->forward_random(1, split); }));
        EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{1, 1, 9}));
        EXPECT_EQ(summary.inputs.index, 2 * 2 * 2 + (audio == "raw" ? 8 : 16));
        EXPECT_EQ(summary.queries.has_value(), decode_by == "query");
      }
    }
  }
}

class AudioSetTest : public testing::Test {
 protected:
  AudioSetTest() { at::manual_seed(1); }

  at::NoGradGuard no_grad;
  AudioSetConfig config{
      .num_frames = 4,
      .image_size = 16,
      .num_video_bands = 3,
      .num_samples = 256,
      .samples_per_patch = 32,
      .mel = {.window_samples = 128, .hop_samples = 64, .num_energies = 4},
      .num_audio_bands = 5,
      .encoder = {
          .num_latents = 6, .latent_channels = 16, .num_blocks = 1, .self_attends_per_block = 1}};
  const Tensor video = at::rand({2, 4, 3, 16, 16}), samples = at::randn({2, 256}) * 0.1;
};

TEST_F(AudioSetTest, SoundStandsBeforeVideo) {
  AudioSet model(config);
  const Tensor array = model->input_array(video, samples);
  ASSERT_EQ(array.size(1), 8 + 8);
  EXPECT_TRUE(array[1][3].narrow(0, 0, 32).equal(samples[1].narrow(0, 96, 32)));
  EXPECT_TRUE(
      array[1].narrow(0, 8, 8).narrow(1, 0, 384).equal(video_to_patches(video, config.patch)[1]));
}

TEST_F(AudioSetTest, MelElementsAreTheEnergiesWindowAfterWindow) {
  config.audio = AudioInput::kMel;
  AudioSet model(config);
  const Tensor elements = model->input_array(video, samples)[1].narrow(0, 0, 16).select(1, 0);
  const Tensor energies = log_mel_spectrogram(samples, config.mel)[1];  // [windows, energies]
  const Tensor unscaled = (1.0 - elements) * (std::log(config.mel.log_offset) / 2.0);
  EXPECT_TRUE(at::allclose(unscaled.view({4, 4}), energies, 1e-4, 1e-4));
  const Tensor silence = model->input_array(video, at::zeros({2, 256}))[0][5][0];
  EXPECT_NEAR(silence.item<double>(), -1.0, 1e-5);
}

TEST_F(AudioSetTest, WrongSizesAreNamed) {
  AudioSet model(config);
  EXPECT_EQ(error_of([&] { model(video, samples.narrow(1, 0, 255)); }),
            "samples has shape [2, 255], expected [*, 256]");
  EXPECT_EQ(error_of([&] { model(video.narrow(1, 0, 3), samples); }),
            "video has shape [2, 3, 3, 16, 16], expected [*, 4, 3, 16, 16]");
  config.samples_per_patch = 33;
  EXPECT_EQ(error_of([&] { AudioSet{config}; }),
            "samples_per_patch (33) must divide the number of samples (256)");
  config.audio = AudioInput::kMel;
  config.mel.high_hz = 25'000.0;
  EXPECT_EQ(error_of([&] { AudioSet{config}; }),
            "mel.high_hz (25000) must be above low_hz (0) and at most half of samples_per_second "
            "(48000)");
}

}  // namespace
}  // namespace perceiver
