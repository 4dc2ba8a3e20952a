// Ten losses of ten steps of the entity encoders on a tiny fixed batch, as
// tests/ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/starcraft/states_file_test.h"
#include "perceiver/train/tiny_test.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRest = R"(
[model.entities]
num_entities = 12
num_types = 3
output_channels = 16
pointer_channels = 16
max_selected = 4
[train]
optimizer = "adamw"
learning_rate = 0.003
weight_decay = 0.0
steps = 300
batch = 8
overfit_batch = true
)";

File tiny_perceiver() {
  return {"tiny_starcraft.toml", R"(
task = "starcraft"
[model]
input_channels = 16
query_channels = 16
encoder = { num_latents = 8, latent_channels = 16, self_attends_per_block = 2 }
)" + std::string(kRest)};
}

File tiny_transformer() {
  return {"tiny_alphastar.toml", R"(
task = "alphastar_transformer"
[model]
input_channels = 16
transformer = { num_layers = 2, num_heads = 2, mlp_channels = 32 }
)" + std::string(kRest)};
}

class StarCraftLosses : public testing::Test {
 protected:
  void SetUp() override { file = write_states(folder, 8); }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<double> some(const File& config, int64_t steps) const {
    at::set_num_threads(1);
    at::manual_seed(0);
    const std::vector<std::string> data = {"data.train=['" + file.string() + "']"};
    Model model = new_model(config, data);
    Trainer trainer(model, {});
    return losses(trainer, steps);
  }

  fs::path folder = fs::path(testing::TempDir()) / ("states_" + std::to_string(getpid())), file;
};

TEST_F(StarCraftLosses, PerceiverIo) {
  expect_losses(some(tiny_perceiver(), 10), {3.929933, 3.572022, 3.323550, 3.126026, 2.980058,
                                             2.854666, 2.740719, 2.651824, 2.575141, 2.508414});
}

TEST_F(StarCraftLosses, Transformer) {
  expect_losses(some(tiny_transformer(), 10), {3.961421, 3.929842, 3.636792, 3.593126, 3.565590,
                                               3.535800, 3.502726, 3.472276, 3.438113, 3.395260});
}

TEST_F(StarCraftLosses, BothLearnABatchByHeart) {
  for (const File& config : {tiny_perceiver(), tiny_transformer()}) {
    const std::vector<double> all = some(config, 300);
    EXPECT_LT(all.back(), 0.1 * all.front()) << config.name;
  }
}

}  // namespace
}  // namespace perceiver
