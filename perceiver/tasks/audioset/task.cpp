#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include <functional>

#include "perceiver/core/error.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/audioset/views.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<AudioSetConfig>;

class AudioSetTask : public Task {
 public:
  explicit AudioSetTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Example random_inputs(int64_t batch) const override {
    const AudioSetConfig& c = config_.model;
    return {{"video", at::rand({batch, c.num_frames, 3, c.image_size, c.image_size})},
            {"audio", at::rand({batch, c.num_samples}) * 2 - 1}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("video"), inputs.at("audio")).unsqueeze(1);
  }

  // -> video uint8 [views, T, 3, H, W], audio [views, S] in [-1, 1]
  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("expected one clip or sound, got {} files", files.size());
    const ClipViews views = read_views(files[0], config_.model);
    return {{"video", views.video}, {"audio", views.samples}};
  }

  // A clip may have several labels: each class by itself.
  Tensor classify(const Example& inputs) override {
    return each_view(inputs, [&](const Tensor& latents) {
      return model_->decode(latents).to(at::kFloat).sigmoid();
    });
  }

  Tensor encode(const Example& inputs) override {
    return each_view(inputs, [](const Tensor& latents) { return latents; });
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const int64_t sounds = model_->num_sounds();
    return {{.modality = "audio", .grid = {sounds}},
            {.modality = "video",
             .first = sounds,
             .grid = model_->patches(),
             .pictures = inputs.at("video")[0]}};
  }

 private:
  // One by one: sixteen input arrays at once are large.
  Tensor each_view(const Example& inputs, const std::function<Tensor(const Tensor&)>& result) {
    const at::TensorOptions options = model_->parameters().front().options();
    std::vector<Tensor> results;
    for (int64_t i = 0; i < inputs.at("video").size(0); ++i) {
      const Tensor video = inputs.at("video").narrow(0, i, 1).to(options.device());
      results.push_back(result(model_->encode(video.to(at::kFloat).div(255).to(options),
                                              inputs.at("audio").narrow(0, i, 1).to(options))));
    }
    return at::cat(results);
  }

  Config config_;
  AudioSet model_;
};

}  // namespace

std::unique_ptr<Task> make_audioset(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<AudioSetTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
