// Where a model's weights come from: what one must know before believing an answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace perceiver {

enum class WeightsFrom {
  kRandom,       // a config, or what was converted from one: nothing is learnt yet
  kTrained,      // a run of `train`
  kShipped,      // a model that comes with this program
  kDeepMind,     // a checkpoint of DeepMind's, or what was converted from one
  kHuggingFace,  // a folder of transformers', or what was converted from one
  kUnknown,      // a folder that does not say
};
constexpr std::array<std::string_view, 6> enum_words(WeightsFrom) {
  return {"random", "trained", "shipped", "deepmind", "huggingface", "unknown"};
}

struct Origin {
  WeightsFrom weights = WeightsFrom::kRandom;
  std::string name = {};      // trained: of the run; shipped: of the model
  int64_t steps = 0;          // trained: so far; 0: not known, or none
  std::string began_as = {};  // trained: the model it took its first weights from; empty: random

  bool is_random() const { return weights == WeightsFrom::kRandom; }
};

// "random weights", "trained here (run mini, 60 steps)", "weights from DeepMind"
std::string to_string(const Origin& origin);

// Said before the answers of a model with random weights.
inline constexpr const char* kRandomWarning =
    "the weights are random, so the answers mean nothing; train the model, or name one with -m";

}  // namespace perceiver
