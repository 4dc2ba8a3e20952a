#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/data.h"
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

  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("a model of pictures takes one at a time, got {}", files.size());
    const Tensor crop = evaluation_crop(decode_image(files[0]), config_.model);
    return {{"pixels", normalised(crop).unsqueeze(0)}};
  }

  Tensor classify(const Example& inputs) override {
    return model_(in_place_of(*model_, inputs.at("pixels"))).to(at::kFloat).softmax(-1);
  }

  Tensor encode(const Example& inputs) override {
    return model_->encode(in_place_of(*model_, inputs.at("pixels")));
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const Tensor pixels = inputs.at("pixels");
    return {{.modality = "image",
             .grid = model_->grid(pixels.sizes().slice(2)),
             .pictures = denormalised(pixels)}};
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
