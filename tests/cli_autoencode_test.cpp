// `perceiver autoencode`, driven through a shell as a user would.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "perceiver/media/clip_test.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t kSize = 16;

// 16 frames of 16 x 16 with sound of 16 kHz.
constexpr const char* kConfig = R"(task = "multimodal"
[model]
num_frames = 16
image_size = 16
samples_per_frame = 640
num_image_bands = 3
num_audio_bands = 5
num_classes = 11
label_query_channels = 20
output_channels = 12
train_queries = { audio = 4, image = 7 }
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 }
)";

Tensor tone(double radians_per_sample) {
  return (at::arange(16'000) * radians_per_sample).sin() * 0.5;
}

// A file with a video that reads as its middle square: dark above, bright below, ever brighter.
std::vector<Tensor> brightening(int64_t num_frames) {
  std::vector<Tensor> frames;
  for (int64_t i = 0; i < num_frames; ++i) {
    Tensor frame = at::full({3, 32, 48}, i * 2, at::kByte);
    frame.narrow(1, 16, 16).fill_(120 + i * 2);
    frames.push_back(frame);
  }
  return frames;
}

class Autoencode : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
    fs::remove_all(folder);
    fs::create_directories(folder);
    write_file(folder / "small.toml", kConfig);
    write_clip(folder / "clip.mp4", brightening(37), 25.0, tone(0.2));
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::string with_model(const std::string& arguments) const {
    return "autoencode -q -m " + at("small.toml") + " " + arguments;
  }
  Json result_of(const std::string& arguments) const {
    const Result result = run(with_model(arguments + " --json -o " + at("out.mp4")));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out, nullptr, false);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::path& path : sorted_entries(folder)) names.push_back(path.filename());
    return names;
  }

  const fs::path folder =
      fs::path(testing::TempDir()) / ("perceiver_autoencode_" + std::to_string(getpid()));
};

TEST_F(Autoencode, PutsTheOriginalBesideTheReconstruction) {
  const Result result = run(with_model(at("clip.mp4") + " -k 2 -o " + at("out.mp4")));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("video PSNR  ")) << result.out;
  EXPECT_NE(result.out.find(" dB\naudio PSNR  "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" class "), std::string::npos) << result.out;
  EXPECT_TRUE(result.out.ends_with("\n" + at("out.mp4") + "\n")) << result.out;

  VideoReader video(read_file(at("out.mp4")));
  EXPECT_EQ(video.info().height, kSize);
  EXPECT_EQ(video.info().width, 2 * kSize + 4);
  EXPECT_EQ(video.info().frames_per_second, 25.0);
  EXPECT_TRUE(video.info().has_sound);
  int64_t count = 0;
  while (const std::optional<Tensor> frame = video.next()) {
    // Rows and columns away from edges, which compression blurs.
    const auto grey = [&](int64_t row, int64_t column) {
      return frame->narrow(1, row, 4).narrow(2, column, 12).to(at::kFloat).mean().item<double>();
    };
    EXPECT_NEAR(grey(1, 1), count * 2.0, 12.0) << count;
    EXPECT_NEAR(grey(11, 1), 120.0 + count * 2.0, 12.0) << count;
    ++count;
  }
  EXPECT_EQ(count, 37);
}

TEST_F(Autoencode, AsJsonIsOneDocument) {
  const Json result = result_of(at("clip.mp4"));
  EXPECT_EQ(result["file"], at("clip.mp4"));
  EXPECT_EQ(result["output"], at("out.mp4"));
  EXPECT_EQ(result["frames"], 37);
  EXPECT_EQ(result["chunks"], 3);
  EXPECT_GT(result["psnr"]["video"].get<double>(), 0.0);
  EXPECT_GT(result["psnr"]["audio"].get<double>(), 0.0);
  ASSERT_EQ(result["top"].size(), 5);
  double before = 1.0;
  for (const Json& item : result["top"]) {
    EXPECT_LE(item["probability"].get<double>(), before);
    before = item["probability"].get<double>();
    EXPECT_EQ(item["name"], "class " + std::to_string(item["index"].get<int64_t>()));
  }
}

TEST_F(Autoencode, TakesAPartOfTheClip) {
  EXPECT_EQ(result_of(at("clip.mp4") + " --seconds 0.2-1")["frames"], 20);
  EXPECT_EQ(result_of(at("clip.mp4") + " --frames 7")["frames"], 7);
  EXPECT_EQ(result_of(at("clip.mp4") + " --seconds 1-9 --frames 16")["frames"], 12);
}

TEST_F(Autoencode, WhatIsMaskedIsNotSeen) {
  write_clip(folder / "other.mp4", drawn_frames(37), 25.0, tone(0.05));
  const auto labels = [&](const std::string& arguments) { return result_of(arguments)["top"]; };
  const Json seen = labels(at("clip.mp4"));
  EXPECT_EQ(labels(at("clip.mp4") + " --mask label"), seen);
  EXPECT_NE(labels(at("other.mp4")), seen);
  EXPECT_NE(labels("--mask audio " + at("clip.mp4")), seen);
  EXPECT_NE(labels("--mask video " + at("clip.mp4")), seen);
  EXPECT_EQ(labels("--mask audio --mask video " + at("clip.mp4")),
            labels("--mask audio --mask video " + at("other.mp4")));
}

