// A model with something to do: a forward pass, or a step of training.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/train/trainer.h"
#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

// What can be measured by name: the paper's models at their sizes.
struct NamedWorkload {
  std::string_view name, config, what;
  bool tiled = false;    // frames of 1088 x 436 in tiles, as the paper's speed note has it (App. H)
  int64_t quick_on = 0;  // 1: taken on a GPU when nothing is named; 2: on a CPU too
};
const std::vector<NamedWorkload>& named_workloads();
std::vector<std::string> all_workloads();                     // their names
std::vector<std::string> quick_workloads(at::Device device);  // of those that take seconds there

struct WorkloadOptions {
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  int64_t batch = 1;
  bool train = false;
  TensorMap inputs = {};                    // by the names of `perceiver run`; empty: random ones
  std::vector<std::string> overrides = {};  // of a config
};

// Fails where the name, the config or the combination of options is wrong: before anything is
// measured, and without memory for weights.
void check_workload(const std::string& name, const WorkloadOptions& options);

class Workload {
 public:
  // `name` is one of named_workloads(), a config, or a model as find_model() takes it.
  Workload(const std::string& name, const WorkloadOptions& options);
  Workload(const Workload&) = delete;

  void pass() { pass_(); }
  TensorMap outputs() const { return outputs_; }  // of the last pass, where inputs were given

  const std::string& name() const { return name_; }
  const Model& model() const { return model_; }
  const char* examples_are() const { return tiled_ ? "frames" : "examples"; }
  int64_t examples() const { return examples_; }  // a pass
  // A pass, by the definition: what exact algebra saves is counted all the same. A training step is
  // three forward passes.
  double flops() const { return flops_; }
  ModelSummary summary() const;

 private:
  void prepare_forward(const WorkloadOptions& options);
  void prepare_reference(const WorkloadOptions& options);
  void prepare_tiles(const WorkloadOptions& options);
  void prepare_training(const WorkloadOptions& options);

  std::string name_;
  bool tiled_ = false, train_ = false;
  Model model_;
  int64_t examples_ = 1;
  double flops_ = 0.0;
  Example inputs_;
  TensorMap outputs_;
  std::unique_ptr<Trainer> trainer_;
  std::function<void()> pass_;
};

}  // namespace perceiver
