#include "perceiver/train/skipped_examples.h"

#include <fmt/format.h>

#include <set>

#include "perceiver/core/tensor.h"

namespace perceiver {
namespace {

constexpr int64_t kSaidInFull = 5;

bool is_power_of_ten(int64_t number) {
  while (number >= 10 && number % 10 == 0) number /= 10;
  return number == 1;
}

}  // namespace

void SkippedExamples::add(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (!known_.insert(static_cast<int64_t>(std::hash<std::string>()(message))).second) return;
  const int64_t number = std::ssize(known_);
  if (number < kSaidInFull) return say_(message + "; skipped");
  if (number == kSaidInFull) return say_(message + "; skipped, and more such without a line each");
  if (is_power_of_ten(number)) {
    say_(fmt::format("{} examples could not be read so far; the last: {}", number, message));
  }
}

int64_t SkippedExamples::count() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(known_);
}

int64_t SkippedExamples::count_of(Ranks& ranks) const {
  const std::vector<int64_t> own(known_.begin(), known_.end());
  const int64_t most = ranks.most(std::ssize(own));
  const Tensor all = at::zeros({ranks.size(), most}, at::kLong);
  if (!own.empty()) all[ranks.rank()].narrow(0, 0, std::ssize(own)).copy_(at::tensor(own));
  ranks.sum({all});
  std::set<int64_t> distinct(all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + all.numel());
  distinct.erase(0);
  return std::ssize(distinct);
}

}  // namespace perceiver
