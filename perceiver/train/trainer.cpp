#include "perceiver/train/trainer.h"

#include <ATen/ATen.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "perceiver/core/autocast.h"
#include "perceiver/core/memory.h"
#include "perceiver/nn/module_tensors.h"
#include "perceiver/nn/recompute.h"
#include "perceiver/optim/adamw.h"
#include "perceiver/optim/lamb.h"
#include "perceiver/optim/schedule.h"
#include "perceiver/train/dropped.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/watched_pass.h"
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

// Buffers change in a forward pass: the statistics of batch norm. A pass that does not count gives
// them back.
class BuffersBefore {
 public:
  explicit BuffersBefore(const torch::nn::Module& module) : buffers_(module.buffers()) {
    for (const Tensor& buffer : buffers_) before_.push_back(buffer.clone());
  }
  void restore() {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(before_[i]);
  }

 private:
  std::vector<Tensor> buffers_, before_;
};

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
      options_(options) {
  if (config_.batch % config_.accumulate != 0) {
    fail("train.batch ({}) must be a multiple of train.accumulate ({})", config_.batch,
         config_.accumulate);
  }
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
  sums_.resize(trained_.size());
  if (config_.average > 0.0) {
    average_ = std::make_unique<WeightAverage>(parameters, config_.average);
  }
  const OptimizerOptions rule = {.beta1 = config_.beta1,
                                 .beta2 = config_.beta2,
                                 .epsilon = config_.epsilon,
                                 .weight_decay = config_.weight_decay};
  if (config_.optimizer == OptimizerKind::kLamb) {
    optimizer_ = std::make_unique<Lamb>(std::move(parameters), rule);
  } else {
    optimizer_ = std::make_unique<AdamW>(std::move(parameters), rule);
  }
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
  at::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) {
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end()) {
      fail(
          "{}: has no state '{}'; resume with the optimiser, the average and the frozen parts of "
          "before",
          checkpoint.folder.string(), name);
    }
    tensor.copy_(found->second);
  }
  optimizer_->set_steps(checkpoint.step);
  step_ = saved_at_ = checkpoint.step;
  best_ = checkpoint.best;
  unevaluated_ = checkpoint.unevaluated;
}

std::function<void(const std::string&)> Trainer::on_unreadable() {
  if (config_.unreadable == Unreadable::kStop) return {};
  return [this](const std::string& message) {
    options_.say(fmt::format("{}; skipped, {} so far", message, ++skipped_));
  };
}

void Trainer::start_loader() {
  const LoaderOptions loading = {.batch = config_.batch / config_.accumulate,
                                 .seed = static_cast<uint64_t>(config_.seed),
                                 .threads = options_.threads,
                                 .first = config_.overfit_batch ? 0 : step_ * config_.accumulate,
                                 .pinned = options_.device.is_cuda(),
                                 .waiting = [this] { drop_if_asked(); },
                                 .unreadable = on_unreadable()};
  loader_ = std::make_unique<Loader>(*examples_, loading);
}

Example Trainer::next_batch() {
  if (only_batch_) return *only_batch_;
  if (!loader_) start_loader();
  const Example batch = to_device(loader_->next(), options_.device);
  if (config_.overfit_batch) only_batch_ = batch;
  return batch;
}

double Trainer::learning_rate() const {
  const TrainConfig& c = config_;
  return c.schedule == ScheduleKind::kConstantCosine
             ? constant_cosine(c.learning_rate, step_, c.steps, c.constant_share)
             : warmup_cosine(c.learning_rate, step_, c.steps, c.warmup_steps);
}

// Each change of a weight by whomsoever is counted, the optimiser's too.
static int64_t version_of(const std::vector<Tensor>& weights) {
  int64_t version = 0;
  for (const Tensor& w : weights) version += w._version();
  return version;
}

// Before a pass and not in it: a recorded one would repeat what the optimiser has done.
void Trainer::refresh_narrow_weights() {
  const int64_t version = version_of(weights_);
  if (std::exchange(weights_version_, version) != version) {
    for (WeightCopy& c : narrow_weights_.copies()) c.current = false;
  }
  narrow_weights_.refresh();
}

void Trainer::drop_if_asked() const {
  if (!is_watched()) return;
  if (const int why = options_.look()) throw Dropped(why);
}

