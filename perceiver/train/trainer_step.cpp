// One step: the passes over the parts of its batch, this process's and all others', put together.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "perceiver/core/autocast.h"
#include "perceiver/nn/recompute.h"
#include "perceiver/train/buffers_before.h"
#include "perceiver/train/dropped.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/trainer.h"
#include "perceiver/train/watched_pass.h"

namespace perceiver {
namespace {

// Each change of a weight by whomsoever is counted, the optimiser's too.
int64_t version_of(const std::vector<Tensor>& weights) {
  int64_t version = 0;
  for (const Tensor& w : weights) version += w._version();
  return version;
}

}  // namespace

void Trainer::start_loader() {
  const LoaderOptions loading = {.batch = config_.batch,
                                 .rank = rank(),
                                 .ranks = num_ranks(),
                                 .parts = num_parts_,
                                 .seed = static_cast<uint64_t>(config_.seed),
                                 .threads = options_.threads,
                                 .first = config_.overfit_batch ? 0 : step_,
                                 .pinned = options_.device.is_cuda(),
                                 .waiting = [this] { drop_if_asked(); },
                                 .unreadable = on_unreadable()};
  loader_ = std::make_unique<Loader>(*examples_, loading);
}

Example Trainer::part(int64_t number) {
  if (only_batch_) return *only_batch_;
  if (number < std::ssize(kept_parts_)) return kept_parts_[number];
  if (!loader_) start_loader();
  const Example part = to_device(loader_->next(), options_.device);
  if (config_.overfit_batch) kept_parts_.push_back(part);
  return part;
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

Loss Trainer::loss_of(const Example& part) {
  std::optional<WatchedForward> watch;
  if (is_watched()) watch.emplace([this] { drop_if_asked(); });
  const AutocastScope autocast(options_.device.type(), dtype_of(config_.dtype));
  return training_.loss(part);
}

// Autograd would add to each gradient by a kernel of its own: it is left to make new ones.
void Trainer::forget_gradients() {
  for (Tensor& leaf : leaves_) leaf.mutable_grad() = Tensor();
}

std::vector<Tensor> Trainer::made_gradients() {
  std::vector<Tensor> made;
  for (Tensor& leaf : leaves_) made.push_back(std::exchange(leaf.mutable_grad(), Tensor()));
  return made;
}

RecordedPass::Result Trainer::pass(const Example& part) {
  const RecomputeScope recompute(config_.recompute);
  const NarrowWeights::Scope narrow(narrow_weights_);
  forget_gradients();
  const Loss loss = loss_of(part);
  if (is_watched()) watch_backward(loss.sum, [this] { drop_if_asked(); });
  loss.sum.backward();
  return {{loss.sum.detach(), loss.weight.detach()}, made_gradients()};
}

// Puts all parts through the model until its batch norm is reached.
void Trainer::pass_to_norm(const std::vector<Example>& parts) {
  const NarrowWeights::Scope narrow(narrow_weights_);
  drop_together(options_.ranks, [&] {
    for (const Example& part : parts) {
      if (part.empty()) continue;
      try {
        loss_of(part);
      } catch (const BatchNormReached&) {
      }
    }
  });
}

void Trainer::sum_over_ranks(const std::vector<Tensor>& tensors) {
  if (options_.ranks != nullptr) options_.ranks->sum(tensors);
}

// The gradients of a step that is one pass stay where that pass has made them.
void Trainer::take_gradients(const std::vector<Tensor>& made, bool first) {
  at::NoGradGuard no_grad;
  std::vector<Tensor> sums, added;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Tensor& gradient = gradients_[i];
    if (num_parts_ == 1 && made[i].defined()) {
      gradient = made[i];
      continue;
    }
    if (!sums_[i].defined()) sums_[i] = at::empty_like(leaves_[i]).detach();
    if (first) sums_[i].zero_();
    gradient = sums_[i];
    if (made[i].defined()) sums.push_back(sums_[i]), added.push_back(made[i]);
  }
  if (!sums.empty()) at::_foreach_add_(sums, added);
}

// Forward and backward, part by part.
Loss Trainer::all_passes(const std::vector<Example>& parts) {
  const bool records = config_.graph && !config_.recompute;
  Loss all;
  for (int64_t i = 0; i < num_parts_; ++i) {
    const Example part = parts.empty() ? this->part(i) : parts[i];
    if (part.empty()) continue;
    // Dropout draws from LibTorch's own numbers: as a function of seed, step and part they need no
    // saving, and are the same on whatever rank.
    at::manual_seed(scramble(scramble(config_.seed) + step_) + rank() + i * num_ranks());
    refresh_narrow_weights();
    if (buckets_ && i == num_parts_ - 1) buckets_->begin_last_pass();
    const auto [loss, made] = records ? recorded_pass_(part) : pass(part);
    if (!buckets_) take_gradients(made, i == 0);
    all = i == 0 ? loss : Loss{all.sum + loss.sum, all.weight + loss.weight};
  }
  return all;
}

// -> sums over all ranks, as the gradients are. On a CPU those travel while the pass goes on.
Loss Trainer::passes_of_ranks(const std::vector<Example>& parts) {
  Loss all;
  if (buckets_) buckets_->begin();
  drop_together(options_.ranks, [&] {
    try {
      all = all_passes(parts);
    } catch (const Dropped&) {
      if (buckets_) buckets_->finish();  // the others wait for what it sends
      throw;
    }
    if (buckets_) gradients_ = buckets_->finish();
  });
  all = {all.sum.clone(), all.weight.clone()};  // a task may have use for its own
  std::vector<Tensor> sums = buckets_ ? std::vector<Tensor>() : gradients_;
  sums.insert(sums.end(), {all.sum, all.weight});
  sum_over_ranks(sums);
  return all;
}

// -> sums over all ranks, as the gradients are.
Loss Trainer::passes() {
  std::vector<Example> parts;
  if (norms_ && !norms_->empty()) {
    drop_together(options_.ranks, [&] {
      for (int64_t i = 0; i < num_parts_; ++i) parts.push_back(part(i));
    });
    refresh_narrow_weights();
    at::NoGradGuard no_grad;
    norms_->count([&] { pass_to_norm(parts); }, [&](const auto& t) { sum_over_ranks(t); });
  }
  const Loss all = options_.ranks ? passes_of_ranks(parts) : all_passes(parts);
  if (norms_ && !norms_->empty())
    norms_->send_back(gradients_, [&] { return gradients_of_norm(parts); });
  for (size_t i = 0; i < trained_.size(); ++i) trained_[i].mutable_grad() = gradients_[i];
  return all;
}

// What comes through the statistics of the whole batch, of all ranks; undefined where that is
// nothing.
std::vector<Tensor> Trainer::gradients_of_norm(const std::vector<Example>& parts) {
  forget_gradients();
  pass_to_norm(parts);
  std::vector<Tensor> made = made_gradients(), defined;
  for (const Tensor& gradient : made) {
    if (gradient.defined()) defined.push_back(gradient);
  }
  sum_over_ranks(defined);
  return made;
}

Trainer::Step Trainer::step() {
  std::optional<BuffersBefore> buffers;
  if (is_watched()) buffers.emplace(task_.model());
  Loss all;
  try {
    all = passes();
  } catch (const Dropped&) {
    if (buffers) buffers->restore();
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
