// What a config holds, as structs: which task it is, the model, the data, and how it is trained.
#pragma once

#include <string>

#include "perceiver/core/config.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

inline constexpr ConfigKey kTaskKey = {"task", "What the model does, and so which keys there are"};
inline constexpr ConfigKey kModelKey = {"model", "The model's sizes"};
inline constexpr ConfigKey kDataKey = {"data", "What it is trained and measured on"};
inline constexpr ConfigKey kTrainKey = {"train", "How it is trained"};
inline constexpr ConfigKey kEvalKey = {"eval", "How it is measured"};

// What of a config says which model it is: it goes into the model's folder.
template <typename Visitor, typename Config>
void model_fields(Visitor& visit, Config& c) {
  visit(kTaskKey, c.task);
  visit(kModelKey, c.model);
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
  model_fields(visit, c);
  visit(kDataKey, c.data);
  visit(kTrainKey, c.train);
  visit(kEvalKey, c.eval);
}

// The registered tasks whose models can be trained and evaluated: "bert, imagenet, language".
std::string trained_tasks();

// The model of a task that cannot be trained yet.
template <typename ModelConfig>
struct ModelOnly {
  std::string task;
  ModelConfig model;
};

template <typename Visitor, typename ModelConfig>
void fields(Visitor& visit, ModelOnly<ModelConfig>& c) {
  model_fields(visit, c);
  for (const char* key : {"data", "train", "eval"}) {
    visit.refuse(key,
                 fmt::format("models of the task {} cannot be trained or evaluated yet; those of "
                             "{} can",
                             c.task, trained_tasks()));
  }
}

}  // namespace perceiver
