#include "perceiver/tasks/audioset/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/media/sound.h"
#include "perceiver/tasks/application.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

File small_config(const std::string& labels) {
  return {"small.toml", R"(
task = "audioset"
[model]
video = false
num_frames = 8
num_samples = 2560
audio = "mel"
mel = { samples_per_second = 8000, window_samples = 128, hop_samples = 64, num_energies = 4, high_hz = 4000.0 }
num_audio_bands = 5
query_channels = 24
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 2 }
)" + labels};
}

class SoundData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    for (int i = 0; i < 4; ++i) {
      const Tensor tone = (at::arange(8000) * (0.1 + 0.1 * i)).sin() * 0.5;
      write_file(folder / ("s" + std::to_string(i) + ".wav"),
                 encode_wav({tone.view({1, -1}), 8000}));
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  std::unique_ptr<Task> make(const std::string& csv, const std::string& labels) const {
    write_file(folder / "set.csv", csv);
    const std::vector<std::string> overrides = {"data.train=['" + folder.string() + "']",
                                                "data.held_out=['" + folder.string() + "']"};
    return make_task(small_config(labels), overrides);
  }
  std::string error_of_first(const std::string& csv, const std::string& labels) const {
    return error_of([&] {
      Rng rng(0);
      make(csv, labels)->training()->dataset(Split::kTrain)->get(0, rng);
    });
  }
  std::string place(int line) const {
    return (folder / "set.csv").string() + ":" + std::to_string(line);
  }

  at::NoGradGuard no_grad;
  fs::path folder = fs::path(testing::TempDir()) / ("sounds_" + std::to_string(getpid()));
};

const char* const kOne = "num_classes = 2\nseveral_labels = false\n";

TEST_F(SoundData, IdsOfAudioSetAreItsClassesInTheReleasedOrder) {
  const auto task = make(
      "# a\n# b\n# YTID, start_seconds, end_seconds, positive_labels\n"
      "s0, 0.000, 1.000, \"/m/09x0r,/m/05zppz\"\ns1, 0.000, 1.000, \"/m/02zsn\"\n",
      "");
  Rng rng(0);
  const auto data = task->training()->dataset(Split::kTrain);
  const Tensor labels = data->get(0, rng).at("labels");
  EXPECT_EQ(labels.size(0), 527);
  EXPECT_TRUE(labels.nonzero().flatten().equal(at::tensor({0, 1}, at::kLong)));
  EXPECT_TRUE(data->get(1, rng).at("labels").nonzero().flatten().equal(at::tensor({2}, at::kLong)));
  EXPECT_EQ(task->training()->labels().at(2), "Female speech, woman speaking");
}

// What a set is measured by is what `classify` says of each file.
TEST_F(SoundData, AveragedViewsAreThoseOfClassify) {
  for (const char* labels : {kOne, "num_classes = 2\n"}) {
    const auto task = make("file,label\ns0.wav,a\ns1.wav,b\ns2.wav,a\n", labels);
    Training& training = *task->training();
    const auto data = training.dataset(Split::kEval);
    Rng rng(0);
    std::vector<Example> examples;
    for (int64_t i = 0; i < data->size(); ++i) examples.push_back(data->get(i, rng));
    const auto evaluator = training.evaluator();
    evaluator->add(data->batch(examples, rng));
    const Tensor measured = evaluator->state().at("predictions");
    for (int64_t i = 0; i < data->size(); ++i) {
      const std::vector<File> files = {read_file(folder / ("s" + std::to_string(i) + ".wav"))};
      Application& application = *task->application();
      const Tensor asked = application.classify(application.read(files)).mean(0);
      EXPECT_TRUE(at::allclose(measured[i].narrow(0, 0, 2), asked, 1e-4, 1e-5)) << labels;
    }
    EXPECT_TRUE(evaluator->figures().contains("average_precision.a"));
  }
}

TEST_F(SoundData, TheSameBatchHasTheSameLossAndDrawsNothing) {
  const auto task = make("file,label\ns0.wav,a\ns1.wav,b\n", kOne);
  const auto data = task->training()->dataset(Split::kTrain);
  Rng rng(3);
  const std::vector<Example> examples = {data->get(0, rng), data->get(1, rng)};
  const Example batch = data->batch(examples, rng);
  at::manual_seed(7);
  const double once = task->training()->loss(batch).sum.item<double>();
  EXPECT_EQ(once, task->training()->loss(batch).sum.item<double>());
  const Tensor drawn = at::rand({4});
  at::manual_seed(7);
  EXPECT_TRUE(drawn.equal(at::rand({4})));
}

TEST_F(SoundData, BadRowsAndFilesAreNamed) {
  EXPECT_EQ(error_of_first("file,label\ns9.wav,a\ns1.wav,b\ns2.wav,a\n", kOne),
            place(2) + ": 's9.wav' is not in " + folder.string() +
                " or below, expected a file of this name");
  EXPECT_EQ(error_of_first("file,label\ns0.wav,\ns1.wav,b\ns2.wav,a\n", kOne),
            place(2) + ": no label in the column 'label', expected a class");
  EXPECT_EQ(error_of_first("file,labels\ns0.wav,a;b\ns1.wav,b\n", kOne),
            place(2) + ": 2 labels, expected one, or model.several_labels=true");
  EXPECT_EQ(error_of_first("file,label\ns0.wav,/m/nothing\ns1.wav,b\ns2.wav,a\n", kOne),
            place(2) + ": '/m/nothing' is none of AudioSet's 527 classes");
  EXPECT_EQ(error_of_first("file,label\ns0.wav,a\n", kOne),
            folder.string() + ": has 1 classes (a), the model has 2; set model.num_classes=1");
  const std::string wav = read_file(folder / "s0.wav").bytes, file = (folder / "s0.wav").string();
  write_file(file, wav.substr(0, 1000));
  const std::string csv = "file,label\ns0.wav,a\ns1.wav,b\n";
  EXPECT_EQ(error_of_first(csv, kOne),
            file + ": broken WAV: chunk of 16000 bytes where 956 are left; cut short?");
  std::string large = wav;
  large.replace(40, 4, "\xfe\xff\xff\xff");
  write_file(file, large);
  EXPECT_EQ(error_of_first(csv, kOne),
            file + ": broken WAV: chunk of 4294967294 bytes where 16000 are left; cut short?");
  write_file(file, encode_wav({at::ones({1, 1}) * 0.5, 8000}));
  EXPECT_EQ(error_of_first(csv, kOne), "no error");  // one sample, and silence
}

}  // namespace
}  // namespace perceiver
