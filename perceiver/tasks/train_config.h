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
  int64_t warmup_steps = 0;     // warmup_cosine: linear from 0 up to the learning rate
  double constant_share = 0.5;  // constant_cosine: of the steps, before the cosine
  int64_t steps = 1000;
  int64_t batch = 32;                     // examples a step
  int64_t accumulate = 1;                 // small batches that a step's is cut into, to save memory
  double clip = 0.0;                      // global norm of the gradients; 0: not clipped
  double average = 0.0;                   // share of the weights' average kept a step; 0: none
  Precision dtype = Precision::kFloat32;  // bfloat16: products by autocast, weights in float32
  bool recompute = false;                 // activations in the backward pass, to save memory
  bool graph = true;             // on a GPU, record a pass once and replay it; not with recompute
  double label_smoothing = 0.0;  // of tasks with classes
  Unreadable unreadable = Unreadable::kStop;
  std::string from = "";                   // a model whose weights to begin with
  std::vector<std::string> new_head = {};  // parameters that begin anew all the same: "decoder.*"
  std::vector<std::string> freeze = {};    // parameters that stay as they are
  bool overfit_batch = false;              // the first batch, again and again
  int64_t seed = 0;
  int64_t log_every = 10;    // steps
  int64_t eval_every = 0;    // steps; 0: at the end alone
  int64_t save_every = 500;  // steps
};

template <typename Visitor>
void fields(Visitor& visit, TrainConfig& c) {
  visit("optimizer", c.optimizer);
  visit("learning_rate", c.learning_rate, at_least(0.0));
  visit("beta1", c.beta1, between(0.0, 1.0));
  visit("beta2", c.beta2, between(0.0, 1.0));
  visit("epsilon", c.epsilon, at_least(0.0));
  visit("weight_decay", c.weight_decay, at_least(0.0));
  visit("schedule", c.schedule);
  visit("warmup_steps", c.warmup_steps, at_least(0));
  visit("constant_share", c.constant_share, between(0.0, 1.0));
  visit("steps", c.steps, at_least(1));
  visit("batch", c.batch, at_least(1));
  visit("accumulate", c.accumulate, at_least(1));
  visit("clip", c.clip, at_least(0.0));
  visit("average", c.average, between(0.0, 1.0));
  visit("dtype", c.dtype);
  visit("recompute", c.recompute);
  visit("graph", c.graph);
  visit("label_smoothing", c.label_smoothing, between(0.0, 1.0));
  visit("unreadable", c.unreadable);
  visit("from", c.from);
  visit("new_head", c.new_head);
  visit("freeze", c.freeze);
  visit("overfit_batch", c.overfit_batch);
  visit("seed", c.seed, at_least(0));
  visit("log_every", c.log_every, at_least(1));
  visit("eval_every", c.eval_every, at_least(0));
  visit("save_every", c.save_every, at_least(1));
}

// [eval] of a config.
struct EvalConfig {
  int64_t batch = 32;    // examples at once
  int64_t examples = 0;  // the first so many of the held-out ones; 0: all
};

template <typename Visitor>
void fields(Visitor& visit, EvalConfig& c) {
  visit("batch", c.batch, at_least(1));
  visit("examples", c.examples, at_least(0));
}

}  // namespace perceiver
