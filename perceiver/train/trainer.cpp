#include "perceiver/train/trainer.h"

#include <ATen/ATen.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "perceiver/core/memory.h"
#include "perceiver/nn/module_tensors.h"
#include "perceiver/nn/recompute.h"
#include "perceiver/optim/schedule.h"
#include "perceiver/train/buffers_before.h"
#include "perceiver/train/dropped.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/labels.h"

namespace perceiver {
namespace {

bool matches(const std::string& name, const std::vector<std::string>& globs) {
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

// A glob that names nothing is a mistake.
void check_globs(torch::nn::Module& module, const std::vector<std::string>& globs,
                 std::string_view key) {
  for (const std::string& glob : globs) {
    if (std::ranges::any_of(module.named_parameters().keys(),
                            [&](const std::string& name) { return matches(name, {glob}); })) {
      continue;
    }
    fail("{}: no parameter is called '{}'; 'perceiver inspect' shows the model's parts", key, glob);
  }
}

int64_t bytes_of(const Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }

}  // namespace

void take_weights(torch::nn::Module& module, torch::nn::Module& from,
                  const std::vector<std::string>& new_head, const std::string& source) {
  check_globs(module, new_head, "train.new_head");
  at::NoGradGuard no_grad;
  const TensorMap theirs = module_tensors(from);
  for (auto& [name, tensor] : module_tensors(module)) {
    if (matches(name, new_head)) continue;
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      fail("{}: has no tensor '{}'; --new-head '{}' lets it begin anew", source, name, name);
    }
    if (found->second.sizes() != tensor.sizes()) {
      fail("{}: tensor '{}' has shape {}, expected {}; --new-head '{}' lets it begin anew", source,
           name, to_string(found->second.sizes()), to_string(tensor.sizes()), name);
    }
    tensor.copy_(found->second);
  }
}

Trainer::Trainer(Model& model, const TrainerOptions& options)
    : model_(model),
      task_(*model.task),
      training_(training_of(model)),
      config_(training_.config()),
      options_(options),
      skipped_(options.say) {
  if (config_.batch % config_.accumulate != 0) {
    fail("train.batch ({}) must be a multiple of train.accumulate ({})", config_.batch,
         config_.accumulate);
  }
  count_parts();
  if (config_.average >= 1.0) fail("train.average ({}) must be less than 1", config_.average);
  if (!config_.from.empty()) {
    Model from = load_model(find_model(config_.from));
    take_weights(task_.model(), from.task->model(), config_.new_head, from.source);
    // A new head may be one for other classes.
    if (config_.new_head.empty() && are_names(from.labels)) training_.match_classes(from.labels);
  }
  if (options.only_batch) {
    only_batch_ = to_device(*options.only_batch, options.device);
  } else {
    model_.labels = training_.labels();
    examples_ = training_.dataset(Split::kTrain);
    if (!config_.overfit_batch) held_out_ = training_.dataset(Split::kEval);
  }
  count_steps();
  task_.model().to(options.device);
  task_.model().train();
  freeze();
  std::vector<NamedParameter> parameters;
  for (auto& item : task_.model().named_parameters()) {
    weights_.push_back(item.value());
    if (!item.value().requires_grad()) continue;
    trained_.push_back(item.value());
    parameters.push_back({item.key(), item.value()});
  }
  if (parameters.empty()) fail("train.freeze: there is nothing left to train");
  if (num_parts_ * num_ranks() > 1) norms_.emplace(task_.model());
  leaves_ = trained_;
  if (norms_) std::ranges::copy(norms_->statistics(), std::back_inserter(leaves_));
  gradients_.resize(leaves_.size());
  sums_.resize(leaves_.size());
  if (options.ranks != nullptr && options.device.is_cpu())
    buckets_.emplace(leaves_, *options.ranks);
  if (config_.average > 0.0) {
    average_ = std::make_unique<WeightAverage>(parameters, config_.average);
  }
  optimizer_ = std::make_unique<SharedOptimizer>(std::move(parameters), config_, options_.ranks);
}

// Ranks have as many parts each, none larger than the config wants it.
void Trainer::count_parts() {
  if (config_.batch < num_ranks()) {
    fail("train.batch ({}) is less than the {} ranks that share it", config_.batch, num_ranks());
  }
  num_parts_ = (config_.accumulate + num_ranks() - 1) / num_ranks();
}

// From epochs, where these are given. The last step of an epoch may reach into the next.
void Trainer::count_steps() {
  if ((config_.steps > 0) == (config_.epochs > 0)) {
    fail("train.steps is {} and train.epochs is {}, expected just one of them above 0",
         config_.steps, config_.epochs);
  }
  if (config_.steps > 0) return;
  const auto steps_of = [this](int64_t epochs) {
    const int64_t examples = examples_ ? epochs * examples_->size() : 1;
    return (examples + config_.batch - 1) / config_.batch;
  };
  config_.steps = steps_of(config_.epochs);
  if (config_.eval_every == 0) config_.eval_every = steps_of(1);
}

void Trainer::freeze() {
  check_globs(task_.model(), config_.freeze, "train.freeze");
  for (auto& item : task_.model().named_parameters()) {
    item.value().set_requires_grad(!matches(item.key(), config_.freeze));
  }
}

void Trainer::resume(const Checkpoint& checkpoint) {
  Model saved = load_model(checkpoint.folder);
  take_weights(task_.model(), saved.task->model(), {}, checkpoint.folder.string());
  if (are_names(saved.labels) && !model_.labels.empty() && saved.labels != model_.labels) {
    fail("{}: was trained on other classes than data.train has; its labels.txt names them",
         checkpoint.folder.string());
  }
  std::string missing = optimizer_->take_state(checkpoint.tensors);
  at::NoGradGuard no_grad;
  for (auto& [name, tensor] : average_state()) {
    const auto found = checkpoint.tensors.find(name);
    if (found != checkpoint.tensors.end()) {
      tensor.copy_(found->second);
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (!missing.empty()) {
    fail(
        "{}: has no state '{}'; resume with the optimiser, the average and the frozen parts of "
        "before",
        checkpoint.folder.string(), missing);
  }
  optimizer_->set_steps(checkpoint.step);
  step_ = saved_at_ = checkpoint.step;
  best_ = checkpoint.best;
  unevaluated_ = checkpoint.unevaluated;
}

std::function<void(const std::string&)> Trainer::on_unreadable() {
  if (config_.unreadable == Unreadable::kStop) return {};
  return [this](const std::string& message) { skipped_.add(message); };
}

int64_t Trainer::skipped() const { return skipped_by_all_.value_or(skipped_.count()); }

double Trainer::learning_rate() const {
  const TrainConfig& c = config_;
  return c.schedule == ScheduleKind::kConstantCosine
             ? constant_cosine(c.learning_rate, step_, c.steps, c.constant_share)
             : warmup_cosine(c.learning_rate, step_, c.steps, c.warmup_steps);
}

// A forward pass of one example tells what a batch of them keeps for the backward pass, which takes
// little more itself.
StepMemory Trainer::step_memory() {
  StepMemory memory;
  for (const auto& [name, tensor] : optimizer_->own_state()) memory.fixed += bytes_of(tensor);
  for (const auto& [name, tensor] : average_state()) memory.fixed += bytes_of(tensor);
  for (const Tensor& parameter : trained_) {
    memory.fixed += bytes_of(parameter) * (num_parts_ > 1 ? 2 : 1);  // gradients
  }
  const Example batch = training_.random_batch(1);
  BuffersBefore buffers(task_.model());
  refresh_narrow_weights();
  try {
    memory.per_example = peak_tensor_bytes([&] {
      const RecomputeScope recompute(config_.recompute);
      const NarrowWeights::Scope narrow(narrow_weights_);
      loss_of(batch);
    });
  } catch (const Dropped&) {  // run() will be asked to stop, too
  }
  buffers.restore();
  return memory;
}

void Trainer::check_step_fits() {
  if (!options_.device.is_cpu()) return;
  const int64_t here = options_.ranks ? options_.ranks->local_size() : 1;
  check_memory(step_memory(), config_, free_memory(options_.device) / here, num_ranks());
}

}  // namespace perceiver
