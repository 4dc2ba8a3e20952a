// Ten losses of several processes over Gloo and the loopback address, and of one that takes as many
// small batches: the same, bit for bit where there are two, for a + b is one sum in either order.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "perceiver/media/image.h"
#include "perceiver/ranks/launch.h"
#include "perceiver/ranks/ranks.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr const char *kKind = "TEN_LOSSES_KIND", *kFolder = "TEN_LOSSES_FOLDER";

// With dropout, batch norm and a clipped norm: what a rank by itself would get wrong.
std::string config_of(const std::string& kind) {
  if (kind == "language") return fmt::format("{}clip = 0.5\n", tiny_config().bytes);
  if (kind == "pictures") {
    return R"(
task = "imagenet"
[model]
input = "conv"
image_size = 16
crop = 1.0
content_channels = 8
num_bands = 2
num_classes = 3
query_channels = 16
[model.encoder]
num_latents = 4
latent_channels = 16
self_attends_per_block = 1
self_attend = { num_heads = 2, dropout = 0.1 }
[train]
learning_rate = 0.01
steps = 100
batch = 6
clip = 1.0
)";
  }
  return R"(
task = "optical_flow"
[model]
height = 16
width = 24
num_bands = 4
patch = "conv"
patch_channels = 8
[model.encoder]
num_latents = 8
latent_channels = 16
num_blocks = 1
self_attends_per_block = 2
self_attend.num_heads = 2
[data]
pairs = 12
generated_size = 1.0
generator.textures = 4
[train]
learning_rate = 0.01
steps = 100
batch = 6
)";
}

void write_data(const std::string& kind, const fs::path& folder) {
  fs::create_directories(folder);
  Rng rng(0);
  if (kind == "pictures") {
    for (const char* name : {"ant", "bee", "cat"}) {
      fs::create_directories(folder / "data" / name);
      for (int i = 0; i < 4; ++i) {
        Tensor pixels = at::empty({3, 20, 20}, at::kByte);
        for (int64_t j = 0; j < pixels.numel(); ++j) {
          pixels.data_ptr<uint8_t>()[j] = static_cast<uint8_t>(rng.integer(256));
        }
        write_file(folder / "data" / name / fmt::format("{}.png", i), encode_png(pixels));
      }
    }
  } else if (kind == "language") {
    std::string text;
    for (int i = 0; i < 60; ++i) text += fmt::format("line {} of a text\n", rng.integer(1000));
    write_file(folder / "data", text);
  }
}

std::vector<double> ten_losses(const std::string& kind, const fs::path& folder,
                               std::vector<std::string> overrides, Ranks* ranks) {
  at::set_num_threads(1);
  if (kind != "flow") {
    overrides.push_back(fmt::format("data.train=['{}']", (folder / "data").string()));
  }
  overrides.push_back("train.batch=6");
  at::manual_seed(0);
  Model model = new_model(File{kind + ".toml", config_of(kind)}, overrides);
  Trainer trainer(model, {.ranks = ranks});
  return losses(trainer, 10);
}

// One rank, started by the tests below: leaves its losses in the folder.
TEST(TenLossesOfRanks, ARank) {
  const char *kind = std::getenv(kKind), *folder = std::getenv(kFolder);
  if (kind == nullptr || folder == nullptr) GTEST_SKIP() << "is started by the tests of this file";
  const std::unique_ptr<Ranks> ranks = Ranks::join(*place_in_environment(), {});
  const std::vector<double> all = ten_losses(kind, folder, {}, ranks.get());
  write_file(fs::path(folder) / std::to_string(ranks->rank()),
             std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double)));
}

class RanksTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { write_data(GetParam(), folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<double> of_ranks(int64_t size) const {
    setenv(kKind, GetParam(), 1);
    setenv(kFolder, folder.c_str(), 1);
    launch_ranks(
        {.words = {"/proc/self/exe", "--gtest_filter=TenLossesOfRanks.ARank", "--gtest_brief=1"},
         .size = size});
    const std::string first = read_file(folder / "0").bytes;
    for (int64_t rank = 1; rank < size; ++rank) {
      EXPECT_EQ(read_file(folder / std::to_string(rank)).bytes, first);
    }
    std::vector<double> losses(first.size() / sizeof(double));
    std::memcpy(losses.data(), first.data(), first.size());
    return losses;
  }

  std::vector<double> alone(int64_t accumulate) const {
    return ten_losses(GetParam(), folder, {fmt::format("train.accumulate={}", accumulate)},
                      nullptr);
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("ranks_" + std::to_string(getpid()));
};

TEST_P(RanksTest, TwoAreOneWithTwoPartsBitForBit) { EXPECT_EQ(of_ranks(2), alone(2)); }

TEST_P(RanksTest, ThreeAreOneWithThreePartsToRounding) {
  const std::vector<double> three = of_ranks(3), one = alone(3);
  ASSERT_EQ(three.size(), 10u);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(three[i], one[i], 1e-6 * one[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Of, RanksTest, testing::Values("language", "pictures", "flow"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace perceiver
