#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/data.h"
#include "perceiver/tasks/imagenet/dataset.h"
#include "perceiver/tasks/imagenet/mix.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Experiment<ImageNetConfig, ImageNetDataConfig>;

// Such as "n01440764".
bool is_wordnet_id(const std::string& name) {
  return name.size() == 9 && name[0] == 'n' &&
         name.find_first_not_of("0123456789", 1) == std::string::npos;
}

class ImageNetTask : public Task {
 public:
  explicit ImageNetTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Example random_inputs(int64_t batch) const override {
    const int64_t size = config_.model.image_size;
    return {{"pixels", at::randn({batch, 3, size, size})}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("pixels")).unsqueeze(1);
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

  std::string config() const override { return to_toml(config_); }
  const TrainConfig& train_config() const override { return config_.train; }
  const EvalConfig& eval_config() const override { return config_.eval; }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const ImageNetDataConfig& data = config_.data;
    const ImageNetConfig& model = config_.model;
    if (split == Split::kTrain) {
      return std::make_unique<PictureDataset>(train_files(data.folders, model.num_classes), model,
                                              data.cache_gib, data.augment);
    }
    std::vector<LabelledFile> files = held_out_files(data.folders, model.num_classes);
    if (files.empty()) return {};
    return std::make_unique<PictureDataset>(std::move(files), model, data.cache_gib, std::nullopt);
  }

  Example random_batch(int64_t batch) const override {
    const AugmentConfig& augment = config_.data.augment;
    const int64_t size = config_.model.image_size, mixed = augment.mixes() ? 2 : 1;
    Example made = {{"pixels", at::randint(256, {batch, mixed, 3, size, size}, at::kByte)},
                    {"labels", at::randint(config_.model.num_classes, {batch, mixed}, at::kLong)}};
    Rng rng(0);
    if (augment.mixes()) add_mixes(made, augment, rng);
    return made;
  }

  Loss loss(const Example& batch) override {
    const int64_t classes = config_.model.num_classes;
    const auto [images, targets] = mixed(batch, classes);
    const double smoothing = config_.train.label_smoothing;
    const Tensor smooth = (1.0 - smoothing) * targets + smoothing / static_cast<double>(classes);
    return {cross_entropy(model_(images), smooth),
            at::full({}, static_cast<double>(images.size(0)), targets.options())};
  }

  Measures measure(const Example& batch) override {
    const auto [images, targets] = mixed(batch, config_.model.num_classes);
    const Tensor logits = model_(images), labels = batch.at("labels");
    const auto count = static_cast<double>(images.size(0));
    const int64_t five = std::min<int64_t>(5, config_.model.num_classes);
    const Tensor right = std::get<1>(logits.topk(five, -1)).eq(labels);  // [B, 5]
    return {{"loss", {cross_entropy(logits, targets).item<double>(), count}},
            {"top_1", {right.select(1, 0).sum().item<double>(), count}},
            {"top_5", {right.sum().item<double>(), count}}};
  }

  MainMeasure main_measure() const override { return {"top_1", /*lower_is_better=*/false}; }

  std::vector<std::string> labels() const override {
    if (config_.data.folders.train.empty()) return {};
    std::vector<std::string> names = class_names(config_.data.folders, config_.model.num_classes);
    // ImageNet's folders are numbered; its classes have names, which the project ships.
    return std::all_of(names.begin(), names.end(), is_wordnet_id) ? std::vector<std::string>{}
                                                                  : names;
  }

 private:
  // logits and targets [B, classes] -> the sum over the batch, in nats
  static Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return -(targets * logits.to(at::kFloat).log_softmax(-1)).sum();
  }

  Config config_;
  ImageNet model_;
};

}  // namespace

std::unique_ptr<Task> make_imagenet(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<ImageNetTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
