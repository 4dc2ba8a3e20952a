#include <ATen/ATen.h>

#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/data.h"
#include "perceiver/tasks/imagenet/training.h"
#include "perceiver/tasks/query.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class ImageNetTask : public ModelTask<ImageNet, ImageExperiment, Application> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    const int64_t size = config_.model.image_size;
    return {{"pixels", at::randn({batch, 3, size, size})}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("pixels")).unsqueeze(1);
  }

  InputKind reads() const override { return InputKind::kPicture; }

  Example read(std::span<const File> files) const override {
    if (files.size() != 1) fail("a model of pictures takes one at a time, got {}", files.size());
    const Tensor crop = evaluation_crop(decode_image(files[0]), config_.model);
    return {{"pixels", normalised(crop).unsqueeze(0)}};
  }

  Tensor classify(const Example& inputs) override {
    return class_probabilities(model_(to_model(*model_, inputs.at("pixels"))),
                               config_.model.several_labels);
  }

  Tensor encode(const Example& inputs) override {
    return model_->encode(to_model(*model_, inputs.at("pixels")));
  }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>& labels) override {
    const Tensor logits = model_->decode(to_model(*model_, file.latents()));
    return answer_classes(class_probabilities(logits, config_.model.several_labels), query, labels);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const Tensor pixels = inputs.at("pixels");
    return {{.modality = "image",
             .grid = model_->grid(pixels.sizes().slice(2)),
             .pictures = denormalised(pixels)}};
  }

  Training* training() override { return training_.get(); }

 private:
  std::unique_ptr<Training> training_ = image_training(config_, model_);
};

}  // namespace

TaskEntry imagenet_task() { return task_entry<ImageNetTask>("imagenet"); }

}  // namespace perceiver
