#include <ATen/ATen.h>

#include <functional>

#include "perceiver/core/error.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/audioset/views.h"
#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/query.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class AudioSetTask : public ModelTask<AudioSet, ModelOnly<AudioSetConfig>, Application> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    const AudioSetConfig& c = config_.model;
    return {{"video", at::rand({batch, c.num_frames, 3, c.image_size, c.image_size})},
            {"audio", at::rand({batch, c.num_samples}) * 2 - 1}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("video"), inputs.at("audio")).unsqueeze(1);
  }

  InputKind reads() const override { return InputKind::kClip; }

  // -> video uint8 [views, T, 3, H, W], audio [views, S] in [-1, 1]
  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("expected one clip or sound, got {} files", files.size());
    const ClipViews views = read_views(files[0], config_.model);
    return {{"video", views.video}, {"audio", views.samples}};
  }

  // A clip may have several labels: each class by itself.
  Tensor classify(const Example& inputs) override {
    return each_view(inputs, [&](const Tensor& video, const Tensor& sound) {
      return model_(video, sound).to(at::kFloat).sigmoid();
    });
  }

  Tensor encode(const Example& inputs) override {
    return each_view(inputs, [&](const Tensor& video, const Tensor& sound) {
      return model_->encode(video, sound);
    });
  }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>& labels) override {
    const Tensor logits = model_->decode(to_model(*model_, file.latents()));
    return answer_classes(logits.to(at::kFloat).sigmoid(), query, labels);
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
  using OfView = std::function<Tensor(const Tensor& video, const Tensor& sound)>;
  Tensor each_view(const Example& inputs, const OfView& result) {
    const at::TensorOptions options = model_->parameters().front().options();
    std::vector<Tensor> results;
    for (int64_t i = 0; i < inputs.at("video").size(0); ++i) {
      const Tensor video = inputs.at("video").narrow(0, i, 1).to(options.device());
      // Sound stays float32: bfloat16 has 8 bits of its 16, and soft tones lie below these.
      const Tensor sound = inputs.at("audio").narrow(0, i, 1).to(options.device());
      results.push_back(result(video.to(at::kFloat).div(255).to(options), sound));
    }
    return at::cat(results);
  }
};

}  // namespace

TaskEntry audioset_task() { return task_entry<AudioSetTask>("audioset"); }

}  // namespace perceiver
