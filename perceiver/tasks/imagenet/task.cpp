#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<ImageNetConfig>;

class ImageNetTask : public Task {
 public:
  explicit ImageNetTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Tensor forward_random(int64_t batch, Split) override {
    const int64_t size = config_.model.image_size;
    return model_(at::randn({batch, 3, size, size})).unsqueeze(1);
  }

 private:
  Config config_;
  ImageNet model_;
};

}  // namespace

std::unique_ptr<Task> make_imagenet(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<ImageNetTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
