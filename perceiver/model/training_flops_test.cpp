#include "perceiver/model/training_flops.h"

#include <gtest/gtest.h>

#include "perceiver/model/perceiver_io.h"

namespace perceiver {
namespace {

class TrainingFlopsTest : public testing::Test {
 protected:
  TrainingFlopsTest() { summary.add("", model->parts(30, 11)); }

  double counted_without(const std::string& frozen) {
    for (auto& item : model->named_parameters()) {
      item.value().set_requires_grad(frozen.empty() || !item.key().starts_with(frozen));
    }
    return training_flops(summary, *model);
  }

  double forward(const std::string& prefix) const {
    double flops = 0.0;
    for (const Part& part : summary.parts) {
      if (part.name.starts_with(prefix)) flops += static_cast<double>(part.flops);
    }
    return flops;
  }

  PerceiverIo model{PerceiverIoChannels{.inputs = 20, .queries = 12, .outputs = 5},
                    EncoderConfig{.num_latents = 6,
                                  .latent_channels = 16,
                                  .num_blocks = 3,
                                  .self_attends_per_block = 2,
                                  .num_cross_attends = 2},
                    DecoderConfig{}};
  ModelSummary summary;
};

TEST_F(TrainingFlopsTest, AStepOfAWholeModelIsThreeForwardPasses) {
  EXPECT_EQ(counted_without(""), 3.0 * forward(""));
}

TEST_F(TrainingFlopsTest, AFrozenEncoderIsOnlyRunForward) {
  EXPECT_EQ(counted_without("encoder."), forward("encoder.") + 3.0 * forward("decoder."));
}

// Gradients go through it to the encoder, but not to its weights.
TEST_F(TrainingFlopsTest, AFrozenDecoderIsRunBackwardForItsInputsAlone) {
  const double decoder = counted_without("decoder.") - 3.0 * forward("encoder.");
  EXPECT_GT(decoder, 2.0 * forward("decoder."));
  EXPECT_LT(decoder, 3.0 * forward("decoder."));
}

TEST_F(TrainingFlopsTest, WithoutAnythingToTrainItIsAForwardPass) {
  for (auto& parameter : model->parameters()) parameter.set_requires_grad(false);
  EXPECT_EQ(training_flops(summary, *model), forward(""));
}

}  // namespace
}  // namespace perceiver
