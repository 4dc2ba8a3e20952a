#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<AudioSetConfig>;

class AudioSetTask : public Task {
 public:
  explicit AudioSetTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Tensor forward_random(int64_t batch, Split) override {
    const AudioSetConfig& c = config_.model;
    const Tensor video = at::rand({batch, c.num_frames, 3, c.image_size, c.image_size});
    return model_(video, at::rand({batch, c.num_samples}) * 2 - 1).unsqueeze(1);
  }

 private:
  Config config_;
  AudioSet model_;
};

}  // namespace

std::unique_ptr<Task> make_audioset(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<AudioSetTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
