#include "perceiver/media/video.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/media/drawn_clip_test.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

double psnr(const Tensor& a, const Tensor& b) {
  const double error = (a.to(at::kFloat) - b.to(at::kFloat)).square().mean().item<double>();
  return 10 * std::log10(255.0 * 255.0 / std::max(error, 1e-9));
}

// Counts how often the sound rises through zero.
double frequency(const Sound& sound) {
  const Tensor loud = sound.samples[0];
  const int64_t size = loud.size(0), part = size / 2;
  const Tensor signs = loud.narrow(0, size / 4, part).gt(0);
  const auto rises =
      signs.narrow(0, 1, part - 1).logical_and(signs.narrow(0, 0, part - 1).logical_not());
  return static_cast<double>(rises.sum().item<int64_t>() * sound.samples_per_second) /
         static_cast<double>(part);
}

TEST_F(Video, OfEveryContainerIsReadBack) {
  const fs::path folder = empty_folder("containers");
  for (const char* ending : {".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".mpg"}) {
    const fs::path path = write_clip(folder / (std::string("clip") + ending));
    if (path.extension() != ending && ending == std::string(".webm")) continue;  // no VP8, no VP9
    ASSERT_EQ(path.extension(), ending);
    VideoReader reader(read_file(path));
    const VideoInfo& info = reader.info();
    EXPECT_EQ(info.height, 48) << ending;
    EXPECT_EQ(info.width, 64) << ending;
    EXPECT_NEAR(info.frames_per_second, 25, 0.01) << ending;
    EXPECT_TRUE(info.has_sound) << ending;
    const std::vector<Tensor> frames = all_frames(reader);
    ASSERT_EQ(frames.size(), kFrames) << ending;
    EXPECT_EQ(info.num_frames.value_or(kFrames), kFrames) << ending;
    for (int64_t i = 0; i < kFrames; ++i) {
      EXPECT_GT(psnr(frames[i], drawn(i)), 30) << ending << " frame " << i;
    }
    const Sound sound = decode_sound(read_file(path));
    const double seconds = static_cast<double>(sound.samples.size(1)) /
                           static_cast<double>(sound.samples_per_second);  // Opus is always 48000
    // Coders work in frames of about 1024 samples, and not every container says where to stop.
    EXPECT_NEAR(seconds, 0.8, 0.15) << ending;
    EXPECT_NEAR(frequency(sound), kHz, 8) << ending;
    EXPECT_NEAR(sound.samples.abs().max().item<double>(), 0.5, 0.1) << ending;
  }
  EXPECT_EQ(sorted_entries(folder).size(), 7);  // and nothing beside
}

TEST_F(Video, OfAnOddSizeIsExtendedByARowAndAColumn) {
  const fs::path path = write_clip(empty_folder("odd") / "clip.mp4", 37, 51, false);
  VideoReader reader(read_file(path));
  EXPECT_EQ(reader.info().height, 38);
  EXPECT_EQ(reader.info().width, 52);
  EXPECT_FALSE(reader.info().has_sound);
  const Tensor first = reader.next().value();
  EXPECT_GT(psnr(first.narrow(1, 0, 37).narrow(2, 0, 51), drawn(0, 37, 51)), 30);
  EXPECT_EQ(error_of([&] {
              decode_sound({"clip.mp4", read_file(path).bytes});
            }),
            "clip.mp4: has no sound");
}

TEST_F(Video, IsTurnedAsItsContainerSays) {
  std::string bytes = read_file(write_clip(empty_folder("turned") / "clip.mp4")).bytes;
  VideoReader stored({"x", bytes});
  const Tensor frame = stored.next().value();
  // The matrix of the first track's header: a b u, c d v, in units of 1/65536.
  const size_t matrix = bytes.find("tkhd") + 44;
  const auto turned = [&](int a, int b, int c, int d) {
    const auto number = [](int sign) {
      return sign == 0 ? "\0\0\0\0"s : sign > 0 ? "\0\1\0\0"s : "\xff\xff\0\0"s;
    };
    bytes.replace(matrix, 8, number(a) + number(b)).replace(matrix + 12, 8, number(c) + number(d));
    VideoReader reader({"x", bytes});
    const Tensor first = reader.next().value();
    EXPECT_EQ(reader.info().height, first.size(1));
    EXPECT_EQ(reader.info().width, first.size(2));
    return first;
  };
  EXPECT_TRUE(turned(1, 0, 0, 1).equal(frame));
  EXPECT_TRUE(turned(0, 1, -1, 0).equal(frame.rot90(-1, {1, 2})));  // clockwise
  EXPECT_TRUE(turned(0, -1, 1, 0).equal(frame.rot90(1, {1, 2})));
  EXPECT_TRUE(turned(-1, 0, 0, -1).equal(frame.rot90(2, {1, 2})));
  EXPECT_TRUE(turned(-1, 0, 0, 1).equal(frame.flip({2})));
}

TEST_F(Video, IsNotASound) {
  const std::string wav = encode_wav({tone().unsqueeze(0), kRate});
  EXPECT_EQ(error_of([&] { VideoReader({"x.wav", wav}); }), "x.wav: has no picture");
}

TEST_F(Video, SoundThatNoEncoderTakesIsRefused) {
  const VideoFormat format{
      .height = 48, .width = 64, .frames_per_second = 25, .samples_per_second = 7};
  EXPECT_EQ(error_of([&] { VideoWriter("clip.mp4", format); }),
            "clip.mp4: no encoder for sound of 7 samples a second; try 48000, or .mkv");
  EXPECT_FALSE(fs::exists("clip.mp4"));
}

TEST(VideoWriter, WithoutAnEndingGivesAFolderOfPictures) {
  const fs::path folder = empty_folder("pictures") / "clip";
  EXPECT_EQ(write_clip(folder, 37, 51), folder);
  const std::vector<fs::path> pictures = images_in(folder);
  ASSERT_EQ(pictures.size(), kFrames);
  EXPECT_EQ(pictures[7].filename(), "000007.png");
  EXPECT_TRUE(decode_image(read_file(pictures[7])).equal(drawn(7, 37, 51)));
  const Sound sound = decode_sound(read_file(folder / "sound.wav"));
  EXPECT_EQ(sound.samples.size(1), kSamples);
  EXPECT_EQ(
      error_of([&] { write_clip(folder); }),
      folder.string() + ": is there already, expected a new or empty folder to write pictures to");
  { VideoWriter unfinished(folder.parent_path() / "half", {48, 64, 25}); }
  EXPECT_EQ(sorted_entries(folder.parent_path()).size(), 1);
  EXPECT_EQ(error_of([] { write_clip("/nope/clip"); }),
            "/nope/clip: cannot write: No such file or directory");
}

TEST(VideoWriter, RefusesWhatItCannotWrite) {
  EXPECT_EQ(error_of([] {
              VideoWriter("a.txt", {48, 64, 25});
            }),
            "a.txt: '.txt' is no ending of a video, expected .mp4, .mkv, .mov, .avi, .webm, .mpg, "
            ".mpeg, .m4v, .gif, .ogv, .3gp, .ts, .flv, or none for a folder of pictures");
  EXPECT_EQ(error_of([] {
              VideoWriter("a.mp4", {48, 64, 0});
            }),
            "a.mp4: 0 frames a second, expected more than 0");
  EXPECT_EQ(error_of([] { VideoWriter("a.mp4", {0, 64, 25}); }), "a.mp4: picture of 64 x 0 pixels");
  VideoWriter writer(empty_folder("refuses") / "clip", {48, 64, 25});
  EXPECT_EQ(error_of([&] { writer.write(drawn(0, 48, 50)); }),
            "frame has shape [3, 48, 50], expected [3, 48, 64]");
  EXPECT_EQ(error_of([&] { writer.write(drawn(0).to(at::kFloat)); }),
            "frame has elements of type Float, expected uint8");
  EXPECT_NE(
      error_of([&] { writer.write_samples(tone()); }).find(": samples for a video without sound"),
      std::string::npos);
}

TEST(VideoReader, WithoutFfmpegSaysHowToGetIt) {
  if (video_is_built_in()) GTEST_SKIP() << "built with FFmpeg's libraries";
  EXPECT_EQ(error_of([] {
              VideoReader({"a.mp4", "x"});
            }),
            "a.mp4: this build reads no video: it was made without FFmpeg's libraries; install "
            "libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libswresample-dev and "
            "build again");
}

TEST(VideoWriter, WithoutFfmpegGivesAFolderInThePlaceOfTheFile) {
  if (video_is_built_in()) GTEST_SKIP() << "built with FFmpeg's libraries";
  const fs::path folder = empty_folder("in_place");
  EXPECT_EQ(write_clip(folder / "clip.mp4"), folder / "clip");
  EXPECT_EQ(images_in(folder / "clip").size(), kFrames);
}

TEST(VideoEndings, AreKnownInAnyCase) {
  for (const char* name : {"a.mp4", "b.MKV", "c.mov", "d.avi", "e.webm", "f.gif"}) {
    EXPECT_TRUE(has_video_ending(name)) << name;
  }
  EXPECT_FALSE(has_video_ending("a.wav"));
  EXPECT_FALSE(has_video_ending("mp4"));
}

}  // namespace
}  // namespace perceiver
