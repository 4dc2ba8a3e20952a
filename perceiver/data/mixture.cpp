#include "perceiver/data/mixture.h"

#include <numeric>

namespace perceiver {

Mixture::Mixture(std::vector<int64_t> weights) : weights_(std::move(weights)) {
  int64_t divisor = 0;
  for (const int64_t weight : weights_) divisor = std::gcd(divisor, weight);
  for (int64_t& weight : weights_) weight /= divisor;
  const int64_t length = std::accumulate(weights_.begin(), weights_.end(), int64_t{0});
  const int64_t most = weights_.size() > 1 ? 2 * (std::ssize(weights_) - 1) : 1;
  std::vector<int64_t> had(weights_.size());
  for (int64_t g = 1; g <= length; ++g) {
    // Of those whose share after this turn is ahead of what they had by 1 / most at least, the one
    // that is the first to be ahead by 1 - 1 / most. All times `length` and `most`.
    int64_t chosen = -1;
    double earliest = 0.0;
    for (int64_t i = 0; i < std::ssize(weights_); ++i) {
      const int64_t ahead = most * (g * weights_[i] - had[i] * length);
      if (ahead < length) continue;
      const double due =
          static_cast<double>((most - 1) * length - ahead) / static_cast<double>(weights_[i]);
      if (chosen < 0 || due < earliest) chosen = i, earliest = due;
    }
    period_.push_back({chosen, had[chosen]++});
  }
}

Mixture::Turn Mixture::turn(int64_t g) const {
  const Turn& turn = period_[g % std::ssize(period_)];
  return {turn.source, g / std::ssize(period_) * weights_[turn.source] + turn.number};
}

}  // namespace perceiver
