#include "perceiver/tasks/starcraft/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/starcraft/alphastar_transformer.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

const EntityConfig kEntities = {.num_entities = 10,
                                .num_types = 20,
                                .num_owners = 4,
                                .output_channels = 8,
                                .pointer_channels = 6,
                                .max_selected = 3};

StarCraft tiny() {
  return StarCraft(StarCraftConfig{
      .entities = kEntities,
      .input_channels = 12,
      .query_channels = 16,
      .encoder = {
          .num_latents = 5, .latent_channels = 24, .num_blocks = 1, .self_attends_per_block = 2}});
}

AlphaStarTransformer tiny_transformer() {
  return AlphaStarTransformer(AlphaStarTransformerConfig{
      .entities = kEntities,
      .input_channels = 16,
      .transformer = {.num_layers = 2, .num_heads = 2, .mlp_channels = 32}});
}

// Type, owner, x, y, birth frame, finished; the last four of ten slots are not used.
class StarCraftTest : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    entities = at::stack({at::randint(20, {2, 10}), at::randint(4, {2, 10}),
                          at::randint(200, {2, 10}), at::randint(200, {2, 10}),
                          at::randint(20'000, {2, 10}), at::randint(2, {2, 10})},
                         -1)
                   .to(at::kFloat);
  }

  // Every output of a model, after checks that hold for both.
  template <typename Model>
  void expect_a_masked_set(Model model) {
    const EntityEncoding a = model->forward(entities, mask);
    EXPECT_EQ(a.entity_embeddings.sizes(), (std::vector<int64_t>{2, 10, 8}));
    EXPECT_EQ(a.embedded_entity.sizes(), (std::vector<int64_t>{2, 8}));
    EXPECT_TRUE(a.embedded_entity.ge(0).all().template item<bool>());

    entities.narrow(1, 6, 4).fill_(std::numeric_limits<float>::quiet_NaN());
    const EntityEncoding b = model->forward(entities, mask);
    EXPECT_TRUE(b.embedded_entity.equal(a.embedded_entity));

    const EntityEncoding reversed = model->forward(entities.flip({1}), mask.flip({1}));
    EXPECT_TRUE(at::allclose(reversed.embedded_entity, a.embedded_entity, 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(reversed.entity_embeddings.flip({1}).narrow(1, 0, 6),
                             a.entity_embeddings.narrow(1, 0, 6), 1e-4, 1e-5));
  }

  at::NoGradGuard no_grad;
  Tensor entities, mask = at::arange(10).expand({2, 10}) < 6;
};

TEST_F(StarCraftTest, EntitiesAreASetAndUnusedSlotsDoNotMatter) { expect_a_masked_set(tiny()); }

TEST_F(StarCraftTest, TheSameHoldsForTheTransformer) { expect_a_masked_set(tiny_transformer()); }

TEST_F(StarCraftTest, AnEmptyGameIsFinite) {
  const EntityEncoding encoding = tiny()->forward(entities, at::zeros_like(mask));
  EXPECT_TRUE(encoding.entity_embeddings.isfinite().all().item<bool>());
  EXPECT_TRUE(encoding.embedded_entity.isfinite().all().item<bool>());
}

TEST_F(StarCraftTest, EveryFeatureMatters) {
  StarCraft model = tiny();
  const Tensor before = model->forward(entities, mask).embedded_entity;
  for (int64_t feature = 0; feature < num_features(kEntities); ++feature) {
    Tensor changed = entities.clone();
    changed.select(-1, feature).copy_((entities.select(-1, feature) + 1).remainder(4));
    EXPECT_FALSE(model->forward(changed, mask).embedded_entity.equal(before)) << feature;
  }
}

TEST_F(StarCraftTest, WhatDoesNotFitTheModelIsRefused) {
  StarCraft model = tiny();
  EXPECT_EQ(error_of([&] {
              model->forward(at::zeros({1, 9, 6}), at::ones({1, 9}, at::kBool));
            }),
            "entities has shape [1, 9, 6], expected [*, 10, 6]");
  EXPECT_EQ(error_of([&] { model->forward(entities, mask.narrow(0, 0, 1)); }),
            "mask has shape [1, 10], expected [2, 10]");
  entities[0][0][kOwner] = 4;
  EXPECT_EQ(error_of([&] { model->forward(entities, mask); }),
            "owner 4 is not among the model's 4");
  entities[0][0][kType] = 21;
  EXPECT_EQ(error_of([&] { model->forward(entities, mask); }),
            "entity type 21 is not among the model's 21");
}

TEST_F(StarCraftTest, FeaturesThatAreNotKnownAreNamed) {
  EntityConfig c = kEntities;
  const std::string known = "x, y, birth_frame, finished, health, shield, energy, build_progress";
  c.features = {"x", "healt"};
  EXPECT_EQ(error_of([&] { EntityInput(c, 4); }),
            "model.entities.features: 'healt' is not known, expected some of " + known);
  c.features = {"x", "x"};
  EXPECT_EQ(error_of([&] { EntityInput(c, 4); }), "model.entities.features: has 'x' twice");
  c.features = {};
  EXPECT_EQ(error_of([&] { EntityInput(c, 4); }),
            "model.entities.features: is empty, expected some of " + known);
}

// Taken alone, each step's choice is the likeliest of what teacher forcing gives for the same
// beginning; nothing is selected twice, nor where there is no entity.
TEST_F(StarCraftTest, SelectingIsTeacherForcingWithItsOwnChoices) {
  StarCraft model = tiny();
  const EntityEncoding encoding = model->forward(entities, mask);
  EntityPointerImpl& pointer = model->objectives().pointer();
  const Tensor place = at::full({2, 2}, 100.0);
  const Tensor selected = pointer.select(encoding, mask, place);
  const Tensor logits = pointer.forward(encoding, mask, place, selected);
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 4, 11}));
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t s = 0; s < 3; ++s) {
      const auto slot = selected[b][s].item<int64_t>();
      if (s > 0 && selected[b][s - 1].item<int64_t>() == 10) {
        EXPECT_EQ(slot, 10) << "nothing after the end";
        continue;
      }
      EXPECT_EQ(slot, logits[b][s].argmax().item<int64_t>());
      if (slot < 10) {
        EXPECT_EQ(logits[b][s + 1][slot].item<float>(), -INFINITY);
      }
    }
    EXPECT_TRUE(logits[b].narrow(1, 6, 4).eq(-INFINITY).all().item<bool>());
    EXPECT_TRUE(logits[b].select(1, 10).isfinite().all().item<bool>()) << "the end token";
  }
}

