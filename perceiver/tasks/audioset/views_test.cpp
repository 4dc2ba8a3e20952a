#include "perceiver/tasks/audioset/views.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/media/clip_test.h"
#include "perceiver/tasks/application.h"

namespace perceiver {
namespace {

using Starts = std::vector<int64_t>;

TEST(Views, AreSpreadFromTheBeginningToTheEnd) {
  const Starts paper = view_starts(250, 32);  // 10 s
  EXPECT_EQ(paper.size(), 16);
  EXPECT_EQ(paper.front(), 0);
  EXPECT_EQ(paper[1], 14);
  EXPECT_EQ(paper.back(), 250 - 32);
  EXPECT_EQ(view_starts(100'000, 32).size(), 16);
}

TEST(Views, AreFewerOfAShortClip) {
  EXPECT_EQ(view_starts(5, 32), Starts{0});
  EXPECT_EQ(view_starts(32, 32), Starts{0});
  EXPECT_EQ(view_starts(33, 32), (Starts{0, 1}));
  EXPECT_EQ(view_starts(56, 32), (Starts{0, 8, 16, 24}));
  EXPECT_EQ(view_starts(3, 1), (Starts{0, 1, 2}));
}

const AudioSetConfig kSmall{.num_frames = 8, .image_size = 16, .num_samples = 8 * 320};

Tensor ramp() { return at::linspace(-0.5, 0.5, 16'000); }  // 1 s at 16 kHz

bool all_are(const Tensor& frames, double grey) {
  return (frames.to(at::kFloat) - grey).abs().max().item<double>() < 5.0;
}

TEST(Views, OfASoundAreBlackAndHoldTheMeanOfItsChannels) {
  const File wav{"ramp.wav", encode_wav({at::stack({ramp(), at::zeros(16'000)}), 16'000})};
  const ClipViews views = read_views(wav, kSmall);
  ASSERT_EQ(views.video.size(0), 9);  // 25 frames, 2 apart: 0, 2, 4, 6, …, 17
  EXPECT_TRUE(views.video.equal(at::zeros({9, 8, 3, 16, 16}, at::kByte)));
  EXPECT_EQ(views.samples.sizes(), (std::vector<int64_t>{9, 2560}));
  // The last begins at frame 17: sample 5440 of 8000, where the mean ramp is at 0.09.
  EXPECT_NEAR(views.samples[8][0].item<double>(), (17.0 / 25.0 - 0.5) / 2.0, 1e-3);
}

class AudioSetClip : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
  }
  at::NoGradGuard no_grad;
};

TEST_F(AudioSetClip, EachViewHasItsOwnFrames) {
  const ClipViews views =
      read_views(drawn_clip({.num_frames = 12, .samples = ramp().narrow(0, 0, 7680)}), kSmall);
  ASSERT_EQ(views.video.sizes(), (std::vector<int64_t>{3, 8, 3, 16, 16}));
  for (int64_t v = 0; v < 3; ++v) {
    for (int64_t t = 0; t < 8; ++t) EXPECT_TRUE(all_are(views.video[v][t], (2 * v + t) * 10.0));
  }
}

TEST_F(AudioSetClip, AShortOneIsFilledUp) {
  const ClipViews views =
      read_views(drawn_clip({.num_frames = 3, .samples = ramp().narrow(0, 0, 1920)}), kSmall);
  ASSERT_EQ(views.video.size(0), 1);
  for (int64_t t = 0; t < 8; ++t) {
    EXPECT_TRUE(all_are(views.video[0][t], std::min(t, int64_t{2}) * 10.0)) << t;
  }
  // Encoders fill their last frame of sound up; later there is nothing.
  EXPECT_EQ(views.samples[0].narrow(0, 2200, 360).abs().max().item<double>(), 0.0);
}

TEST_F(AudioSetClip, WithoutSoundIsAnError) {
  EXPECT_EQ(error_of([&] { read_views(drawn_clip({.num_frames = 3}), kSmall); }),
            "clip.mp4: has no sound, expected a clip with sound, or a sound");
}

TEST(AudioSetFiles, AreClassifiedViewByView) {
  at::NoGradGuard no_grad;
  at::manual_seed(1);
  const File config{"audioset.toml", R"(
    task = "audioset"
    [model]
    num_frames = 8
    image_size = 16
    num_video_bands = 3
    num_samples = 2560
    num_audio_bands = 5
    num_classes = 9
    query_channels = 24
    mel = { samples_per_second = 8000, window_samples = 128, hop_samples = 64, num_energies = 4, high_hz = 4000.0 }
    encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 2 })"};
  const std::vector<File> files = {{"ramp.wav", encode_wav({ramp().unsqueeze(0), 16'000})}};
  for (const std::string audio : {"raw", "mel"}) {
    const std::vector<std::string> overrides = {"model.audio=" + audio};
    const auto task = make_task(config, overrides);
    const Example inputs = task->application()->read(files);
    const Tensor probabilities = task->application()->classify(inputs),
                 latents = task->application()->encode(inputs);
    EXPECT_EQ(probabilities.sizes(), (std::vector<int64_t>{9, 9}));
    EXPECT_EQ(latents.sizes(), (std::vector<int64_t>{9, 6, 16}));
    auto& model = dynamic_cast<AudioSetImpl&>(task->model());
    const Tensor logits = model.forward(inputs.at("video") / 255.0, inputs.at("audio"));
    EXPECT_TRUE(at::allclose(probabilities, logits.sigmoid(), 1e-4, 1e-5));

    task->model().to(at::kBFloat16);
    // Sound is heard in float32: a spectrogram of rounded samples is another.
    const Tensor video = (inputs.at("video") / 255.0).to(at::kBFloat16), sound = inputs.at("audio");
    const auto encoded = [&](const Tensor& samples) {
      return model.encode(video.narrow(0, 0, 1), samples.narrow(0, 0, 1))[0];
    };
    EXPECT_TRUE(task->application()->encode(inputs)[0].equal(encoded(sound)));
    if (audio == "mel") {
      EXPECT_FALSE(encoded(sound).equal(encoded(sound.to(at::kBFloat16))));
    }
    EXPECT_EQ(task->application()->encode(inputs).scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(task->application()->classify(inputs), probabilities, 0.0, 0.05));
  }
  const auto task = make_task(config);
  EXPECT_EQ(error_of([&] { task->application()->read({}); }),
            "expected one clip or sound, got 0 files");
}

}  // namespace
}  // namespace perceiver
