// A whole run: step after step, reported, evaluated and saved.
#include <ATen/ATen.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "perceiver/core/text.h"
#include "perceiver/train/dropped.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/trainer.h"
#include "perceiver/train/watched_pass.h"
#include "perceiver/zoo/origin.h"

namespace perceiver {
namespace {

// What was measured, for people. Where the figures are too many for a line, it has the main one,
// and a table all of them.
struct ToldFigures {
  std::string line, table = {};
};

ToldFigures told(const Evaluation& result, const Training& training) {
  constexpr int64_t kInALine = 5;
  const auto is_told = [&](const auto& figure) {
    return !training.figure_name(figure.first).detail;
  };
  const bool fit = std::ranges::count_if(result.figures, is_told) <= kInALine;
  const std::string main = training.main_measure().name;
  std::string line;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : result.figures) {
    const FigureName figure = training.figure_name(key);
    if (figure.detail) continue;
    rows.push_back({figure.name, value_text(value, figure.unit)});
    if (fit || key == main) line += fmt::format("  {} {}", rows.back()[0], rows.back()[1]);
  }
  return {line, fit ? "" : table(rows)};
}

}  // namespace

bool Trainer::evaluates_now() const {
  return step_ == config_.steps || (config_.eval_every > 0 && step_ % config_.eval_every == 0);
}

// Until an evaluation was timed: measuring an example takes a third of training on it.
RestOfRun Trainer::rest(Meter& meter) const {
  RestOfRun rest{.steps = config_.steps - step_, .seconds_per_step = meter.seconds_per_step()};
  if (!held_out_) return rest;
  const int64_t every = config_.eval_every > 0 ? config_.eval_every : config_.steps;
  rest.evaluations = config_.steps / every - step_ / every + (config_.steps % every == 0 ? 0 : 1);
  const auto examples = static_cast<double>(num_evaluated(*held_out_, training_.eval_config()));
  rest.seconds_per_evaluation = seconds_per_evaluation_.value_or(
      examples * rest.seconds_per_step / static_cast<double>(3 * config_.batch));
  return rest;
}

void Trainer::report(RunFolder& folder, Meter& meter, const Step& result, double rate) {
  const bool logs = step_ % config_.log_every == 0 || step_ == config_.steps;
  // A GPU runs ahead; looking at a number waits for it.
  if (!logs && is_timed_ && !options_.device.is_cpu()) return;
  const RestOfRun left = rest(meter);
  Metrics figures = meter.figures();
  figures["loss"] = result.loss.item<double>();
  figures["gradient_norm"] = result.gradient_norm.item<double>();
  figures["learning_rate"] = rate;
  figures["seconds_left"] = left.seconds();
  if (logs) folder.log(step_, "train", figures);
  options_.stepped({step_, config_.steps, figures, logs});
  if (logs) meter.begin_again();
  if (std::exchange(is_timed_, true)) return;
  if (const std::string line = rest_line(left); !line.empty()) options_.say(line);
  const bool on_cpu = options_.device.is_cpu();
  if (const std::string advice = on_cpu ? cpu_advice(left, config_) : ""; !advice.empty()) {
    options_.say(advice);
  }
}

int64_t Trainer::most_of_all(int64_t value) const {
  return options_.ranks ? options_.ranks->most(value) : value;
}

// It alone may have read a checkpoint.
void Trainer::begin_as_the_first() {
  if (options_.ranks == nullptr) return;
  const Tensor numbers = at::tensor({step_, saved_at_, static_cast<int64_t>(unevaluated_),
                                     static_cast<int64_t>(best_.has_value())},
                                    at::kLong);
  const Tensor best = at::tensor({best_.value_or(0.0)}, at::kDouble);
  options_.ranks->broadcast({numbers, best});
  step_ = numbers[0].item<int64_t>();
  saved_at_ = numbers[1].item<int64_t>();
  unevaluated_ = numbers[2].item<int64_t>() != 0;
  if (numbers[3].item<int64_t>() != 0) best_ = best.item<double>();
  options_.ranks->broadcast(weights_);
  options_.ranks->broadcast(task_.model().buffers());
  optimizer_->spread_state();
  std::vector<Tensor> averages;
  for (const auto& [name, tensor] : average_state()) averages.push_back(tensor);
  options_.ranks->broadcast(averages);
  optimizer_->set_steps(step_);
}

