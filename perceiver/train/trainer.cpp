#include "perceiver/train/trainer.h"

#include <ATen/ATen.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "perceiver/nn/autocast.h"
#include "perceiver/nn/recompute.h"
#include "perceiver/optim/adamw.h"
#include "perceiver/optim/lamb.h"
#include "perceiver/optim/schedule.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/zoo/find.h"

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

TensorMap tensors_of(torch::nn::Module& module) {
  TensorMap tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

at::ScalarType dtype_of(const TrainConfig& config) {
  return config.dtype == Precision::kBFloat16 ? at::kBFloat16 : at::kFloat;
}

}  // namespace

void take_weights(torch::nn::Module& module, torch::nn::Module& from,
                  const std::vector<std::string>& new_head, const std::string& source) {
  check_globs(module, new_head, "train.new_head");
  at::NoGradGuard no_grad;
  const TensorMap theirs = tensors_of(from);
  for (auto& [name, tensor] : tensors_of(module)) {
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
    : model_(model), task_(*model.task), config_(task_.train_config()), options_(options) {
  if (config_.batch % config_.accumulate != 0) {
    fail("train.batch ({}) must be a multiple of train.accumulate ({})", config_.batch,
         config_.accumulate);
  }
  if (config_.average >= 1.0) fail("train.average ({}) must be less than 1", config_.average);
  if (options.only_batch) {
    only_batch_ = to_device(*options.only_batch, options.device);
  } else {
    examples_ = task_.dataset(Split::kTrain);
    if (!config_.overfit_batch) held_out_ = task_.dataset(Split::kEval);
  }
  if (!config_.from.empty()) {
    Model from = load_model(find_model(config_.from));
    take_weights(task_.model(), from.task->model(), config_.new_head, from.source);
  }
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

void Trainer::freeze() {
  check_globs(task_.model(), config_.freeze, "train.freeze");
  for (auto& item : task_.model().named_parameters()) {
    item.value().set_requires_grad(!matches(item.key(), config_.freeze));
  }
}

void Trainer::resume(const Checkpoint& checkpoint) {
  Model saved = load_model(checkpoint.folder);
  take_weights(task_.model(), saved.task->model(), {}, checkpoint.folder.string());
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
  step_ = checkpoint.step;
  best_ = checkpoint.best;
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

// Autograd would add to each gradient by a kernel of its own: it is left to make new ones.
RecordedPass::Result Trainer::pass(const Example& batch) {
  const RecomputeScope recompute(config_.recompute);
  const NarrowWeights::Scope narrow(narrow_weights_);
  for (Tensor& parameter : trained_) parameter.mutable_grad() = Tensor();
  Loss loss;
  {
    const AutocastScope autocast(options_.device.type(), dtype_of(config_));
    loss = task_.loss(batch);
  }
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

Trainer::Step Trainer::step() {
  // Dropout draws from LibTorch's own numbers: as a function of seed and step they need no saving.
  at::manual_seed(scramble(scramble(config_.seed) + step_));
  const bool records = config_.graph && !config_.recompute;
  Loss all;
  for (int64_t i = 0; i < config_.accumulate; ++i) {
    const Example batch = next_batch();
    refresh_narrow_weights();
    const auto [loss, gradients] = records ? recorded_pass_(batch) : pass(batch);
    take_gradients(gradients, i == 0);
    all = i == 0 ? loss : Loss{all.sum + loss.sum, all.weight + loss.weight};
  }
  const Tensor weight = all.weight.clamp_min(1e-9);
  const Tensor norm =
      optimizer_->step(learning_rate(), weight, config_.clip, narrow_weights_.copies());
  weights_version_ = version_of(weights_);
  ++step_;
  if (average_) average_->update(step_);
  return {all.sum / weight, norm};
}

int Trainer::run(RunFolder& folder) {
  Meter meter({.device = options_.device,
               .dtype = dtype_of(config_),
               .flops_per_step = task_.train_flops() * config_.batch,
               .examples_per_step = config_.batch,
               .steps = config_.steps});
  int stopped = 0;
  while (step_ < config_.steps && stopped == 0) {
    const double rate = learning_rate();
    const Step result = step();
    meter.add_step();
    stopped = options_.stop();
    const bool last = step_ == config_.steps || stopped != 0;
    const bool evaluates = config_.eval_every > 0 && step_ % config_.eval_every == 0;
    const bool saves = last || step_ % config_.save_every == 0;
    const bool logs = step_ % config_.log_every == 0 || step_ == config_.steps;
    // A GPU runs ahead; looking at a number waits for it.
    if (logs || saves || evaluates || options_.device.is_cpu()) check_finite(result, folder);
    if (logs) {
      Figures figures = meter.figures(config_.steps - step_);
      figures["loss"] = result.loss.item<double>();
      figures["gradient_norm"] = result.gradient_norm.item<double>();
      figures["learning_rate"] = rate;
      folder.log(step_, "train", figures);
      options_.say(step_line(step_, config_.steps, figures));
    }
    meter.pause();
    if (evaluates || step_ == config_.steps) evaluate_and_keep_best(folder);
    if (saves) save(folder);
    meter.go_on();
  }
  return stopped;
}

void Trainer::check_finite(const Step& result, const RunFolder& folder) const {
  const double loss = result.loss.item<double>(), norm = result.gradient_norm.item<double>();
  if (std::isfinite(loss) && std::isfinite(norm)) return;
  fail(
      "step {}: the {} is {}; the checkpoints in {} are from before. Lower train.learning_rate, or "
      "set train.clip",
      step_, std::isfinite(loss) ? "gradients' norm" : "loss", std::isfinite(loss) ? norm : loss,
      folder.path().string());
}

void Trainer::evaluate_and_keep_best(RunFolder& folder) {
  if (!held_out_ || evaluated_at_ == step_) return;
  evaluated_at_ = step_;
  const EvaluateOptions how = {.device = options_.device,
                               .threads = options_.threads,
                               .seed = static_cast<uint64_t>(config_.seed),
                               .unreadable = on_unreadable()};
  const WeightAverage::Scope averaged(average_.get());
  const Evaluation result = evaluate(task_, *held_out_, how);
  folder.log(step_, "eval", result.figures);
  std::string line =
      fmt::format("step {}/{}  held out ({}):", step_, config_.steps, result.examples);
  for (const auto& [name, value] : result.figures) line += fmt::format("  {} {:.4f}", name, value);
  const MainMeasure main = task_.main_measure();
  const double value = result.figures.at(main.name);
  if (!best_ || (main.lower_is_better ? value < *best_ : value > *best_)) {
    best_ = value;
    save_best(folder.path(), model_);
    line += "  (best so far)";
  }
  options_.say(line);
}

NamedTensors Trainer::state() const {
  NamedTensors state = optimizer_->state();
  if (average_) std::ranges::move(average_->state(), std::back_inserter(state));
  return state;
}

void Trainer::save(const RunFolder& folder) const {
  save_last(folder.path(), model_, {.step = step_, .best = best_, .tensors = state()});
  if (!average_ || held_out_) return;
  // Nothing tells which average is best: the newest can be used too.
  const WeightAverage::Scope averaged(average_.get());
  save_best(folder.path(), model_);
}

}  // namespace perceiver
