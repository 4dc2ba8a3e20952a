// Examples that could not be read and are skipped: an epoch meets each of them again, and a table
// may name many that are not there.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>

#include "perceiver/ranks/ranks.h"

namespace perceiver {

class SkippedExamples {
 public:
  // The first few are said as they are, after that how many there are at 10, 100, 1,000, …
  explicit SkippedExamples(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // What is wrong with an example, from any thread. Said once.
  void add(const std::string& message);

  int64_t count() const;

  // Of all ranks; called by each of them.
  int64_t count_of(Ranks& ranks) const;

 private:
  std::function<void(const std::string&)> say_;
  mutable std::mutex mutex_;
  std::unordered_set<int64_t> known_;  // hashes of what was said
};

}  // namespace perceiver
