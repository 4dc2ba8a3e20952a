// What every config of a task holds: which task it is, and the model's settings.
#pragma once

#include <string>

#include "perceiver/core/config.h"

namespace perceiver {

template <typename ModelConfig>
struct Settings {
  std::string task;
  ModelConfig model;
};

template <typename Visitor, typename ModelConfig>
void fields(Visitor& visit, Settings<ModelConfig>& c) {
  visit("task", c.task);
  visit("model", c.model);
}

}  // namespace perceiver