int Trainer::run_step(RunFolder& folder, Meter& meter) {
  const double rate = learning_rate();
  const Step result = step();
  meter.add_step();
  const auto stopped = static_cast<int>(most_of_all(options_.stop()));
  const bool saves = stopped != 0 || step_ == config_.steps || step_ % config_.save_every == 0;
  const bool logs = step_ % config_.log_every == 0;
  const bool is_looked_at = logs || saves || evaluates_now() || options_.device.is_cpu();
  if (is_looked_at && is_first()) check_finite(result, folder);
  report(folder, meter, result, rate);
  meter.pause();
  if (evaluates_now()) evaluate_and_keep_best(folder);
  if (saves) save(folder);
  meter.go_on();
  return stopped;
}

int Trainer::run(RunFolder& folder) {
  int stopped = 0;
  try {
    begin_as_the_first();
    Meter meter({.device = options_.device,
                 .dtype = dtype_of(config_.dtype),
                 .flops_per_step = training_.flops_per_example() * config_.batch,
                 .examples_per_step = config_.batch,
                 .devices = num_ranks()});
    if (unevaluated_) {
      evaluate_and_keep_best(folder);
      save(folder);
    }
    while (step_ < config_.steps && stopped == 0) stopped = run_step(folder, meter);
  } catch (const Dropped& dropped) {
    stopped = dropped.why;
  }
  loader_.reset();
  if (saved_at_ != step_) save(folder);
  if (options_.ranks != nullptr) skipped_by_all_ = skipped_.count_of(*options_.ranks);
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
  unevaluated_ = true;
  std::optional<WatchedForward> watch;
  if (is_watched()) watch.emplace([this] { drop_if_asked(); });
  const auto start = std::chrono::steady_clock::now();
  const EvaluateOptions how = {.device = options_.device,
                               .threads = options_.threads,
                               .seed = static_cast<uint64_t>(config_.seed),
                               .waiting = [this] { drop_if_asked(); },
                               .unreadable = on_unreadable(),
                               .ranks = options_.ranks};
  const WeightAverage::Scope averaged(average_.get());
  const Evaluation result = evaluate(task_, *held_out_, how);
  seconds_per_evaluation_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  evaluated_at_ = step_;
  unevaluated_ = false;
  if (!is_first()) return;
  folder.log(step_, "eval", result.figures);
  const ToldFigures figures = told(result, training_);
  std::string line = fmt::format("step {}/{}  held out ({}):{}", step_, config_.steps,
                                 result.examples, figures.line);
  const MainMeasure main = training_.main_measure();
  const double value = result.figures.at(main.name);
  // A correlation of constant answers is no number, and better than nothing it is not.
  const bool better = !best_ || (main.lower_is_better ? value < *best_ : value > *best_);
  if (std::isfinite(value) && better) {
    best_ = value;
    sign(folder);
    save_best(folder.path(), model_);
    line += "  (best so far)";
  }
  options_.say(line);
  if (step_ == config_.steps && !figures.table.empty()) {
    options_.say(figures.table.substr(0, figures.table.size() - 1));
  }
}

void Trainer::sign(const RunFolder& folder) const {
  model_.origin = origin_of_run(folder.path());
  model_.origin.steps = step_;
  model_.origin.began_as = config_.from;
}

NamedTensors Trainer::average_state() const {
  return average_ ? average_->state() : NamedTensors();
}

void Trainer::save(const RunFolder& folder) {
  saved_at_ = step_;
  NamedTensors state = optimizer_->gather_state();
  if (!is_first()) return;
  std::ranges::move(average_state(), std::back_inserter(state));
  sign(folder);
  save_last(folder.path(), model_,
            {.step = step_, .best = best_, .unevaluated = unevaluated_, .tensors = state});
  if (!average_ || held_out_) return;
  // Nothing tells which average is best: the newest can be used too.
  const WeightAverage::Scope averaged(average_.get());
  save_best(folder.path(), model_);
}

}  // namespace perceiver
