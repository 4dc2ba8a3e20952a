#pragma once

#include <string>
#include <vector>

#include "perceiver/tasks/model.h"

namespace perceiver {

struct TaskQuestions {
  std::vector<std::string> inputs, tasks;  // texts, or files of them
  std::string pair;                        // the second text, or its file; empty: there is none
  bool lines = false, json = false, jsonl = false;
};

// The text that --pair gives, or names.
File second_text(const Model& model, const std::string& pair);

// The answers about each text, printed.
void classify_tasks(Model& model, const TaskQuestions& questions);

}  // namespace perceiver
