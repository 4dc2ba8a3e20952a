#include "perceiver/tasks/starcraft/training.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/model/training_flops.h"

namespace perceiver {
namespace {

template <typename Model, typename ModelConfig>
class StarCraftTraining : public TrainingOf<StarCraftExperiment<ModelConfig>> {
  using Base = TrainingOf<StarCraftExperiment<ModelConfig>>;
  using Base::experiment_;

 public:
  StarCraftTraining(const StarCraftExperiment<ModelConfig>& experiment, Model model)
      : Base(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    check_objectives();
    const Unreadable unreadable = experiment_.train.unreadable;
    EntityStates states = starcraft_split(data(), entities(), split, unreadable);
    if (states.states.empty()) return {};
    StarCraftDataConfig config = data();
    if (split == Split::kEval) config.augment = {};
    return std::make_unique<EntityDataset>(std::move(states), types(), config, entities(),
                                           unreadable);
  }

  Example random_batch(int64_t batch) const override { return random_entities(batch, entities()); }

  Loss loss(const Example& batch) override {
    const Tensor losses =
        objective_losses(model_->objectives(), encode(batch), batch, data().objectives);
    return {losses.sum(), at::full({}, static_cast<double>(losses.size(0)), losses.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>(
        [this](const Example& batch) {
          return measure_objectives(model_->objectives(), encode(batch), batch, data().objectives);
        },
        objective_figures);
  }

  // Of the first objective there is.
  MainMeasure main_measure() const override {
    const ObjectiveWeights& weights = data().objectives;
    const char* name = weights.masked_type > 0.0 ? "type_accuracy"
                       : weights.winner > 0.0    ? "winner_accuracy"
                                                 : "pointing_f1";
    return {name, /*lower_is_better=*/false};
  }
  FigureName figure_name(const std::string& key) const override {
    static const std::map<std::string, std::string> kNames = {
        {"type_accuracy", "masked type"}, {"most_frequent_type", "most frequent type"},
        {"winner_accuracy", "winner"},    {"most_frequent_result", "most frequent result"},
        {"pointing_f1", "pointing F1"},   {"pointing_accuracy", "whole selections"}};
    const auto found = kNames.find(key);
    if (found == kNames.end()) return {key};
    return {found->second, Unit::kShare};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  // A name for each type the model has room for; those without an entity have a number.
  std::vector<std::string> labels() const override {
    if (data().train.empty()) return model_types_;
    std::vector<std::string> names = types();
    for (int64_t i = std::ssize(names); i < entities().num_types; ++i) {
      names.push_back(fmt::format("unused {}", i));
    }
    return names;
  }
  void match_classes(const std::vector<std::string>& names) override {
    types_.clear();
    model_types_ = names;
  }

 private:
  const StarCraftDataConfig& data() const { return experiment_.data; }
  const EntityConfig& entities() const { return experiment_.model.entities; }

  EntityEncoding encode(const Example& batch) {
    return model_->encode(batch.at("entities"), batch.at("mask"));
  }

  void check_objectives() const {
    const ObjectiveWeights& weights = data().objectives;
    if (weights.masked_type + weights.winner + weights.pointing <= 0.0) {
      fail("data.objectives: all weights are 0, expected one above");
    }
    const auto has = [&](const char* name) {
      return std::ranges::find(entities().features, name) != entities().features.end();
    };
    if (weights.pointing > 0.0 && !(has("x") && has("y"))) {
      fail("data.objectives.pointing: needs x and y among model.entities.features");
    }
    if (data().augment.mirror && !(has("x") && has("y"))) {
      fail("data.mirror: needs x and y among model.entities.features");
    }
  }

  const std::vector<std::string>& types() const {
    if (types_.empty()) {
      types_ = entity_types(data(), entities(), model_types_, experiment_.train.unreadable);
    }
    return types_;
  }

  Model model_;
  std::vector<std::string> model_types_;    // empty: the model's types have no names yet
  mutable std::vector<std::string> types_;  // once they were asked for
};

}  // namespace

Example random_entities(int64_t batch, const EntityConfig& c) {
  const int64_t m = c.num_entities;
  std::vector<Tensor> columns = {at::randint(c.num_types, {batch, m}, at::kFloat),
                                 at::randint(c.num_owners, {batch, m}, at::kFloat)};
  for (const double scale : feature_scales(c.features)) {
    columns.push_back(at::rand({batch, m}) / scale);
  }
  // Different slots, as many as are selected at most; where the model has fewer, then the end.
  const int64_t selected = std::min(c.max_selected, m);
  return {{"entities", at::stack(columns, -1)},
          {"mask", at::ones({batch, m}, at::kBool)},
          {"type", at::randint(c.num_types, {batch, m}, at::kLong)},
          {"hidden", at::rand({batch, m}) < 0.15},
          {"won", at::randint(2, {batch}, at::kLong)},
          {"place", at::rand({batch, 2}) * 200},
          {"selected", at::constant_pad_nd(at::arange(selected).expand({batch, selected}),
                                           {0, c.max_selected - selected}, m)}};
}

std::unique_ptr<Training> starcraft_training(const StarCraftExperiment<StarCraftConfig>& experiment,
                                             StarCraft model) {
  return std::make_unique<StarCraftTraining<StarCraft, StarCraftConfig>>(experiment,
                                                                         std::move(model));
}

std::unique_ptr<Training> starcraft_training(
    const StarCraftExperiment<AlphaStarTransformerConfig>& experiment, AlphaStarTransformer model) {
  return std::make_unique<StarCraftTraining<AlphaStarTransformer, AlphaStarTransformerConfig>>(
      experiment, std::move(model));
}

}  // namespace perceiver
