// What a config holds: which task it is, the model's settings, the data, and how it is trained.
#pragma once

#include <string>

#include "perceiver/core/config.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

// What a model is, and all that goes into a model's folder. How it was trained is passed over, so
// that a config of a whole experiment is a model's too.
template <typename ModelConfig>
struct Settings {
  std::string task;
  ModelConfig model;
};

template <typename Visitor, typename ModelConfig>
void fields(Visitor& visit, Settings<ModelConfig>& c) {
  visit("task", c.task);
  visit("model", c.model);
  visit.pass_over("data");
  visit.pass_over("train");
  visit.pass_over("eval");
}

// A whole experiment. DataConfig has two lists of strings, `train` and `held_out`, for the files
// and folders: --data sets them.
template <typename ModelConfig, typename DataConfig>
struct Experiment {
  std::string task;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  EvalConfig eval;
};

template <typename Visitor, typename ModelConfig, typename DataConfig>
void fields(Visitor& visit, Experiment<ModelConfig, DataConfig>& c) {
  visit("task", c.task);
  visit("model", c.model);
  visit("data", c.data);
  visit("train", c.train);
  visit("eval", c.eval);
}

}  // namespace perceiver
