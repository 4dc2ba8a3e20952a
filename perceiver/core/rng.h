// Random numbers as a function of what they are for: the same (seed, epoch, index) gives the same
// stream, whatever was drawn before, elsewhere or on how many threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace perceiver {

// Splitmix64: a bijection of 64 bits whose outputs pass for random even when inputs count up.
constexpr uint64_t scramble(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

class Rng {
 public:
  // `purpose` tells streams apart that are drawn for the same example.
  explicit Rng(uint64_t seed, uint64_t epoch = 0, uint64_t index = 0, uint64_t purpose = 0)
      : epoch_(epoch),
        key_(scramble(scramble(scramble(scramble(seed) + epoch) + index) + purpose)) {}

  // For examples that grow harder as training goes on.
  uint64_t epoch() const { return epoch_; }

  uint64_t bits() { return scramble(key_ + counter_++); }

  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }

  // In [0, count), each as likely as the others; count is at least 1.
  int64_t integer(int64_t count) {
    const uint64_t n = static_cast<uint64_t>(count), uneven = (0 - n) % n;
    uint64_t drawn = bits();
    while (drawn < uneven) drawn = bits();  // 2^64 is no multiple of n: drop what is left over
    return static_cast<int64_t>(drawn % n);
  }

  double normal() {  // Box-Muller; 1 - uniform() is never 0
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  uint64_t epoch_, key_, counter_ = 0;
};

}  // namespace perceiver
