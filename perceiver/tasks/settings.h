// A config, read once into the structs of its task. From then on the structs travel, not the text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <typeinfo>

#include "perceiver/core/config.h"
#include "perceiver/core/key_list.h"
#include "perceiver/nn/semantics.h"
#include "perceiver/tasks/experiment.h"

namespace perceiver {

class Task;

// What a config says, for those who do not know the structs of its task.
class Settings {
 public:
  virtual ~Settings() = default;

  const std::string& source() const { return source_; }  // the config's name, for messages
  virtual const std::string& task() const = 0;

  // The task, its model constructed as the surrounding ConstructScope says.
  std::unique_ptr<Task> make() const;

  // As TOML, every key with its value: `task` and `model`, which go into a model's folder, and all
  // of it, which a run is started with.
  virtual std::string model_text() const = 0;
  virtual std::string text() const = 0;

  // Every key with its value and meaning, for people.
  virtual std::vector<ListedKey> keys() const = 0;

  // What tells this model from others of its task: the lines of model_text() that are not the
  // defaults. An option that is new, and off by default, changes nothing here.
  virtual std::string identity() const = 0;

  // These settings with "data.held_out=['a.txt']" and the like over them.
  virtual std::unique_ptr<Settings> with(std::span<const std::string> overrides) const = 0;

  // These settings with absolute paths where they name files and folders of data or a model to
  // begin with, so that they mean the same in another folder.
  virtual std::unique_ptr<Settings> with_absolute_paths() const = 0;

  virtual const TrainConfig* train() const = 0;  // null: models of the task are not trained

  // What settings of many models have. 0 and null where these have not.
  virtual int64_t num_classes() const = 0;
  virtual int64_t num_layers() const = 0;  // self-attends with weights of their own
  virtual Semantics* semantics() = 0;
  const Semantics* semantics() const { return const_cast<Settings*>(this)->semantics(); }

  // The model's own struct; null where it is another one.
  template <typename ModelConfig>
  ModelConfig* model() {
    return static_cast<ModelConfig*>(find_model(typeid(ModelConfig)));
  }
  template <typename ModelConfig>
  const ModelConfig* model() const {
    return const_cast<Settings*>(this)->model<ModelConfig>();
  }

 protected:
  explicit Settings(std::string source) : source_(std::move(source)) {}

 private:
  virtual std::unique_ptr<Task> make_task() const = 0;
  virtual void* find_model(const std::type_info& type) = 0;

  std::string source_;
};

// The lines of `text` that are not among those of `other`.
std::string lines_not_in(const std::string& text, const std::string& other);

// `config` as the task that it names reads it, with what `overrides` say over it. Fails for a task
// that is not registered (registry.h).
std::unique_ptr<Settings> read_settings(const File& config,
                                        std::span<const std::string> overrides = {});

}  // namespace perceiver
