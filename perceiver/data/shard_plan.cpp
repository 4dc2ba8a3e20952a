#include "perceiver/data/shard_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace perceiver {

int64_t segment_begin(const ShardPart& part, int64_t index) {
  return part.begin + (part.end - part.begin) * index / part.segments;
}

ShardPlan::ShardPlan(std::vector<ShardPart> parts, int64_t lanes, int64_t stride)
    : parts_(std::move(parts)), lanes_(std::min(lanes, std::ssize(parts_))), stride_(stride) {
  for (const ShardPart& part : parts_) {
    for (int64_t i = 0; i < part.segments; ++i) examples_ += examples_of(part, i);
  }
}

int64_t ShardPlan::examples_of(const ShardPart& part, int64_t segment) const {
  const auto bytes =
      static_cast<double>(segment_begin(part, segment + 1) - segment_begin(part, segment));
  return std::max<int64_t>(1, std::llround(std::ceil(bytes * part.text / stride_)));
}

EpochPlan::EpochPlan(const ShardPlan& plan, Rng rng) : plan_(plan), lanes_(plan.lanes_) {
  std::vector<int64_t> order(plan.parts_.size());
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = std::ssize(order) - 1; i > 0; --i) {
    std::swap(order[i], order[rng.integer(i + 1)]);
  }
  using Free = std::pair<int64_t, int64_t>;  // from which round on, and the lane
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (int64_t lane = 0; lane < plan.lanes_; ++lane) free.push({0, lane});
  first_ = {0};
  for (const int64_t index : order) {
    const ShardPart& part = plan.parts_[index];
    const auto [round, lane] = free.top();
    free.pop();
    lanes_[lane].push_back({round, index});
    free.push({round + part.segments, lane});
    first_.resize(std::max(std::ssize(first_), round + part.segments + 1));
    for (int64_t i = 0; i < part.segments; ++i) first_[round + i + 1] += plan.examples_of(part, i);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

EpochPlan::Segment EpochPlan::segment(int64_t lane, int64_t round) const {
  const std::vector<Given>& given = lanes_[lane];
  const auto behind = std::ranges::upper_bound(given, round, {}, &Given::round);
  if (behind == given.begin()) return {};
  const Given& last = *(behind - 1);
  const ShardPart& part = plan_.parts_[last.part];
  const int64_t index = round - last.round;
  if (index >= part.segments) return {};
  return {last.part, index, plan_.examples_of(part, index)};
}

EpochPlan::Place EpochPlan::find(int64_t place) const {
  const auto behind = std::ranges::upper_bound(first_, place);
  return {behind - first_.begin() - 1, place - *(behind - 1), *behind - *(behind - 1)};
}

}  // namespace perceiver
