#include <ATen/ATen.h>

#include <functional>

#include "perceiver/core/error.h"
#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/multimodal/query.h"
#include "perceiver/tasks/multimodal/training.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class MultimodalTask : public Application {
 public:
  using Config = ClipExperiment;

  explicit MultimodalTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split split) const override {
    return model_->summary(split == Split::kTrain ? model_->num_train_queries()
                                                  : model_->num_outputs());
  }

  Example random_inputs(int64_t batch) const override {
    const MultimodalConfig& c = config_.model;
    return {{"audio", at::rand({batch, c.num_frames * c.samples_per_frame}) * 2 - 1},
            {"image", at::rand({batch, c.num_frames, 3, c.image_size, c.image_size})},
            {"label", at::zeros({batch, c.num_classes})}};
  }

  Tensor forward(const Example& inputs, Split split) override {
    const Tensor latents =
        model_->encode(inputs, model_->hide({"label"}, inputs.at("label").size(0)));
    if (split == Split::kEval) {
      std::vector<Tensor> values;
      for (const auto& [name, value] : model_->decode_all(latents)) {
        values.push_back(value.flatten(1));
      }
      return at::cat(values, 1);
    }
    Modalities points;  // any, as long as there are as many as in training
    for (const auto& [name, count] : model_->num_train_queries()) points[name] = at::arange(count);
    const Tensor outputs = model_->outputs(latents, points);
    model_->heads(outputs, points);
    return outputs;
  }

  Training* training() override { return training_.get(); }

  InputKind reads() const override { return InputKind::kClip; }

  // -> image uint8 [chunks, T, 3, H, W], audio [chunks, S] in [-1, 1]
  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("expected one clip, got {} files", files.size());
    ChunkReader clip(files[0], config_.model);
    if (!clip.has_picture()) fail("{}: has no picture, expected a clip", files[0].name);
    if (!clip.has_sound()) fail("{}: has no sound, expected a clip with sound", files[0].name);
    std::vector<Tensor> image, audio;
    while (const std::optional<Chunk> chunk = clip.next()) {
      image.push_back(chunk->image);
      audio.push_back(chunk->audio);
    }
    if (image.empty()) fail("{}: has no frames", files[0].name);
    return {{"image", at::stack(image)}, {"audio", at::stack(audio)}};
  }

  Tensor classify(const Example& inputs) override {
    const Modalities label = {{"label", at::zeros({1}, at::kLong)}};
    return each_chunk(inputs, [&](const Tensor& latents) {
      return model_->decode(latents, label).at("label").squeeze(1).to(at::kFloat).softmax(-1);
    });
  }

  Tensor encode(const Example& inputs) override {
    return each_chunk(inputs, [](const Tensor& latents) { return latents; });
  }

  void encode_files(std::span<const File> files, LatentsFile& file, const Hooks& hooks) override {
    encode_chunks(*model_, files, file, hooks);
  }

  std::vector<std::string> questions() const override {
    return {"--frames", "--pixels", "--box", "--seconds", "--label"};
  }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>& labels) override {
    return answer_clip(*model_, file, query, labels);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const MultimodalConfig& c = config_.model;
    const std::vector<int64_t> patches =
        patch_grid({c.num_frames, c.image_size, c.image_size}, c.patch);
    const int64_t sounds = model_->num_inputs().at("audio");
    return {
        {.modality = "audio", .grid = {sounds}},
        {.modality = "image", .first = sounds, .grid = patches, .pictures = inputs.at("image")[0]},
        {.modality = "label", .first = sounds + c10::multiply_integers(patches), .grid = {1}}};
  }

 private:
  // One by one: the input array of a chunk is large already.
  Tensor each_chunk(const Example& inputs, const std::function<Tensor(const Tensor&)>& result) {
    const at::TensorOptions options = model_->parameters().front().options();
    const Modalities hidden = model_->hide({"label"}, 1);
    std::vector<Tensor> results;
    for (int64_t i = 0; i < inputs.at("image").size(0); ++i) {
      const Modalities chunk =
          clip_inputs(inputs.at("image").narrow(0, i, 1), inputs.at("audio").narrow(0, i, 1),
                      config_.model.num_classes, options);
      results.push_back(result(model_->encode(chunk, hidden)));
    }
    return at::cat(results);
  }

  Config config_;
  Multimodal model_;
  std::unique_ptr<Training> training_ = clip_training(config_, model_);
};

}  // namespace

TaskEntry multimodal_task() { return task_entry<MultimodalTask>("multimodal"); }

}  // namespace perceiver
