// The paper's models as a config of arrays says them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/imagenet/model.h"

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

}  // namespace
}  // namespace perceiver
