// Ten losses of ten steps of a model of clips on a tiny fixed batch, as tests/ten_losses_test.cpp.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/media/video.h"
#include "perceiver/tasks/multimodal/clips_test.h"
#include "perceiver/train/tiny_test.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class MultimodalLosses : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
    write_clips(folder, 3);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<double> losses_of(int64_t steps) const {
    at::set_num_threads(1);  // sums are added up in the same order on every machine
    const std::vector<std::string> overrides = {"data.train=['" + folder.string() + "']",
                                                "train.overfit_batch=true"};
    at::manual_seed(0);
    Model model = new_model(tiny_multimodal(), overrides);
    Trainer trainer(model, {});
    return losses(trainer, steps);
  }

  fs::path folder = fs::path(testing::TempDir()) / ("ten_clips_" + std::to_string(getpid()));
};

TEST_F(MultimodalLosses, OfVideoSoundAndLabel) {
  expect_losses(losses_of(10), {1.151691, 1.171620, 0.799449, 0.771397, 0.714230, 0.625551,
                                0.606950, 0.580421, 0.556585, 0.511060});
}

TEST_F(MultimodalLosses, ABatchIsLearnedByHeart) {
  const std::vector<double> all = losses_of(200);
  EXPECT_LT(all.back(), 0.3 * all.front());
}

}  // namespace
}  // namespace perceiver
