#include "perceiver/tasks/imagenet/training.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/imagenet/data.h"
#include "perceiver/tasks/imagenet/mix.h"

namespace perceiver {
namespace {

class ImageTraining : public TrainingOf<ImageExperiment> {
 public:
  ImageTraining(const ImageExperiment& experiment, ImageNet model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const ImageNetDataConfig& data = experiment_.data;
    const ImageNetConfig model = shown(experiment_.model, data);
    if (split == Split::kTrain) {
      return std::make_unique<PictureDataset>(train_files(data.folders, names()), model,
                                              data.cache_gib, data.augment);
    }
    if (data.folders.train.empty() && data.folders.held_out.empty()) return {};
    std::vector<LabelledFile> files = held_out_files(data.folders, names());
    if (files.empty()) return {};
    return std::make_unique<PictureDataset>(std::move(files), model, data.cache_gib, std::nullopt);
  }

  Example random_batch(int64_t batch) const override {
    const AugmentConfig& augment = experiment_.data.augment;
    const int64_t size = experiment_.model.image_size, mixed = augment.mixes() ? 2 : 1;
    Example made = {
        {"pixels", at::randint(256, {batch, mixed, 3, size, size}, at::kByte)},
        {"labels", at::randint(experiment_.model.num_classes, {batch, mixed}, at::kLong)}};
    Rng rng(0);
    if (augment.mixes()) add_mixes(made, augment, rng);
    return made;
  }

  Loss loss(const Example& batch) override {
    const int64_t classes = experiment_.model.num_classes;
    const auto [images, targets] = mixed(batch, classes);
    const double smoothing = experiment_.train.label_smoothing;
    const Tensor smooth = (1.0 - smoothing) * targets + smoothing / static_cast<double>(classes);
    return {cross_entropy(model_(images), smooth),
            at::full({}, static_cast<double>(images.size(0)), targets.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); });
  }
  MainMeasure main_measure() const override { return {"top_1", /*lower_is_better=*/false}; }
  FigureName figure_name(const std::string& key) const override {
    if (key == "top_1") return {"top-1", Unit::kShare};
    if (key == "top_5") return {"top-5", Unit::kShare};
    return {key};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  std::vector<std::string> labels() const override {
    if (experiment_.data.folders.train.empty()) return {};
    std::vector<std::string> found = names();
    // ImageNet's folders are numbered; its classes have names, which the project ships.
    return are_wordnet_ids(found) ? std::vector<std::string>{} : found;
  }
  void match_classes(const std::vector<std::string>& names) override { model_names_ = names; }

 private:
  std::vector<std::string> names() const {
    return class_names(experiment_.data.folders, experiment_.model.num_classes, model_names_);
  }

  Measures measure(const Example& batch) {
    const auto [images, targets] = mixed(batch, experiment_.model.num_classes);
    const Tensor logits = model_(images), labels = batch.at("labels");
    const auto count = static_cast<double>(images.size(0));
    const auto right_among = [&](int64_t first) {
      return std::get<1>(logits.topk(first, -1)).eq(labels).sum().item<double>();
    };
    Measures measures = {{"loss", {cross_entropy(logits, targets).item<double>(), count}},
                         {"top_1", {right_among(1), count}}};
    // Of five classes or fewer the right one is always among the first five.
    if (experiment_.model.num_classes > 5) measures["top_5"] = {right_among(5), count};
    return measures;
  }

  // logits and targets [B, classes] -> the sum over the batch, in nats
  static Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return -(targets * logits.to(at::kFloat).log_softmax(-1)).sum();
  }

  ImageNet model_;
  std::vector<std::string> model_names_;
};

}  // namespace

std::unique_ptr<Training> image_training(const ImageExperiment& experiment, ImageNet model) {
  return std::make_unique<ImageTraining>(experiment, std::move(model));
}

}  // namespace perceiver
