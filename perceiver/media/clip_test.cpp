#include "perceiver/media/clip.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>

#include "perceiver/core/error_test.h"
#include "perceiver/media/clip_test.h"

namespace perceiver {
namespace {

// The grey of each frame, in steps of 10: which frame of a drawn clip it is.
std::vector<int64_t> numbers_of(ClipReader& clip) {
  std::vector<int64_t> numbers;
  while (const std::optional<Tensor> frame = clip.next_frame()) {
    numbers.push_back(std::llround(frame->to(at::kFloat).mean().item<double>() / 10.0));
  }
  return numbers;
}

File stereo_wav() {
  const Tensor left = at::linspace(-0.5, 0.5, 3200), right = at::zeros(3200);
  return {"stereo.wav", encode_wav({at::stack({left, right}), 16'000})};
}

TEST(CentreSquare, IsWhereTheReleasedDemoCutsIt) {
  const Tensor wide = at::arange(2 * 3 * 6).view({2, 3, 6});
  EXPECT_TRUE(centre_square(wide).equal(wide.narrow(2, 2, 3)));  // 6 / 2 - 3 / 2
  const Tensor tall = wide.transpose(1, 2);
  EXPECT_TRUE(centre_square(tall).equal(tall.narrow(1, 2, 3)));
}

class ClipReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
  }
  const ClipFormat format{.image_size = 16, .samples_per_second = 8000, .frames_per_second = 25};
};

TEST_F(ClipReaderTest, RefusesAFrameOfMinutes) {
  // In samples/clip.avi, whose stream of pictures says how many units a second has, and a frame.
  File file = read_file(shipped("samples") / "clip.avi");
  const size_t pictures = file.bytes.find("vids");
  ASSERT_NE(pictures, file.bytes.npos);
  const auto write = [&](size_t at, uint32_t value) {
    std::memcpy(file.bytes.data() + pictures + at, &value, sizeof value);
  };
  write(20, 1000);  // scale
  write(24, 1);     // rate
  EXPECT_EQ(error_of([&] { ClipReader(file, format); }),
            file.name + ": 0.001 frames a second, expected 0.1 at least; a broken header?");
  write(20, 10);
  EXPECT_EQ(error_of([&] { ClipReader(file, format); }), "no error");
}

TEST_F(ClipReaderTest, TakesTheFrameNearestInTime) {
  using Numbers = std::vector<int64_t>;
  const auto at_rate = [&](double frames_per_second, int64_t num_frames) {
    ClipReader clip(drawn_clip({.num_frames = num_frames, .frames_per_second = frames_per_second}),
                    format);
    return numbers_of(clip);
  };
  EXPECT_EQ(at_rate(25, 6), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(at_rate(50, 7), (Numbers{0, 2, 4, 6}));
  EXPECT_EQ(at_rate(10, 4), (Numbers{0, 0, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(at_rate(30, 8), (Numbers{0, 1, 2, 4, 5, 6, 7}));
}

TEST_F(ClipReaderTest, SkippedFramesAreCounted) {
  const File file = drawn_clip({.num_frames = 9, .frames_per_second = 30});
  ClipReader clip(file, format);
  EXPECT_EQ(clip.expected_frames(), 8);
  EXPECT_TRUE(clip.skip_frame());
  EXPECT_TRUE(clip.skip_frame());
  EXPECT_EQ(numbers_of(clip), (std::vector<int64_t>{2, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(clip.skip_frame());
  EXPECT_EQ(count_frames(file, format), 8);
}

TEST_F(ClipReaderTest, FramesAreTheMiddleSquareInTheModelsSize) {
  // Dark bars on both sides of a square of 32 x 32.
  Tensor frame = at::zeros({3, 32, 64}, at::kByte);
  frame.narrow(2, 16, 32).fill_(200);
  ClipReader clip(clip_of({frame}), format);
  const Tensor seen = *clip.next_frame();
  EXPECT_EQ(seen.sizes(), (std::vector<int64_t>{3, 16, 16}));
  EXPECT_NEAR(seen.narrow(2, 2, 12).to(at::kFloat).mean().item<double>(), 200.0, 3.0);
  EXPECT_GT(seen.min().item<int64_t>(), 120);
}

TEST_F(ClipReaderTest, AClipWithoutSoundIsSilent) {
  ClipReader clip(drawn_clip({.num_frames = 3}), format);
  EXPECT_TRUE(clip.has_picture());
  EXPECT_FALSE(clip.has_sound());
  EXPECT_TRUE(clip.samples(1, 320).equal(at::zeros({320})));
}

TEST_F(ClipReaderTest, SoundStandsBesideItsFrames) {
  // 440 Hz in the first half second only.
  Tensor samples = (at::arange(16'000) * (2.0 * M_PI * 440.0 / 16'000.0)).sin() * 0.5;
  samples.narrow(0, 8000, 8000).zero_();
  const ClipReader clip(drawn_clip({.num_frames = 25, .samples = samples}), format);
  ASSERT_TRUE(clip.has_sound());
  const auto loudness = [&](int64_t frame) {
    return clip.samples(frame, 320).std().item<double>();
  };
  EXPECT_NEAR(loudness(5), 0.5 / std::sqrt(2.0), 0.05);
  EXPECT_LT(loudness(20), 0.02);
  EXPECT_TRUE(clip.samples(100, 320).equal(at::zeros({320})));
}

TEST(SoundAlone, IsAClipOfBlackFrames) {
  ClipReader clip(stereo_wav(), {.image_size = 4,
                                 .samples_per_second = 16'000,
                                 .first_channel = true,
                                 .frames_per_second = 25});
  EXPECT_FALSE(clip.has_picture());
  EXPECT_TRUE(clip.has_sound());
  EXPECT_EQ(clip.expected_frames(), 5);  // 0.2 s
  EXPECT_TRUE(clip.next_frame()->equal(at::zeros({3, 4, 4}, at::kByte)));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(clip.skip_frame());
  EXPECT_FALSE(clip.next_frame().has_value());
}

TEST(SoundAlone, IsToldByItsFirstBytesToo) {
  File file = stereo_wav();
  file.name = "standard input";
  const ClipReader clip(file,
                        {.image_size = 4, .samples_per_second = 16'000, .frames_per_second = 25});
  EXPECT_FALSE(clip.has_picture());
}

TEST(SoundAlone, IsTheFirstChannelOrTheMean) {
  ClipFormat format{.image_size = 4, .samples_per_second = 16'000, .frames_per_second = 25};
  const Tensor mean = ClipReader(stereo_wav(), format).samples(0, 3200);
  format.first_channel = true;
  const Tensor first = ClipReader(stereo_wav(), format).samples(0, 3200);
  // PCM of 16 bits: steps of 3e-5.
  EXPECT_TRUE(at::allclose(first, at::linspace(-0.5, 0.5, 3200), 0.0, 1e-4));
  EXPECT_TRUE(at::allclose(mean, first / 2, 0.0, 1e-4));
}

TEST(SoundAlone, EndsInSilence) {
  const ClipReader clip(stereo_wav(),
                        {.image_size = 4, .samples_per_second = 16'000, .frames_per_second = 25});
  const Tensor last = clip.samples(4, 1000);
  EXPECT_NE(last[639].item<float>(), 0.0f);
  EXPECT_TRUE(last.narrow(0, 640, 360).equal(at::zeros({360})));
}

}  // namespace
}  // namespace perceiver