TEST_F(Autoencode, WhatIsMissingCanBeFilledIn) {
  write_clip(folder / "silent.mp4", brightening(5));
  const Json silent = result_of(at("silent.mp4") + " --mask audio");
  EXPECT_EQ(silent["frames"], 5);
  EXPECT_TRUE(silent["psnr"]["audio"].is_null());
  EXPECT_FALSE(silent["psnr"]["video"].is_null());
  EXPECT_TRUE(VideoReader(read_file(at("out.mp4"))).info().has_sound);

  write_file(folder / "tone.wav", encode_wav({tone(0.2).unsqueeze(0), 16'000}));
  const Json heard = result_of(at("tone.wav") + " --mask video");
  EXPECT_EQ(heard["frames"], 25);
  EXPECT_TRUE(heard["psnr"]["video"].is_null());
  EXPECT_FALSE(heard["psnr"]["audio"].is_null());

  expect_complaint(with_model(at("silent.mp4")),
                   at("silent.mp4") + ": has no sound; --mask audio lets the model fill it in");
  expect_complaint(with_model(at("tone.wav")),
                   at("tone.wav") + ": has no picture; --mask video lets the model fill it in");
  expect_complaint(with_model("--sound original --mask audio " + at("silent.mp4")),
                   at("silent.mp4") + ": has no sound for --sound original; take reconstruction");
}

TEST_F(Autoencode, TheOriginalSoundCanBeKept) {
  result_of(at("clip.mp4") + " --sound original");
  const Sound kept = decode_sound(read_file(at("out.mp4")));
  EXPECT_EQ(kept.samples_per_second, 16'000);
  // A tone of amplitude 0.5, which no untrained model gives back.
  const Tensor middle = kept.samples[0].narrow(0, 4000, 8000);
  EXPECT_NEAR(middle.std().item<double>(), 0.5 / std::sqrt(2.0), 0.05);
}

TEST_F(Autoencode, ReadsTheStandardInputAndNamesItsOutput) {
  const std::string program = fs::absolute(std::getenv("PERCEIVER_PROGRAM"));
  const auto shell = [&](const std::string& arguments) {
    return std::system(("cd " + folder.string() + " && " + program +
                        " autoencode -q -m small.toml " + arguments + " >/dev/null")
                           .c_str());
  };
  EXPECT_EQ(shell("- --frames 2 <clip.mp4"), 0);
  EXPECT_TRUE(fs::exists(folder / "autoencoded.mp4"));
  EXPECT_EQ(shell("clip.mp4 --frames 2"), 0);
  EXPECT_TRUE(fs::exists(folder / "clip-autoencoded.mp4"));
}

TEST_F(Autoencode, AFolderOfPicturesNeedsNoContainer) {
  const Result result = run(with_model(at("clip.mp4") + " --frames 2 -o " + at("pictures")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder / "pictures" / "000001.png"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "sound.wav"));
}

TEST_F(Autoencode, MistakesAreOneLineAndLeaveNothingBehind) {
  write_file(folder / "text.mp4", "not a video at all\n");
  fs::create_symlink("/dev/full", folder / "full.mp4");
  const std::vector<std::string> before = files();
  const std::string clip = at("clip.mp4");
  expect_complaint(with_model(at("nowhere.mp4")),
                   at("nowhere.mp4") + ": cannot open: No such file or directory");
  expect_complaint(with_model(clip + " -o " + clip),
                   "--output " + clip + ": is the clip itself; give another path");
  expect_complaint(with_model(clip + " -o -"),
                   "--output -: a video cannot go to the standard output; give a path");
  for (const std::string seconds : {"2", "3-2", "1-inf", "1-2x", "1e9-2e9"}) {
    expect_complaint(
        with_model(clip + " --seconds " + seconds),
        "--seconds: expected a beginning and an end such as 2-3.5, got '" + seconds + "'");
  }
  expect_complaint(with_model(clip + " --seconds 5-6 -o " + at("out.mp4")),
                   clip + ": has ended before --seconds 5-6");
  expect_complaint(with_model(at("text.mp4")),
                   at("text.mp4") +
                       ": not a video or sound: invalid data found when processing "
                       "input");
  expect_complaint(with_model(clip + " -o " + at("nowhere/out.mp4")),
                   at("nowhere/out.mp4") + ": cannot write: No such file or directory");
  expect_complaint(with_model(clip + " -o " + at("full.mp4")),
                   at("full.mp4") + ": cannot write: No space left on device");
  expect_complaint(with_model(clip + " -o " + at("out.txt")),
                   at("out.txt") +
                       ": '.txt' is no ending of a video, expected .mp4, .mkv, .mov, .avi, .webm, "
                       ".mpg, .mpeg, .m4v, .gif, .ogv, .3gp, .ts, .flv, or none for a folder of "
                       "pictures");
  expect_complaint("autoencode -q -m " + config("flow_mini.toml") + " " + clip,
                   config("flow_mini.toml") +
                       ": autoencode needs a model of the task multimodal, got optical_flow");
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace perceiver
