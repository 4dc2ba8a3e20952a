#include "perceiver/tasks/multimodal/clip.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/media/clip_test.h"
#include "perceiver/tasks/application.h"
#include "perceiver/tasks/multimodal/model.h"

namespace perceiver {
namespace {

constexpr const char* kConfig = R"(
    task = "multimodal"
    [model]
    num_frames = 16
    image_size = 8
    samples_per_frame = 320
    samples_per_patch = 32
    num_image_bands = 3
    num_audio_bands = 5
    num_classes = 11
    label_query_channels = 20
    output_channels = 12
    train_queries = { audio = 4, image = 7 }
    encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 })";

// 2 s of a tone, longer than the 37 frames.
Tensor tone() { return (at::arange(32'000) * 0.2).sin() * 0.5; }

class ClipTest : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
  }

  // Frames of the clip in each chunk.
  std::vector<int64_t> frames_of(const File& file, FrameRange range) const {
    ChunkReader reader(file, config, range);
    std::vector<int64_t> counts;
    while (const std::optional<Chunk> chunk = reader.next()) counts.push_back(chunk->num_frames);
    return counts;
  }

  at::NoGradGuard no_grad;
  const MultimodalConfig config{
      .num_frames = 16, .image_size = 8, .samples_per_frame = 320, .num_classes = 11};
};

TEST_F(ClipTest, TheLastChunkIsFilledUpWithItsLastFrameInSilence) {
  ChunkReader reader(drawn_clip({.num_frames = 37, .samples = tone()}), config);
  EXPECT_EQ(reader.expected_chunks(), 3);
  EXPECT_TRUE(reader.has_sound());
  std::vector<Chunk> chunks;
  while (std::optional<Chunk> chunk = reader.next()) chunks.push_back(*std::move(chunk));
  ASSERT_EQ(chunks.size(), 3);
  EXPECT_EQ(chunks[0].num_frames, 16);
  EXPECT_EQ(chunks[1].num_frames, 16);
  EXPECT_EQ(chunks[2].num_frames, 5);
  for (const Chunk& chunk : chunks) {
    EXPECT_EQ(chunk.image.sizes(), (std::vector<int64_t>{16, 3, 8, 8}));
    EXPECT_EQ(chunk.image.scalar_type(), at::kByte);
    EXPECT_EQ(chunk.audio.sizes(), (std::vector<int64_t>{16 * 320}));
  }
  // Frame 16 is grey of 160, frame 36 of 100.
  EXPECT_NEAR(chunks[1].image[0].to(at::kFloat).mean().item<double>(), 160.0, 4.0);
  EXPECT_NEAR(chunks[2].image[4].to(at::kFloat).mean().item<double>(), 100.0, 4.0);
  EXPECT_TRUE(chunks[2].image[15].equal(chunks[2].image[4]));
  EXPECT_GT(chunks[2].audio.narrow(0, 0, 5 * 320).abs().max().item<double>(), 0.4);
  EXPECT_TRUE(chunks[2].audio.narrow(0, 5 * 320, 11 * 320).equal(at::zeros({11 * 320})));
}

TEST_F(ClipTest, ARangeIsCutOutOfPictureAndSoundAlike) {
  const File file = drawn_clip({.num_frames = 37, .samples = tone()});
  ChunkReader whole(file, config), part(file, config, {.first = 3, .count = 10});
  EXPECT_EQ(part.expected_chunks(), 1);
  const Chunk from_start = *whole.next(), cut = *part.next();
  EXPECT_EQ(cut.num_frames, 10);
  EXPECT_TRUE(cut.image.narrow(0, 0, 10).equal(from_start.image.narrow(0, 3, 10)));
  EXPECT_TRUE(
      cut.audio.narrow(0, 0, 10 * 320).equal(from_start.audio.narrow(0, 3 * 320, 10 * 320)));
  EXPECT_FALSE(part.next().has_value());

  using Counts = std::vector<int64_t>;
  EXPECT_EQ(frames_of(file, {.first = 30}), Counts{7});
  EXPECT_EQ(frames_of(file, {.first = 2, .count = 18}), (Counts{16, 2}));
  EXPECT_EQ(frames_of(file, {.first = 37}), Counts{});
}

TEST_F(ClipTest, InputsAreInTheModelsRangeAndDtype) {
  const Tensor image = at::randint(256, {2, 16, 3, 8, 8}, at::kByte), audio = at::rand({2, 5120});
  const Modalities inputs = clip_inputs(image, audio, 11, at::kDouble);
  EXPECT_TRUE(inputs.at("image").equal((image.to(at::kFloat) / 255).to(at::kDouble)));
  EXPECT_TRUE(inputs.at("audio").equal(audio.to(at::kDouble)));
  EXPECT_TRUE(inputs.at("label").equal(at::zeros({2, 11}, at::kDouble)));
}

TEST_F(ClipTest, TheTaskClassifiesEachChunkByItsDecodedLabel) {
  const auto task = make_task({"multimodal.toml", kConfig});
  const std::vector<File> files = {drawn_clip({.num_frames = 37, .samples = tone()})};
  const Example inputs = task->application()->read(files);
  EXPECT_EQ(inputs.at("image").sizes(), (std::vector<int64_t>{3, 16, 3, 8, 8}));
  const Tensor probabilities = task->application()->classify(inputs);
  EXPECT_EQ(probabilities.sizes(), (std::vector<int64_t>{3, 11}));
  EXPECT_TRUE(at::allclose(probabilities.sum(1), at::ones({3})));

  auto& model = dynamic_cast<MultimodalImpl&>(task->model());
  const Modalities batch =
      clip_inputs(inputs.at("image"), inputs.at("audio"), 11, at::TensorOptions(at::kFloat));
  const Tensor latents = model.encode(batch, model.hide({"label"}, 3));
  EXPECT_TRUE(at::allclose(task->application()->encode(inputs), latents, 1e-4, 1e-5));
  EXPECT_TRUE(
      at::allclose(probabilities, model.decode_all(latents).at("label").softmax(1), 1e-4, 1e-5));

  task->model().to(at::kBFloat16);
  EXPECT_EQ(task->application()->encode(inputs).scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::allclose(task->application()->classify(inputs), probabilities, 0.0, 0.05));
}

TEST_F(ClipTest, WhatTheTaskCannotReadIsNamed) {
  const auto task = make_task({"multimodal.toml", kConfig});
  const auto reading = [&](const std::vector<File>& files) {
    return error_of([&] { task->application()->read(files); });
  };
  const File silent = drawn_clip({.num_frames = 3});
  EXPECT_EQ(reading({silent}), "clip.mp4: has no sound, expected a clip with sound");
  EXPECT_EQ(reading({{"a.wav", encode_wav({at::zeros({1, 100}), 8000})}}),
            "a.wav: has no picture, expected a clip");
  EXPECT_EQ(reading({silent, silent}), "expected one clip, got 2 files");
}

}  // namespace
}  // namespace perceiver
