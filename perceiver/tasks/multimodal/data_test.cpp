#include "perceiver/tasks/multimodal/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/multimodal/clips_test.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class ClipData : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
    write_clips(folder, 3);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::unique_ptr<Task> task(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), "data.train=['" + folder.string() + "']");
    at::manual_seed(0);
    return make_task(tiny_multimodal(), overrides);
  }

  static Example get(const Dataset& data, int64_t index, uint64_t epoch = 0) {
    Rng rng(0, epoch, index);
    return data.get(index, rng);
  }
  static Example batch(const Dataset& data) {
    Rng rng(0);
    return data.batch({get(data, 0), get(data, 1), get(data, 2)}, rng);
  }

  // What becomes of a row of the table that names this file, with the class "low".
  std::string error_with(const std::string& name, const std::string& bytes,
                         const std::vector<std::string>& overrides = {}) const {
    write_file(folder / name, bytes);
    return error_of_only(name, overrides);
  }
  std::string error_of_only(const std::string& name,
                            const std::vector<std::string>& overrides = {}) const {
    write_file(folder / "labels.csv", "clip,pitch\nc1,high\n" + name + ",low\nc2,low\nc3,high\n");
    std::vector<std::string> all = {"data.held_out_per_class=0"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const auto made = task(all);
    const auto data = made->training()->dataset(Split::kTrain);
    return error_of([&] { get(*data, 1); });
  }

  fs::path folder = fs::path(testing::TempDir()) / ("clips_" + std::to_string(getpid()));
};

TEST_F(ClipData, ASpectrogramIsMadeBesideTheSamples) {
  const auto made =
      task({"model.audio='mel'", "model.mel.samples_per_second=1600", "model.mel.window_samples=32",
            "model.mel.hop_samples=16", "model.mel.num_energies=4", "model.mel.high_hz=600.0"});
  const auto data = made->training()->dataset(Split::kTrain);
  const Example one = get(*data, 0);
  const int64_t samples = one.at("audio").size(0);
  EXPECT_EQ(one.at("heard").sizes(), (std::vector<int64_t>{samples / 16 * 4, 1}));
  EXPECT_FALSE(get(*task()->training()->dataset(Split::kTrain), 0).contains("heard"));
  const auto sets = batch(*data);
  EXPECT_TRUE(made->training()->loss(sets).sum.isfinite().item<bool>());
}

TEST_F(ClipData, PointsAreDrawnForEachExampleAndComeWithItsTargets) {
  const auto made = task();
  const auto data = made->training()->dataset(Split::kTrain);
  ASSERT_EQ(data->size(), 4);  // one of three is held out of each class
  const Example three = batch(*data);
  EXPECT_EQ(three.at("image_points").sizes(), (std::vector<int64_t>{3, 24}));
  EXPECT_EQ(three.at("audio_targets").sizes(), (std::vector<int64_t>{3, 6, 16}));
  EXPECT_EQ(three.at("hidden").sizes(), (std::vector<int64_t>{3, 1}));
  EXPECT_FALSE(three.at("image_points")[0].equal(three.at("image_points")[1]));
  EXPECT_FALSE(get(*data, 0, 1).at("image_points").equal(get(*data, 0).at("image_points")));
  // Every one another pixel, and the colour at its place.
  const Tensor points = three.at("image_points")[1];
  EXPECT_EQ(std::get<0>(at::_unique(points)).size(0), 24);
  for (const int64_t i : {0, 11, 23}) {
    const int64_t p = points[i].item<int64_t>();
    EXPECT_TRUE(three.at("image_targets")[1][i].equal(
        three.at("image")[1][p / 64].select(1, p / 8 % 8).select(1, p % 8)));
  }
  const int64_t patch = three.at("audio_points")[2][5].item<int64_t>();
  EXPECT_TRUE(
      three.at("audio_targets")[2][5].equal(three.at("audio")[2].narrow(0, patch * 16, 16)));
}

// Were they drawn inside, a recorded pass would repeat its first draw for ever.
TEST_F(ClipData, NothingIsDrawnInsideThePass) {
  const auto made = task();
  Training& training = *made->training();
  const Example three = batch(*training.dataset(Split::kTrain));
  const at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const Tensor before = generator.get_state();
  const Loss first = training.loss(three), second = training.loss(three);
  EXPECT_TRUE(first.sum.equal(second.sum));
  EXPECT_TRUE(generator.get_state().equal(before));
  Example others = three;
  others["image_points"] = three.at("image_points").roll(1, 0);
  EXPECT_FALSE(training.loss(others).sum.equal(first.sum)) << "the batch's points are not used";
}

TEST_F(ClipData, TheLossIsTheWeightedSumOfThree) {
  const auto value = [&](const std::vector<std::string>& weights) {
    const auto made = task(weights);
    const Loss loss = made->training()->loss(batch(*made->training()->dataset(Split::kTrain)));
    EXPECT_EQ(loss.weight.item<double>(), 3.0);
    return loss.sum.item<double>();
  };
  const double video = value({"loss.video=1.0", "loss.audio=0.0", "loss.label=0.0"}),
               audio = value({"loss.video=0.0", "loss.audio=1.0", "loss.label=0.0"}),
               label = value({"loss.video=0.0", "loss.audio=0.0", "loss.label=1.0"});
  EXPECT_NEAR(value({"loss.video=0.03", "loss.audio=1.0", "loss.label=1e-4"}),
              0.03 * video + audio + 1e-4 * label, 1e-5);
}

