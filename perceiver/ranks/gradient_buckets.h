// Sums of gradients over ranks, in buckets that are on their way while the backward pass still
// makes the next ones. Of the CPU, where sums are not part of a recorded pass.
#pragma once

#include <deque>
#include <vector>

#include "perceiver/ranks/ranks.h"

namespace perceiver {

class GradientBuckets {
 public:
  static constexpr int64_t kBytes = 25 << 20;  // of a bucket, as in PyTorch

  // `leaves` are the same on all ranks, about in the order in which a forward pass comes to them.
  // While this lives, backward passes of a step leave no gradients behind in them.
  GradientBuckets(const std::vector<Tensor>& leaves, Ranks& ranks, int64_t bytes = kBytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;

  // A step begins, of one backward pass or several, whose gradients are added up.
  void begin();
  // The next pass is this rank's last: what a bucket has of it is complete, and sent.
  void begin_last_pass();
  // Sends what has not been and waits for all of it, also where no pass was the last. Between
  // begin() and this, no rank calls anything else that all do together. -> the sums of all ranks,
  // zeros of leaves that nothing reaches, in the order of `leaves`; they are there until begin()
  std::vector<Tensor> finish();

 private:
  struct Leaf {
    Tensor tensor, sum;  // `sum`: its place in a bucket
    size_t bucket;
    bool begun = false;  // a gradient is in it
  };
  struct Bucket {
    Tensor sums;
    size_t leaves = 0, missing = 0;  // gradients of the last pass
  };
  class Hook;

  void add(Leaf& leaf);
  void send_complete_ones();

  Ranks& ranks_;
  std::vector<Leaf> leaves_;
  std::vector<Bucket> buckets_;  // in the order in which they are sent, on every rank
  std::deque<Ranks::Pending> sent_;
  bool is_open_ = false, is_last_ = false;
};

}  // namespace perceiver
