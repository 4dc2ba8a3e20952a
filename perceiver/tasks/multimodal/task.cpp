#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<MultimodalConfig>;

class MultimodalTask : public Task {
 public:
  explicit MultimodalTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split split) const override {
    return model_->summary(split == Split::kTrain ? model_->num_train_queries()
                                                  : model_->num_outputs());
  }

  Tensor forward_random(int64_t batch, Split split) override {
    const MultimodalConfig& c = config_.model;
    const Tensor latents =
        model_->encode({{"audio", at::rand({batch, c.num_frames * c.samples_per_frame}) * 2 - 1},
                        {"image", at::rand({batch, c.num_frames, 3, c.image_size, c.image_size})},
                        {"label", at::zeros({batch, c.num_classes})}},
                       {{"label", at::ones({batch, 1}, at::kBool)}});
    const auto outputs = [&](const Modalities& points) {
      const Tensor packed = model_->outputs(latents, points);
      model_->heads(packed, points);
      return packed;
    };
    if (split == Split::kTrain) return outputs(model_->random_points());
    const int64_t all = summary(split).outputs.index;
    return decode_in_slices(all, c.decode_slice, [&](int64_t begin, int64_t end) {
      return outputs(model_->points(begin, end));
    });
  }

 private:
  Config config_;
  Multimodal model_;
};

}  // namespace

std::unique_ptr<Task> make_multimodal(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<MultimodalTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
