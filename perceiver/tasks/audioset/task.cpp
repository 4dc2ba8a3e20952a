#include <ATen/ATen.h>

#include <functional>

#include "perceiver/core/error.h"
#include "perceiver/tasks/audioset/training.h"
#include "perceiver/tasks/audioset/views.h"
#include "perceiver/tasks/query.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class AudioSetTask : public ModelTask<AudioSet, AudioSetExperiment, Application> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    const AudioSetConfig& c = config_.model;
    Example inputs = {{"audio", at::rand({batch, c.num_samples}) * 2 - 1}};
    if (c.video) {
      inputs["video"] = at::rand({batch, c.num_frames, 3, c.image_size, c.image_size});
    }
    return inputs;
  }

  Tensor forward(const Example& inputs, Split) override {
    const Tensor video = config_.model.video ? inputs.at("video") : Tensor();
    return model_(video, inputs.at("audio")).unsqueeze(1);
  }

  InputKind reads() const override { return InputKind::kClip; }

  // -> video uint8 [views, T, 3, H, W] where the model sees it, audio [views, S] in [-1, 1]
  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("expected one clip or sound, got {} files", files.size());
    const ClipViews views = read_views(files[0], config_.model);
    Example inputs = {{"audio", views.samples}};
    if (config_.model.video) inputs["video"] = views.video;
    return inputs;
  }

  Tensor classify(const Example& inputs) override {
    return each_view(inputs, [&](const Tensor& video, const Tensor& sound) {
      return class_probabilities(model_(video, sound), config_.model.several_labels);
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
    return answer_classes(class_probabilities(logits, config_.model.several_labels), query, labels);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const int64_t sounds = model_->num_sounds();
    std::vector<InputView> views = {{.modality = "audio", .grid = {sounds}}};
    if (config_.model.video) {
      views.push_back({.modality = "video",
                       .first = sounds,
                       .grid = model_->patches(),
                       .pictures = inputs.at("video")[0]});
    }
    return views;
  }

  Training* training() override { return training_.get(); }

 private:
  // One by one: sixteen input arrays at once are large.
  using OfView = std::function<Tensor(const Tensor& video, const Tensor& sound)>;
  Tensor each_view(const Example& inputs, const OfView& result) {
    const at::Device device = model_->parameters().front().device();
    std::vector<Tensor> results;
    for (int64_t i = 0; i < inputs.at("audio").size(0); ++i) {
      const auto view = [&](const char* name) {
        return inputs.at(name).narrow(0, i, 1).to(device);
      };
      // Sound stays float32: bfloat16 has 8 bits of its 16, and soft tones lie below these.
      results.push_back(
          result(config_.model.video ? seen(view("video"), *model_) : Tensor(), view("audio")));
    }
    return at::cat(results);
  }

  std::unique_ptr<Training> training_ = audioset_training(config_, model_);
};

}  // namespace

TaskEntry audioset_task() { return task_entry<AudioSetTask>("audioset"); }

}  // namespace perceiver