TEST(StarCraftConfigs, RandomForwardPassCostsWhatTheSummarySays) {
  at::NoGradGuard no_grad;
  for (const char* config : {"starcraft_mini.toml", "starcraft_transformer.toml"}) {
    const std::unique_ptr<Task> task = make_task(read_file(shipped("configs") / config));
    EXPECT_EQ(task->summary(Split::kEval).parameters(), num_parameters(task->model())) << config;
    EXPECT_EQ(task->summary(Split::kEval).flops(),
              recorded_flops([&] { task->forward_random(1, Split::kEval); }))
        << config;
  }
}

// Tab. 9, the objectives not counted: they are not the entity encoder's.
TEST(StarCraftConfigs, CostWhatThePaperSays) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::pair<const char*, double> kRows[] = {{"starcraft_perceiver_io.toml", 0.93e9},
                                                  {"starcraft_transformer.toml", 3.3e9}};
  for (const auto& [config, paper] : kRows) {
    const ModelSummary s = make_task(read_file(shipped("configs") / config))->summary(Split::kEval);
    double flops = 0.0;
    for (const Part& part : s.parts) {
      const bool objective =
          part.name == "masked_type" || part.name == "winner" || part.name == "pointer";
      if (!objective) flops += static_cast<double>(part.flops);
    }
    EXPECT_NEAR(flops / paper, 1.0, 0.005) << config;
  }
}

}  // namespace
}  // namespace perceiver
