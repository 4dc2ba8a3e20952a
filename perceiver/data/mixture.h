// Several sources in turn, each as often as its weight says, as evenly as can be.
#pragma once

#include <cstdint>
#include <vector>

namespace perceiver {

class Mixture {
 public:
  explicit Mixture(std::vector<int64_t> weights);

  // Of turn g, counted from 0: whose it is, and how many that source had before. At every turn each
  // source has had its share to within one (Tijdeman 1980, The chairman assignment problem).
  struct Turn {
    int64_t source, number;
  };
  Turn turn(int64_t g) const;

 private:
  std::vector<int64_t> weights_;  // without a common divisor
  std::vector<Turn> period_;      // after which it begins again
};

}  // namespace perceiver
