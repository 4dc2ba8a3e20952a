#include "perceiver/tasks/imagenet/training.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/imagenet/data.h"
#include "perceiver/tasks/imagenet/mix.h"
#include "perceiver/tasks/statistics.h"

namespace perceiver {
namespace {

// Of a random picture, where it may have several: about as many as those of large data sets have.
constexpr int64_t kRandomLabels = 4;

class ImageTraining : public TrainingOf<ImageExperiment> {
 public:
  ImageTraining(const ImageExperiment& experiment, ImageNet model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const ImageNetDataConfig& data = experiment_.data;
    const bool measured = split == Split::kEval;
    if (measured && data.folders.train.empty() && data.folders.held_out.empty()) return {};
    std::vector<LabelledFile> files = files_of(split);
    if (measured && files.empty()) return {};
    return std::make_unique<PictureDataset>(std::move(files), shown(experiment_.model, data),
                                            data.cache_gib,
                                            measured ? std::nullopt : std::optional(data.augment));
  }

  Example random_batch(int64_t batch) const override {
    const AugmentConfig& augment = experiment_.data.augment;
    const int64_t size = experiment_.model.image_size, mixed = augment.mixes() ? 2 : 1;
    const int64_t labels = experiment_.model.several_labels ? kRandomLabels : 1;
    Example made = {
        {"pixels", at::randint(256, {batch, mixed, 3, size, size}, at::kByte)},
        {"labels", at::randint(experiment_.model.num_classes, {batch, mixed, labels}, at::kLong)}};
    Rng rng(0);
    if (augment.mixes()) add_mixes(made, augment, rng);
    return made;
  }

  Loss loss(const Example& batch) override {
    const int64_t classes = experiment_.model.num_classes;
    const auto [images, targets] = mixed(batch, classes);
    const double smoothing = experiment_.train.label_smoothing;
    const double even = several_labels() ? 0.5 : 1.0 / static_cast<double>(classes);
    const Tensor smooth = (1.0 - smoothing) * targets + smoothing * even;
    return {losses_of(model_(images), smooth).sum(),
            at::full({}, static_cast<double>(images.size(0)), targets.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    if (several_labels()) {
      return std::make_unique<PredictionEvaluator>(
          [this](const Example& batch) { return predict(batch); }, several_figures);
    }
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); });
  }
  MainMeasure main_measure() const override {
    return {several_labels() ? "mean_average_precision" : "top_1", /*lower_is_better=*/false};
  }
  FigureName figure_name(const std::string& key) const override {
    if (key == "mean_average_precision") return {"mAP", Unit::kShare};
    if (key == "top_1") return {"top-1", Unit::kShare};
    if (key == "top_5") return {"top-5", Unit::kShare};
    return {key};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  std::vector<std::string> labels() const override {
    if (experiment_.data.folders.train.empty()) return {};
    if (has_table()) return names();
    std::vector<std::string> found = names();
    // ImageNet's folders are numbered; its classes have names, which the project ships.
    return are_wordnet_ids(found) ? std::vector<std::string>{} : found;
  }
  void match_classes(const std::vector<std::string>& names) override {
    names_.clear();
    model_names_ = names;
  }

 private:
  bool several_labels() const { return experiment_.model.several_labels; }
  bool has_table() const { return uses_table(experiment_.data.folders, experiment_.data.table); }
  std::vector<LabelledRow> rows_of(DataPart part) const {
    return picture_rows(experiment_.data.folders, experiment_.data.table, part);
  }

  std::vector<LabelledFile> files_of(Split split) const {
    const bool measured = split == Split::kEval;
    if (has_table()) {
      return labelled_pictures(rows_of(measured ? DataPart::kHeldOut : DataPart::kTrain), names(),
                               several_labels());
    }
    const ImageFolders& folders = experiment_.data.folders;
    return measured ? held_out_files(folders, names()) : train_files(folders, names());
  }

  const std::vector<std::string>& names() const {
    if (names_.empty()) names_ = read_names();
    return names_;
  }

  std::vector<std::string> read_names() const {
    const ImageFolders& folders = experiment_.data.folders;
    const int64_t classes = experiment_.model.num_classes;
    if (!has_table()) return class_names(folders, classes, model_names_);
    // Where a model is measured, what it was trained on may not be at hand.
    const bool trained_here = folders.held_out.empty() ||
                              (!folders.train.empty() && std::filesystem::exists(folders.train[0]));
    return picture_classes(rows_of(trained_here ? DataPart::kTrain : DataPart::kHeldOut), classes,
                           several_labels(), model_names_);
  }

  Measures measure(const Example& batch) {
    const auto [images, targets] = mixed(batch, experiment_.model.num_classes);
    const Tensor logits = model_(images), labels = batch.at("labels");
    const auto count = static_cast<double>(images.size(0));
    const auto right_among = [&](int64_t first) {
      return std::get<1>(logits.topk(first, -1)).eq(labels.flatten(1)).sum().item<double>();
    };
    Measures measures = {{"loss", {losses_of(logits, targets).sum().item<double>(), count}},
                         {"top_1", {right_among(1), count}}};
    // Of five classes or fewer the right one is always among the first five.
    if (experiment_.model.num_classes > 5) measures["top_5"] = {right_among(5), count};
    return measures;
  }

  // logits and targets [B, classes] -> [B], in nats; of several labels the sum over the classes
  Tensor losses_of(const Tensor& logits, const Tensor& targets) const {
    const Tensor exact = logits.to(at::kFloat);
    if (!several_labels()) return -(targets * exact.log_softmax(-1)).sum(-1);
    return at::binary_cross_entropy_with_logits(exact, targets, {}, {}, at::Reduction::None)
        .sum(-1);
  }

  // -> predictions [B, classes + 1], probabilities and the loss, targets [B, classes]
  Predictions predict(const Example& batch) {
    const auto [images, targets] = mixed(batch, experiment_.model.num_classes);
    const Tensor logits = model_(images);
    return {at::cat({class_probabilities(logits, /*several_labels=*/true),
                     losses_of(logits, targets).unsqueeze(1)},
                    1),
            targets};
  }

  // Of several labels: the first guess is right where it is among a picture's.
  static std::map<std::string, double> several_figures(const Predictions& all) {
    const int64_t classes = all.targets.size(1);
    const Tensor scores = all.predictions.narrow(1, 0, classes);
    const Tensor first = all.targets.gather(1, scores.argmax(1, /*keepdim=*/true));
    return {{"loss", all.predictions.select(1, classes).mean().item<double>()},
            {"top_1", first.to(at::kDouble).mean().item<double>()},
            {"mean_average_precision", mean_average_precision(scores, all.targets).value}};
  }

  ImageNet model_;
  std::vector<std::string> model_names_;
  mutable std::vector<std::string> names_;  // of the classes, once they were asked for
};

}  // namespace

std::unique_ptr<Training> image_training(const ImageExperiment& experiment, ImageNet model) {
  return std::make_unique<ImageTraining>(experiment, std::move(model));
}

}  // namespace perceiver
