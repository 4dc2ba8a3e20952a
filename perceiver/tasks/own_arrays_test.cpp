// The paper's models as a config of arrays says them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

// A picture's class, said in this grammar, is the ImageNet model with Fourier positions: the same
// parameters, and with the same weights the same logits.
TEST(OwnArrays, APicturesClassIsTheImageNetModel) {
  const ImageNetConfig sizes = {.image_size = 8,
                                .num_bands = 4,
                                .num_classes = 5,
                                .query_channels = 16,
                                .encoder = {.num_latents = 4,
                                            .latent_channels = 16,
                                            .num_blocks = 2,
                                            .self_attends_per_block = 1,
                                            .self_attend = {.num_heads = 2}}};
  ImageNet theirs(sizes);
  ArraysConfig config;
  config.inputs["picture"] = {.parts = {{.number = ":", .normalise = Normalise::kNone},
                                        {.position = "fourier", .bands = 4}},
                              .shape = {8, 8, 3}};
  config.queries["label"] = {.channels = 16,
                             .loss = ArrayLoss::kCrossEntropy,
                             .measure = {"accuracy"},
                             .target_shape = {1},
                             .classes = 5};
  config.encoder = sizes.encoder;
  config.decoder = sizes.decoder;
  ArraysModel ours(config);
  EXPECT_EQ(num_parameters(*ours), num_parameters(*theirs));
  const at::NoGradGuard no_grad;
  const auto from = theirs->named_parameters();
  for (auto& item : ours->named_parameters()) {
    std::string name = item.key();
    if (name == "query_label.queries") name = "query.queries";
    if (name.starts_with("head_label.")) name = "decoder.output." + name.substr(11);
    if (name.starts_with("perceiver.")) name = name.substr(10);
    ASSERT_TRUE(from.contains(name)) << item.key();
    item.value().copy_(from[name]);
  }
  ours->eval();
  theirs->eval();
  const Tensor pictures = at::rand({2, 3, 8, 8});
  const Example batch = {{"inputs.picture.0", pictures.permute({0, 2, 3, 1}).flatten(1, 2)}};
  const Tensor logits = ours(batch).at("label").squeeze(1);
  EXPECT_TRUE(logits.allclose(theirs(pictures), 1e-5, 1e-6));
}

// The shipped config of small pictures in words of one's own: its patches, its normalisation, its
// two looks at the picture.
constexpr const char* kSmallPictures = R"(
task = "arrays"

[inputs.picture]
shape = [32, 32, 3]
patch = [4, 4]
fields = [
  {number = ":", mean = [123.675, 116.28, 103.53], scale = [58.395, 57.12, 57.375]},
  {position = "fourier", bands = 16},
]

[queries.label]
channels = 256
loss = "cross_entropy"
target_shape = [1]
classes = 10

[model.encoder]
num_latents = 64
latent_channels = 256
num_blocks = 2
self_attends_per_block = 6
num_cross_attends = 2
cross_attend = { num_heads = 16, qk_channels = 256, v_channels = 256 }
self_attend.num_heads = 8

[model.decoder.cross_attend]
num_heads = 8
)";

// What a parameter of ours is called in the ImageNet model.
std::string their_name(std::string name) {
  if (name == "query_label.queries") return "query.queries";
  if (name.starts_with("head_label.")) return "decoder.output." + name.substr(11);
  return name.starts_with("perceiver.") ? name.substr(10) : name;
}

TEST(OwnArrays, TheSmallPicturesConfigHasTheSameParametersAndLosses) {
  const std::vector<std::string> plain = {"data.mixup=0.0", "data.cutmix=false",
                                          "train.label_smoothing=0.0"};
  const std::unique_ptr<Task> theirs =
      make_task(read_file(shipped("configs") / "imagenet_mini.toml"), plain);
  const auto settings = read_settings({"own.toml", kSmallPictures});
  const std::unique_ptr<Task> ours = settings->make();
  const auto from = theirs->model().named_parameters();
  const auto to = ours->model().named_parameters();
  EXPECT_EQ(from.size(), to.size());
  const at::NoGradGuard no_grad;
  for (const auto& item : to) {
    ASSERT_TRUE(from.contains(their_name(item.key()))) << item.key();
    const Tensor& value = from[their_name(item.key())];
    ASSERT_EQ(item.value().sizes(), value.sizes()) << item.key();
    Tensor(item.value()).copy_(value);
  }
  const Tensor pixels = at::randint(256, {3, 3, 32, 32}, at::kByte);
  const Tensor labels = at::tensor({7, 0, 9}, at::kLong);
  const ArraysConfig& config = *settings->model<ArraysConfig>();
  const ArrayTable table = table_of(
      "pictures", {{"picture", pixels.permute({0, 2, 3, 1}).contiguous()}, {"label", labels}},
      needed_arrays(config, /*targets=*/true));
  std::vector<Example> examples;
  for (int64_t i = 0; i < 3; ++i) {
    Rng rng(0);
    examples.push_back(ExampleMaker(config).make(table, i, rng, ExampleUse::kTrain));
  }
  const Loss own = ours->training()->loss(stack(examples));
  const Loss imagenet = theirs->training()->loss(
      {{"pixels", pixels.unsqueeze(1)}, {"labels", labels.reshape({3, 1, 1})}});
  EXPECT_TRUE(own.weight.equal(imagenet.weight));
  EXPECT_NEAR(own.sum.item<double>(), imagenet.sum.item<double>(), 1e-4);
  EXPECT_GT(own.sum.item<double>(), 3.0) << "of three guesses among ten";
}

}  // namespace
}  // namespace perceiver
