// How the entity encoders of App. B, Perceiver IO and AlphaStar's Transformer, are trained and
// measured: on stand-ins for behavioural cloning (objectives.h).
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/starcraft/alphastar_transformer.h"
#include "perceiver/tasks/starcraft/data.h"
#include "perceiver/tasks/starcraft/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

template <typename ModelConfig>
using StarCraftExperiment = Experiment<ModelConfig, StarCraftDataConfig>;

std::unique_ptr<Training> starcraft_training(const StarCraftExperiment<StarCraftConfig>& experiment,
                                             StarCraft model);
std::unique_ptr<Training> starcraft_training(
    const StarCraftExperiment<AlphaStarTransformerConfig>& experiment, AlphaStarTransformer model);

// Entities of the right sizes and any values, with what an objective asks: a batch as those of
// EntityDataset.
Example random_entities(int64_t batch, const EntityConfig& config);

}  // namespace perceiver