// A forward pass of one example tells what a batch of them keeps for the backward pass, which takes
// little more itself.
StepMemory Trainer::step_memory() {
  StepMemory memory;
  for (const auto& [name, tensor] : state()) memory.fixed += bytes_of(tensor);
  for (const Tensor& parameter : trained_) {
    memory.fixed += bytes_of(parameter) * (config_.accumulate > 1 ? 2 : 1);  // gradients
  }
  const Example batch = training_.random_batch(1);
  BuffersBefore buffers(task_.model());
  refresh_narrow_weights();
  try {
    memory.per_example = peak_tensor_bytes([&] {
      const WatchedForward watched([this] { drop_if_asked(); });
      const RecomputeScope recompute(config_.recompute);
      const NarrowWeights::Scope narrow(narrow_weights_);
      const AutocastScope autocast(options_.device.type(), dtype_of(config_.dtype));
      training_.loss(batch);
    });
  } catch (const Dropped&) {  // run() will be asked to stop, too
  }
  buffers.restore();
  return memory;
}

void Trainer::check_step_fits() {
  if (!options_.device.is_cpu()) return;
  const int64_t free_bytes = free_memory(options_.device);
  check_memory(step_memory(), config_, free_bytes);
}

// Autograd would add to each gradient by a kernel of its own: it is left to make new ones.
RecordedPass::Result Trainer::pass(const Example& batch) {
  const RecomputeScope recompute(config_.recompute);
  const NarrowWeights::Scope narrow(narrow_weights_);
  for (Tensor& parameter : trained_) parameter.mutable_grad() = Tensor();
  Loss loss;
  {
    std::optional<WatchedForward> watch;
    if (is_watched()) watch.emplace([this] { drop_if_asked(); });
    const AutocastScope autocast(options_.device.type(), dtype_of(config_.dtype));
    loss = training_.loss(batch);
  }
  if (is_watched()) watch_backward(loss.sum, [this] { drop_if_asked(); });
  loss.sum.backward();
  RecordedPass::Result result{{loss.sum.detach(), loss.weight.detach()}, {}};
  for (Tensor& parameter : trained_) {
    result.gradients.push_back(std::exchange(parameter.mutable_grad(), Tensor()));
  }
  return result;
}

// The gradients of a step that is one pass stay where that pass has made them.
void Trainer::take_gradients(const std::vector<Tensor>& made, bool first) {
  at::NoGradGuard no_grad;
  std::vector<Tensor> sums, added;
  for (size_t i = 0; i < trained_.size(); ++i) {
    Tensor& gradient = trained_[i].mutable_grad();
    if (config_.accumulate == 1 && made[i].defined()) {
      gradient = made[i];
      continue;
    }
    if (!sums_[i].defined()) sums_[i] = at::empty_like(trained_[i]);
    if (first) sums_[i].zero_();
    gradient = sums_[i];
    if (made[i].defined()) sums.push_back(sums_[i]), added.push_back(made[i]);
  }
  if (!sums.empty()) at::_foreach_add_(sums, added);
}

Loss Trainer::passes() {
  const bool records = config_.graph && !config_.recompute;
  Loss all;
  for (int64_t i = 0; i < config_.accumulate; ++i) {
    const Example batch = next_batch();
    refresh_narrow_weights();
    const auto [loss, gradients] = records ? recorded_pass_(batch) : pass(batch);
    take_gradients(gradients, i == 0);
    all = i == 0 ? loss : Loss{all.sum + loss.sum, all.weight + loss.weight};
  }
  return all;
}

Trainer::Step Trainer::step() {
  // Dropout draws from LibTorch's own numbers: as a function of seed and step they need no saving.
  at::manual_seed(scramble(scramble(config_.seed) + step_));
  std::optional<BuffersBefore> buffers;
  if (is_watched()) buffers.emplace(task_.model());
  Loss all;
  try {
    all = passes();
  } catch (const Dropped&) {
    buffers->restore();
    throw;
  }
  const Tensor weight = all.weight.clamp_min(1e-9);
  const Tensor norm =
      optimizer_->step(learning_rate(), weight, config_.clip, narrow_weights_.copies());
  weights_version_ = version_of(weights_);
  ++step_;
  if (average_) average_->update(step_);
  return {all.sum / weight, norm};
}

}  // namespace perceiver
