// Which tensor of a weights file fills which tensor of a model, and what does not fit.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perceiver/weights/haiku.h"
#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/names.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

// A tensor of ours -> its name and layout in a file.
using NameOf = std::function<std::optional<ForeignName>(const std::string& ours)>;

// The names in a checkpoint of DeepMind's, as haiku_tensors() gives them.
NameOf haiku_names(const Settings& settings);
// Whether the model convolves as DeepMind's code does, with the kernel that Hugging Face's files
// have with its axes swapped.
bool deepmind_kernel(const Settings& settings);

// The names in a folder: Hugging Face's where transformers has a class for the model, else ours.
// `kernel_in_file` is deepmind_kernel() of the settings in the folder, where these are others.
NameOf folder_names(const Settings& settings, std::optional<bool> kernel_in_file = {});

// One map of names, "module:parameter"; haiku's own bookkeeping beside the averages stays out.
TensorMap haiku_tensors(const HaikuCheckpoint& checkpoint);

struct WeightsProblem {
  enum class Kind {
    kNoPlace,      // a tensor of the model's that the format does not have
    kMissing,      // from the file
    kWrongShape,   // in the file
    kSuperfluous,  // in the file
  };
  Kind kind;
  std::string tensor;                              // its name in the file; kNoPlace: in the model
  std::vector<int64_t> shape = {}, expected = {};  // of kWrongShape, as the file has them
};
std::string to_string(const WeightsProblem& problem);  // "tensor 'x' is missing"

struct WeightsMatch {
  std::vector<std::pair<Tensor, Tensor>> pairs;  // the module's, and the file's in our layout
  std::vector<WeightsProblem> problems;
};

// All of the file for all of the module, which may be without memory.
WeightsMatch match_weights(const torch::nn::Module& module, const TensorMap& weights,
                           const NameOf& name_of);

// Fails where settings ask for more layers or classes than the weights can fill: before a model of
// that many, or a list of their names, is made.
void check_counts(const Settings& settings, const TensorMap& weights);

}  // namespace perceiver
