// Ten losses of ten steps on a tiny fixed batch, task by task: whatever changes them has changed
// how models are trained. The values are this program's own, from the run in which each task was
// first trained; what they should be is held by the tests of optimisers, data and losses.
#include "tests/ten_losses.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

class TenLosses : public TrainTest {
 protected:
  std::vector<double> ten(const std::vector<std::string>& overrides) {
    at::set_num_threads(1);  // sums are added up in the same order on every machine
    Model model = make(overrides);
    Trainer trainer(model, {});
    return losses(trainer, 10);
  }
};

TEST_F(TenLosses, LanguageByLamb) {
  expect_losses(ten({"train.overfit_batch=true"}),
                {5.539818, 5.483355, 5.458868, 5.434824, 5.411897, 5.390560, 5.371396, 5.355245,
                 5.342807, 5.334250});
}

TEST_F(TenLosses, LanguageByAdamW) {
  expect_losses(ten({"train.overfit_batch=true", "train.optimizer=adamw", "train.clip=1.0"}),
                {5.539818, 5.144507, 4.324020, 3.521937, 2.967666, 2.690431, 2.580810, 2.545099,
                 2.530540, 2.524072});
}

}  // namespace
}  // namespace perceiver
