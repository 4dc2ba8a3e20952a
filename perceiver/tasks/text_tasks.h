// Models of several tasks, GLUE's, asked about a text or a pair of texts.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/tasks/model.h"

namespace perceiver {

struct TaskAnswer {
  std::string task;
  std::vector<std::string> classes = {};   // none: a value
  std::vector<double> probabilities = {};  // of the classes
  double value = 0.0;
  bool needs_pair = false;  // not answered: it takes two texts, and there is one
};

// The answers to these tasks, by their names, or to all, by "all"; those that take two texts are
// not answered of one, and where one of them is named, that is an Error. The model encodes the
// texts once for all tasks, or, where it has a token for each, once for each.
std::vector<TaskAnswer> answer_tasks(Model& model, std::span<const File> texts,
                                     const std::vector<std::string>& tasks);

// A line a task.
std::string task_table(const std::vector<TaskAnswer>& answers);

// {"sst2": {"label", "probability", "probabilities"}, "stsb": {"value"}}, of those answered.
nlohmann::ordered_json to_json(const std::vector<TaskAnswer>& answers);

}  // namespace perceiver
