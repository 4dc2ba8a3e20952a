// [train] of a config: how a model is trained. The same keys for every task.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

enum class OptimizerKind { kLamb, kAdamW };
constexpr std::array<std::string_view, 2> enum_words(OptimizerKind) { return {"lamb", "adamw"}; }

enum class ScheduleKind { kConstantCosine, kWarmupCosine };
constexpr std::array<std::string_view, 2> enum_words(ScheduleKind) {
  return {"constant_cosine", "warmup_cosine"};
}

enum class Precision { kFloat32, kBFloat16 };
constexpr std::array<std::string_view, 2> enum_words(Precision) { return {"float32", "bfloat16"}; }

// What becomes of an example that cannot be read.
enum class Unreadable { kStop, kSkip };
constexpr std::array<std::string_view, 2> enum_words(Unreadable) { return {"stop", "skip"}; }

struct TrainConfig {
  OptimizerKind optimizer = OptimizerKind::kLamb;
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
  double weight_decay = 0.01;
  ScheduleKind schedule = ScheduleKind::kWarmupCosine;
  int64_t warmup_steps = 0;
  double constant_share = 0.5;
  int64_t steps = 1000;
  int64_t epochs = 0;
  int64_t batch = 32;
  int64_t accumulate = 1;
  double clip = 0.0;
  double average = 0.0;
  Precision dtype = Precision::kFloat32;
  bool recompute = false;
  bool graph = true;
  bool shard_optimizer = false;
  double label_smoothing = 0.0;
  Unreadable unreadable = Unreadable::kStop;
  std::string from = "";
  std::vector<std::string> new_head = {};
  std::vector<std::string> freeze = {};
  bool overfit_batch = false;
  int64_t seed = 0;
  int64_t log_every = 10;
  int64_t eval_every = 0;
  int64_t save_every = 500;
};

template <typename Visitor>
void fields(Visitor& visit, TrainConfig& c) {
  visit({"optimizer", "Rule by which weights are changed"}, c.optimizer);
  visit({"learning_rate", "Length of a step, at its longest"}, c.learning_rate, between(0.0, 1e30));
  visit({"beta1", "Share of the gradients' running mean kept a step"}, c.beta1, between(0.0, 1.0));
  visit({"beta2", "Share of the running mean of squared gradients kept a step"}, c.beta2,
        between(0.0, 1.0));
  visit({"epsilon", "Added to the root of the squared gradients, against division by zero"},
        c.epsilon, at_least(0.0));
  visit({"weight_decay", "Pull of the weights towards zero"}, c.weight_decay, between(0.0, 1e30));
  visit({"schedule",
         "Learning rate over the steps: constant and then a cosine to 0, or linear up and then a "
         "cosine to 0"},
        c.schedule);
  visit({"warmup_steps", "warmup_cosine: steps in which the learning rate grows from 0"},
        c.warmup_steps, at_least(0));
  visit({"constant_share", "constant_cosine: share of the steps before the cosine"},
        c.constant_share, between(0.0, 1.0));
  visit({"steps", "Changes of the weights, in all; 0: as many as train.epochs are"}, c.steps,
        at_least(0));
  visit(
      {"epochs",
       "Times that every training example is seen, in place of train.steps; 0: train.steps count"},
      c.epochs, at_least(0));
  visit({"batch", "Examples a step"}, c.batch, at_least(1));
  visit({"accumulate", "Small batches that a step's is cut into, to save memory"}, c.accumulate,
        at_least(1));
  visit({"clip", "Longest gradient, by its global norm; 0: not clipped"}, c.clip, at_least(0.0));
  visit({"average",
         "Share of the weights' running average kept a step, which is then measured and saved; 0: "
         "none"},
        c.average, between(0.0, 1.0));
  visit({"dtype",
         "Numbers of products; weights are float32 in either. CPUs without AMX are faster in "
         "float32"},
        c.dtype);
  visit(
      {"recompute", "Whether activations are computed again in the backward pass, to save memory"},
      c.recompute);
  visit({"graph", "Whether a GPU records a pass once and replays it; not with recompute"}, c.graph);
  visit(
      {"shard_optimizer",
       "Whether each of several processes (--ranks) keeps the optimiser's state of a share of the "
       "tensors alone, to save memory"},
      c.shard_optimizer);
  visit({"label_smoothing", "Share of the truth spread over all classes, in tasks with classes"},
        c.label_smoothing, between(0.0, 1.0));
  visit({"unreadable", "What becomes of an example that cannot be read"}, c.unreadable);
  visit({"from", "A model whose weights to begin with (--from); empty: random weights"}, c.from);
  visit({"new_head", "Parameters that begin anew all the same, such as 'decoder.*' (--new-head)"},
        c.new_head);
  visit({"freeze", "Parameters that stay as they are, such as 'encoder.*' (--freeze)"}, c.freeze);
  visit(
      {"overfit_batch", "Whether the first batch is trained on again and again (--overfit-batch)"},
      c.overfit_batch);
  visit({"seed", "Start of all random numbers; the same seed gives the same run"}, c.seed,
        at_least(0));
  visit({"log_every", "Steps between two lines of progress"}, c.log_every, at_least(1));
  visit(
      {"eval_every",
       "Steps between two measurements on held-out examples; 0: after each of train.epochs, or at "
       "the end alone"},
      c.eval_every, at_least(0));
  visit({"save_every", "Steps between two checkpoints"}, c.save_every, at_least(1));
}

// [eval] of a config.
struct EvalConfig {
  int64_t batch = 32;
  int64_t examples = 0;
};

template <typename Visitor>
void fields(Visitor& visit, EvalConfig& c) {
  visit({"batch", "Examples measured at once"}, c.batch, at_least(1));
  visit({"examples", "Held-out examples measured, spread evenly over all of them; 0: all"},
        c.examples, at_least(0));
}

}  // namespace perceiver
