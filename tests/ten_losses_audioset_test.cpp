// Ten losses of ten steps of a model of sounds on a tiny fixed batch, as tests/ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/media/sound.h"
#include "perceiver/train/tiny_test.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class AudioSetLosses : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    for (int i = 0; i < 32; ++i) {
      const Tensor tone = (at::arange(3000) * (0.1 + 0.2 * (i % 4)) + i).sin() * 0.5;
      write_file(folder / (std::to_string(i % 4) + "_" + std::to_string(i) + ".wav"),
                 encode_wav({tone.view({1, -1}), 8000}));
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<double> losses_of(std::vector<std::string> overrides, int64_t steps) const {
    at::set_num_threads(1);  // sums are added up in the same order on every machine
    for (const std::string& setting :
         {"data.train=['" + folder.string() + "']", std::string("train.overfit_batch=true"),
          std::string("train.steps=200"), std::string("train.epochs=0"),
          std::string("train.warmup_steps=0"), std::string("train.batch=8"),
          std::string("model.num_classes=4"), std::string("data.pattern='{label}_{take}'"),
          std::string("data.held_out_rows=''"), std::string("model.encoder.num_latents=8")}) {
      overrides.push_back(setting);
    }
    at::manual_seed(0);
    Model model = new_model(read_file(shipped("configs/audioset_mini.toml")), overrides);
    Trainer trainer(model, {});
    return losses(trainer, steps);
  }

  fs::path folder = fs::path(testing::TempDir()) / ("tones_" + std::to_string(getpid()));
};

TEST_F(AudioSetLosses, OneLabel) {
  expect_losses(losses_of({}, 10), {3.121549, 1.763034, 1.957631, 1.312964, 1.463650, 1.310404,
                                    1.298647, 1.149176, 1.076590, 0.889796});
}

TEST_F(AudioSetLosses, SeveralLabels) {
  expect_losses(losses_of({"model.several_labels=true"}, 10),
                {1.040594, 0.583198, 0.612445, 0.527373, 0.530542, 0.503457, 0.433822, 0.388914,
                 0.319593, 0.264271});
}

TEST_F(AudioSetLosses, BothDecodersLearnABatchByHeart) {
  for (const char* decode_by : {"query", "average"}) {
    const std::vector<double> all = losses_of({std::string("model.decode_by=") + decode_by}, 120);
    EXPECT_LT(all.back(), 0.1 * all.front()) << decode_by;
  }
}

}  // namespace
}  // namespace perceiver
