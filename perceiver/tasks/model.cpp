#include "perceiver/tasks/model.h"

#include "perceiver/tasks/experiment.h"

namespace perceiver {

Model new_model(std::shared_ptr<const Settings> settings) {
  return {.source = settings->source(),
          .reference = Reference::kDeepMind,
          .settings = settings,
          .task = settings->make()};
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
