// The table of tasks: each by its name in configs, with how its settings are read and its task is
// made. Tasks of this project are listed in registry.cpp; a program adds its own by
// register_task(task_entry<MyTask>("my_task")).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perceiver/tasks/absolute_paths.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"

namespace perceiver {

struct TaskEntry {
  std::string name;
  std::unique_ptr<Settings> (*read)(ConfigReader& config, const std::string& source);
  bool trains;                       // whether its models can be trained
  std::vector<ListedKey> (*keys)();  // of its configs, with the defaults
};

// Before a config or a model of the task is read. Fails where the name is taken.
void register_task(TaskEntry entry);

std::vector<TaskEntry> registered_tasks();

// Settings of a task whose class has a struct `Config` (experiment.h) and is made of one.
template <typename MadeTask>
class TaskSettings : public Settings {
 public:
  using Config = typename MadeTask::Config;

  TaskSettings(std::string source, Config config)
      : Settings(std::move(source)), config_(std::move(config)) {}

  const std::string& task() const override { return config_.task; }

  std::string model_text() const override { return model_text_of(config_); }
  std::string text() const override { return to_toml(config_); }
  std::vector<ListedKey> keys() const override { return list_keys(config_); }
  std::string identity() const override {
    Config defaults;
    defaults.task = "";
    return lines_not_in(model_text(), model_text_of(defaults));
  }

  std::unique_ptr<Settings> with(std::span<const std::string> overrides) const override {
    auto changed = std::make_unique<TaskSettings>(*this);
    ConfigReader reader({source(), ""}, overrides);
    fields(reader, changed->config_);
    reader.finish();
    return changed;
  }

  std::unique_ptr<Settings> with_absolute_paths() const override {
    auto changed = std::make_unique<TaskSettings>(*this);
    if constexpr (requires { changed->config_.data; }) {
      AbsolutePaths visit;
      fields(visit, changed->config_.data);
      visit("from", changed->config_.train.from);
    }
    return changed;
  }

  const TrainConfig* train() const override {
    if constexpr (requires { config_.train; }) return &config_.train;
    return nullptr;
  }
  int64_t num_classes() const override {
    if constexpr (requires { config_.model.num_classes; }) return config_.model.num_classes;
    if constexpr (requires { config_.model.entities; }) return config_.model.entities.num_types;
    return 0;
  }
  int64_t num_layers() const override {
    if constexpr (requires { config_.model.encoder.self_attends_per_block; }) {
      return config_.model.encoder.self_attends_per_block;
    } else if constexpr (requires { config_.model.transformer.num_layers; }) {
      return config_.model.transformer.num_layers;
    }
    return 0;
  }
  Semantics* semantics() override {
    if constexpr (requires { config_.model.semantics; }) return &config_.model.semantics;
    return nullptr;
  }

 private:
  // By value: the list of fields is one for reading and for writing.
  static std::string model_text_of(Config config) {
    ConfigWriter writer;
    model_fields(writer, config);
    return writer.text();
  }

  std::unique_ptr<Task> make_task() const override { return std::make_unique<MadeTask>(config_); }
  void* find_model(const std::type_info& type) override {
    return type == typeid(config_.model) ? &config_.model : nullptr;
  }

  Config config_;
};

template <typename MadeTask>
TaskEntry task_entry(std::string name) {
  const auto read = [](ConfigReader& reader,
                       const std::string& source) -> std::unique_ptr<Settings> {
    typename MadeTask::Config config;
    fields(reader, config);
    reader.finish();
    return std::make_unique<TaskSettings<MadeTask>>(source, std::move(config));
  };
  constexpr bool kTrains = requires(typename MadeTask::Config c) { c.train; };
  const auto keys = [] { return list_keys(typename MadeTask::Config{}); };
  return {std::move(name), read, kTrains, keys};
}

}  // namespace perceiver
