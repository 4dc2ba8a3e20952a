#include "perceiver/tasks/model.h"

#include "perceiver/modalities/tokenizer.h"
#include "perceiver/tasks/experiment.h"

namespace perceiver {

static ModelTokenizer* tokenizer_of(const Model& model) {
  Application* application = model.task->application();
  return application == nullptr ? nullptr : application->tokenizer();
}

void find_tokenizer(Model& model) {
  if (ModelTokenizer* tokenizer = tokenizer_of(model)) tokenizer->find(model.folder, model.source);
}

std::filesystem::path tokenizer_file(const Model& model) {
  const ModelTokenizer* tokenizer = tokenizer_of(model);
  return tokenizer == nullptr ? std::filesystem::path() : tokenizer->file();
}

Model new_model(std::shared_ptr<const Settings> settings) {
  Model model{.source = settings->source(),
              .reference = Reference::kDeepMind,
              .settings = settings,
              .task = settings->make()};
  find_tokenizer(model);
  return model;
}

Model new_model(const File& config, std::span<const std::string> overrides) {
  return new_model(read_settings(config, overrides));
}

Application& application_of(const Model& model) {
  if (Application* application = model.task->application()) return *application;
  fail("{}: models of the task {} read no files yet", model.source, task_name(model));
}

Training& training_of(const Model& model, std::string_view done) {
  if (Training* training = model.task->training()) return *training;
  fail("{}: models of the task {} cannot be {} yet; those of {} can", model.source,
       task_name(model), done, trained_tasks());
}

}  // namespace perceiver
