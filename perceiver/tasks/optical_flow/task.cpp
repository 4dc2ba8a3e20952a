#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<OpticalFlowConfig>;

class OpticalFlowTask : public Task {
 public:
  explicit OpticalFlowTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Tensor forward_random(int64_t batch, Split) override {
    const OpticalFlowConfig& c = config_.model;
    const Tensor flow = model_(at::rand({batch, 2, 3, c.height, c.width}) * 2 - 1);
    return pixels_to_elements(flow);
  }

 private:
  Config config_;
  OpticalFlow model_;
};

}  // namespace

std::unique_ptr<Task> make_optical_flow(const File& config,
                                        std::span<const std::string> overrides) {
  return std::make_unique<OpticalFlowTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
