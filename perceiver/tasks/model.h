// A model that is ready to be used: its task with the weights in it, and what is known of it.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/error.h"
#include "perceiver/tasks/application.h"
#include "perceiver/tasks/origin.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {

// The two implementations whose weights are read.
enum class Reference { kDeepMind, kHuggingFace };
constexpr std::array<std::string_view, 2> enum_words(Reference) {
  return {"deepmind", "huggingface"};
}

struct Model {
  std::string source;   // where it was read from
  Reference reference;  // whose names and layouts `run` speaks: the file's own
  std::shared_ptr<const Settings> settings;
  std::unique_ptr<Task> task;
  std::vector<std::string> labels = {};  // names of the classes, where they are known
  std::filesystem::path folder = {};     // where what belongs to it lies: labels, tokenizer
  std::string fingerprint = {};          // which model it is; empty: nobody has asked
  Origin origin = {};                    // of its weights
};

// A model as a config describes it, with random weights.
Model new_model(const File& config, std::span<const std::string> overrides = {});
Model new_model(std::shared_ptr<const Settings> settings);

// Tells the task what lies in the model's folder that it needs to read files. Of models that are
// loaded or made this was done.
void find_tokenizer(Model& model);
// The file of its SentencePiece model; empty where it reads bytes, or no texts.
std::filesystem::path tokenizer_file(const Model& model);

// The name of its task, as configs have it.
inline const std::string& task_name(const Model& model) { return model.settings->task(); }

// What people do with the model. Fails where its task has nothing of that kind.
Application& application_of(const Model& model);

// How the model is trained and evaluated. Fails where models of its task cannot be `done` so, and
// names the tasks whose can.
Training& training_of(const Model& model, std::string_view done = "trained");

// The model as the class that computes it; fails where it is another, saying that `verb` needs a
// model of `task`.
template <typename Impl>
Impl& model_as(Model& model, std::string_view verb, std::string_view task) {
  if (auto* impl = dynamic_cast<Impl*>(&model.task->model())) return *impl;
  fail("{}: {} needs a model of the task {}, got {}", model.source, verb, task, task_name(model));
}

}  // namespace perceiver
