// `perceiver classify states.jsonl`: what entities of games are whose type is left open.
#pragma once

#include <string>
#include <vector>

#include "perceiver/tasks/model.h"

namespace perceiver {

struct EntityQuestions {
  std::vector<std::string> inputs;  // files of states; none: the shipped sample
  int64_t top;
  bool json, jsonl;
};

// Prints them, a state at a time.
void classify_entities(Model& model, const EntityQuestions& questions);

}  // namespace perceiver
