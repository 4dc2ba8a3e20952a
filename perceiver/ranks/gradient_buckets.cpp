#include "perceiver/ranks/gradient_buckets.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace perceiver {

// Called by autograd when a leaf has its gradient of a pass.
class GradientBuckets::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientBuckets& buckets, Leaf& leaf) : buckets_(buckets), leaf_(leaf) {}
  void operator()(const Tensor&) override { buckets_.add(leaf_); }

 private:
  GradientBuckets& buckets_;
  Leaf& leaf_;
};

// Backward passes come to the last leaves first.
GradientBuckets::GradientBuckets(const std::vector<Tensor>& leaves, Ranks& ranks, int64_t bytes)
    : ranks_(ranks) {
  for (const Tensor& leaf : leaves) leaves_.push_back({.tensor = leaf, .sum = {}, .bucket = 0});
  const auto fits = [&](int64_t held, const Leaf& one, const Leaf& next) {
    return held + static_cast<int64_t>(next.tensor.nbytes()) <= bytes &&
           one.tensor.dtype() == next.tensor.dtype();
  };
  for (size_t end = leaves_.size(); end > 0;) {
    size_t begin = end - 1;
    auto held = static_cast<int64_t>(leaves_[begin].tensor.nbytes());
    while (begin > 0 && fits(held, leaves_[begin], leaves_[begin - 1])) {
      held += static_cast<int64_t>(leaves_[--begin].tensor.nbytes());
    }
    int64_t place = 0;
    for (size_t i = begin; i < end; ++i) place += leaves_[i].tensor.numel();
    const Tensor sums = at::empty({place}, leaves_[begin].tensor.options().requires_grad(false));
    place = 0;
    for (size_t i = begin; i < end; ++i) {
      const Tensor& leaf = leaves_[i].tensor;
      leaves_[i].sum = sums.narrow(0, place, leaf.numel()).view(leaf.sizes());
      leaves_[i].bucket = buckets_.size();
      place += leaf.numel();
    }
    buckets_.push_back({sums, end - begin});
    end = begin;
  }
  for (Leaf& leaf : leaves_) {
    torch::autograd::impl::set_post_acc_grad_hooks(leaf.tensor,
                                                   std::make_unique<Hook>(*this, leaf));
  }
}

GradientBuckets::~GradientBuckets() {
  for (const Leaf& leaf : leaves_) {
    torch::autograd::impl::set_post_acc_grad_hooks(leaf.tensor, nullptr);
  }
}

void GradientBuckets::begin() {
  TORCH_INTERNAL_ASSERT(!is_open_);
  is_open_ = true;
  is_last_ = false;
  for (Leaf& leaf : leaves_) leaf.begun = false;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.leaves;
}

void GradientBuckets::begin_last_pass() { is_last_ = true; }

// The first gradient is copied, so that a single one keeps its bits.
void GradientBuckets::add(Leaf& leaf) {
  if (!is_open_) return;
  const at::NoGradGuard no_grad;
  const Tensor gradient = std::exchange(leaf.tensor.mutable_grad(), Tensor());
  if (std::exchange(leaf.begun, true)) {
    leaf.sum.add_(gradient);
  } else {
    leaf.sum.copy_(gradient);
  }
  if (!is_last_) return;
  --buckets_[leaf.bucket].missing;
  send_complete_ones();
}

// In their order, whichever is complete first: that may differ from rank to rank.
void GradientBuckets::send_complete_ones() {
  while (sent_.size() < buckets_.size() && buckets_[sent_.size()].missing == 0) {
    sent_.push_back(ranks_.begin_sum(buckets_[sent_.size()].sums));
  }
}

std::vector<Tensor> GradientBuckets::finish() {
  const at::NoGradGuard no_grad;
  is_open_ = false;
  for (Leaf& leaf : leaves_) {
    if (!leaf.begun) leaf.sum.zero_();
  }
  for (Bucket& bucket : buckets_) bucket.missing = 0;
  send_complete_ones();
  for (Ranks::Pending& one : std::exchange(sent_, {})) one.wait();
  std::vector<Tensor> sums;
  for (const Leaf& leaf : leaves_) sums.push_back(leaf.sum);
  return sums;
}

}  // namespace perceiver
