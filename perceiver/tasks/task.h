// The class through which the program, the trainer and other programs know an experiment of the
// paper.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/data/dataset.h"
#include "perceiver/model/summary.h"
#include "perceiver/tasks/split.h"

namespace perceiver {

class Application;
class Training;

// One experiment of the paper: a model, and what it is run on.
class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  // The arrays and parts of a forward pass of one example. Some models are trained on fewer
  // queries than they are evaluated with.
  virtual ModelSummary summary(Split split) const = 0;

  // Inputs of the right sizes and any values, on the CPU: for benchmarks, and to prove what
  // summary() counts.
  virtual Example random_inputs(int64_t batch) const = 0;

  // Such inputs, on the device and in the dtype of the model -> the outputs [B, O, E], as `split`
  // asks for them; where they are of several kinds, the values made of all of them, [B, values].
  virtual Tensor forward(const Example& inputs, Split split) = 0;
  Tensor forward_random(int64_t batch, Split split);  // both

  // What people do with its models: files in, results out. Null where there is nothing yet.
  virtual Application* application() { return nullptr; }

  // How its models are trained and measured; null where they are not. Lives as long as the task.
  virtual Training* training() { return nullptr; }
};

// A task of one module: most are. Base is Task, or Application where it reads files.
template <typename Model, typename ModelConfig, typename Base = Task>
class ModelTask : public Base {
 public:
  using Config = ModelConfig;  // with the module's own as `model` (experiment.h)

  explicit ModelTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }
  ModelSummary summary(Split) const override { return model_->summary(); }

 protected:
  const Config config_;
  Model model_;
};

// `x` on the device of the module's weights, and in their dtype where it holds real numbers.
Tensor to_model(const torch::nn::Module& module, const Tensor& x);
Example to_model(const torch::nn::Module& module, const Example& x);

// The task of a config, with "model.encoder.num_latents=256" and the like over it: settings.h in
// one call.
std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides = {});

}  // namespace perceiver