TEST_F(ClipData, HalfOfTheLabelsAreHiddenAsTheConfigSays) {
  const auto none = task({"data.hidden_labels=0.0"}), all = task({"data.hidden_labels=1.0"}),
             half = task();
  const auto hidden = [](Task& made) {
    const auto data = made.training()->dataset(Split::kTrain);
    double count = 0.0;
    for (uint64_t epoch = 0; epoch < 50; ++epoch) {
      for (int64_t i = 0; i < 4; ++i) count += get(*data, i, epoch).at("hidden").item<bool>();
    }
    return count / 200.0;
  };
  EXPECT_EQ(hidden(*none), 0.0);
  EXPECT_EQ(hidden(*all), 1.0);
  EXPECT_NEAR(hidden(*half), 0.5, 0.12);  // three and a half deviations
}

TEST_F(ClipData, TheSameFramesAreTakenWhetherClipsAreKeptOrNot) {
  const auto kept = task(), decoded = task({"data.cache_gib=0.0"});
  for (const Split split : {Split::kTrain, Split::kEval}) {
    const auto a = kept->training()->dataset(split), b = decoded->training()->dataset(split);
    ASSERT_EQ(a->size(), b->size());
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
      const Example x = get(*a, 1, epoch), y = get(*b, 1, epoch);
      for (const auto& [name, tensor] : x) EXPECT_TRUE(tensor.equal(y.at(name))) << name;
    }
  }
}

// 10 log10 of peak^2 over the mean squared error, worked out from what the model decodes at once.
TEST_F(ClipData, MeasuresAreThoseOfEverythingDecoded) {
  const at::NoGradGuard no_grad;
  const auto whole = task(), sliced = task({"model.decode_slice=7", "psnr.audio_peak=2.0"});
  const auto figures = [](Task& made) {
    made.model().eval();
    const auto data = made.training()->dataset(Split::kEval);
    const auto evaluator = made.training()->evaluator();
    Rng rng(0);
    evaluator->add(data->batch({get(*data, 0), get(*data, 1)}, rng));
    return evaluator->figures();
  };
  const auto a = figures(*whole), b = figures(*sliced);
  EXPECT_NEAR(a.at("video_psnr"), b.at("video_psnr"), 1e-3);
  EXPECT_NEAR(a.at("audio_psnr") + 6.0206, b.at("audio_psnr"), 1e-3);
  EXPECT_EQ(a.at("top_1"), b.at("top_1"));
  EXPECT_GT(a.at("compression"), 1.0);
}

TEST_F(ClipData, AClipOfOneFrameIsFilledUpAndOnlyItsOwnIsMeasured) {
  write_clip(folder / "c0.mp4", drawn_frames(1), 25.0, at::zeros({640}));
  const auto made =
      task({"data.held_out=['" + folder.string() + "']", "data.held_out_per_class=0"});
  const Example one = get(*made->training()->dataset(Split::kEval), 0);
  EXPECT_EQ(one.at("num_frames").item<int64_t>(), 1);
  EXPECT_EQ(one.at("image").size(0), 4);
  EXPECT_TRUE(one.at("image")[3].equal(one.at("image")[0]));
}

// Two streams of another size each, one behind the other.
TEST_F(ClipData, AClipThatChangesItsSizeIsReadInTheModelsOrNamed) {
  std::string bytes;
  for (const int64_t side : {32, 64}) {
    const fs::path part = folder / "part.ts";
    const std::vector<Tensor> frames(10, at::full({3, side, side}, 2 * side, at::kByte));
    write_clip(part, frames, 25.0, at::zeros({6400}));
    bytes += read_file(part).bytes;
    fs::remove(part);
  }
  write_file(folder / "c0.ts", bytes);
  fs::remove(folder / "c0.mp4");
  for (const char* cache : {"0.0", "1.0"}) {
    const auto made = task({"data.held_out_per_class=0", std::string("data.cache_gib=") + cache});
    const auto data = made->training()->dataset(Split::kTrain);
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
      const std::string error = error_of([&] {
        EXPECT_EQ(get(*data, 0, epoch).at("image").sizes(), (std::vector<int64_t>{4, 3, 8, 8}));
      });
      EXPECT_TRUE(error == "no error" || error.starts_with((folder / "c0.ts").string() + ": "))
          << error;
    }
  }
}

TEST_F(ClipData, WhatCannotBeReadIsNamed) {
  const std::string place = (folder / "x.mp4").string();
  write_clip(folder / "x.mp4", drawn_frames(6));
  EXPECT_EQ(error_of_only("x"), place + ": has no sound, expected a clip with sound");
  EXPECT_EQ(error_with("x.mp4", "hello there"),
            place + ": not a video or sound: invalid data found when processing input");
  // Cut off, and with a table of contents that goes on to 16 MiB and more.
  std::string bytes = read_file(folder / "c0.mp4").bytes;
  EXPECT_TRUE(error_with("x.mp4", bytes.substr(0, bytes.size() / 2)).starts_with(place + ": "));
  bytes[bytes.find("stco") + 12] = '\xff';
  const std::string error = error_with("x.mp4", bytes);
  EXPECT_TRUE(error.starts_with(place + ": ") && error.ends_with("; cut short?")) << error;
  fs::remove(place);
  EXPECT_NE(error_of_only("x").find("labels.csv:3: "), std::string::npos) << error_of_only("x");
  EXPECT_EQ(error_of([&] {
              task({"model.num_classes=3", "data.held_out_per_class=0"})
                  ->training()
                  ->dataset(Split::kTrain);
            }),
            folder.string() + ": clips of 2 classes, the model has 3 (model.num_classes)");
}

}  // namespace
}  // namespace perceiver
