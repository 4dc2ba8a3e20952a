#include "perceiver/tasks/audioset/training.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/statistics.h"

namespace perceiver {
namespace {

// Views that the model is shown at once: sixteen input arrays of the paper's size are large.
constexpr int64_t kViewsAtOnce = 8;

class AudioSetTraining : public TrainingOf<AudioSetExperiment> {
 public:
  AudioSetTraining(const AudioSetExperiment& experiment, AudioSet model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const AudioSetDataConfig& data = experiment_.data;
    if (split == Split::kTrain) {
      return std::make_unique<SoundDataset>(sound_rows(data.files, DataPart::kTrain), names(),
                                            experiment_.model, data.augment);
    }
    if (data.files.train.empty() && data.files.held_out.empty()) return {};
    std::vector<LabelledRow> rows = sound_rows(data.files, DataPart::kHeldOut);
    if (rows.empty()) return {};
    return std::make_unique<SoundDataset>(std::move(rows), names(), experiment_.model,
                                          std::nullopt);
  }

  Example random_batch(int64_t batch) const override {
    const AudioSetConfig& c = experiment_.model;
    Example made = {
        {"sounds", sound_of(c).of(at::rand({batch, c.num_samples}) * 2 - 1)},
        {"labels",
         at::one_hot(at::randint(c.num_classes, {batch}, at::kLong), c.num_classes).to(at::kFloat)},
        {"views", at::ones({batch}, at::kLong)}};
    if (c.video) {
      made["video"] =
          at::randint(256, {batch, c.num_frames, 3, c.image_size, c.image_size}, at::kByte);
    }
    return made;
  }

  Loss loss(const Example& batch) override {
    const Tensor losses =
        losses_of(logits_of(batch), batch.at("labels"), experiment_.train.label_smoothing);
    return {losses.sum(), at::full({}, static_cast<double>(losses.size(0)), losses.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<PredictionEvaluator>(
        [this](const Example& batch) { return predict(batch); },
        [this](const Predictions& all) { return figures(all); });
  }
  MainMeasure main_measure() const override {
    return {experiment_.model.several_labels ? "mean_average_precision" : "top_1",
            /*lower_is_better=*/false};
  }
  FigureName figure_name(const std::string& key) const override {
    if (key == "mean_average_precision") return {"mAP", Unit::kShare};
    if (key == "top_1") return {"top-1", Unit::kShare};
    return {key, Unit::kNumber, /*detail=*/key.starts_with("average_precision.")};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  std::vector<std::string> labels() const override {
    return experiment_.data.files.train.empty() ? model_names_ : names();
  }
  void match_classes(const std::vector<std::string>& names) override {
    names_.clear();
    model_names_ = names;
  }

 private:
  const std::vector<std::string>& names() const {
    if (names_.empty()) {
      // Where a model is measured, what it was trained on may not be at hand.
      const LabelledFilesConfig& files = experiment_.data.files;
      const bool trained_here =
          !files.train.empty() && std::filesystem::exists(files.train[0]) && model_names_.empty();
      const DataPart part =
          trained_here || files.held_out.empty() ? DataPart::kTrain : DataPart::kHeldOut;
      names_ = sound_classes(sound_rows(files, part), experiment_.model, model_names_);
    }
    return names_;
  }

  // The views that stand in `batch` from `first` on -> logits [count, classes]
  Tensor logits_of(const Example& batch, int64_t first, int64_t count) {
    const auto some = [&](const char* name) { return batch.at(name).narrow(0, first, count); };
    const Tensor video = experiment_.model.video ? seen(some("video"), *model_) : Tensor();
    return model_->classify(video, some("sounds")).to(at::kFloat);
  }
  Tensor logits_of(const Example& batch) { return logits_of(batch, 0, batch.at("sounds").size(0)); }

  // logits and labels [B, classes] -> [B], in nats; of several labels the mean over the classes
  Tensor losses_of(const Tensor& logits, const Tensor& labels, double smoothing) const {
    if (!experiment_.model.several_labels) {
      const Tensor smooth =
          (1.0 - smoothing) * labels + smoothing / static_cast<double>(labels.size(1));
      return -(smooth * logits.log_softmax(-1)).sum(-1);
    }
    const Tensor smooth = (1.0 - smoothing) * labels + smoothing / 2.0;
    return at::binary_cross_entropy_with_logits(logits, smooth, {}, {}, at::Reduction::None)
        .mean(-1);
  }

  // -> predictions [B, classes + 1], the mean probabilities of an example's views and the mean of
  // their losses, targets [B, classes]
  Predictions predict(const Example& batch) {
    const Tensor labels = batch.at("labels"), views = batch.at("views").cpu();
    const int64_t all = batch.at("sounds").size(0);
    const Tensor owner = at::repeat_interleave(views).to(labels.device());
    std::vector<Tensor> rows;
    for (int64_t first = 0; first < all; first += kViewsAtOnce) {
      const int64_t count = std::min(kViewsAtOnce, all - first);
      const Tensor logits = logits_of(batch, first, count);
      const Tensor losses =
          losses_of(logits, labels.index_select(0, owner.narrow(0, first, count)), 0.0);
      rows.push_back(at::cat(
          {class_probabilities(logits, experiment_.model.several_labels), losses.unsqueeze(1)}, 1));
    }
    const Tensor sums = at::zeros({labels.size(0), labels.size(1) + 1}, labels.options())
                            .index_add(0, owner, at::cat(rows));
    return {sums / batch.at("views").unsqueeze(1), labels};
  }

  std::map<std::string, double> figures(const Predictions& all) const {
    const int64_t classes = all.targets.size(1);
    const Tensor scores = all.predictions.narrow(1, 0, classes);
    const MeanAveragePrecision map = mean_average_precision(scores, all.targets);
    std::map<std::string, double> figures = {
        {"loss", all.predictions.select(1, classes).mean().item<double>()},
        {"mean_average_precision", map.value}};
    if (!experiment_.model.several_labels) {
      const Tensor right = scores.argmax(1).eq(all.targets.argmax(1));
      figures["top_1"] = right.to(at::kDouble).mean().item<double>();
    }
    for (int64_t i = 0; i < classes; ++i) {
      const Tensor labels = all.targets.select(1, i);
      if (!labels.any().item<bool>()) continue;
      figures["average_precision." + names().at(i)] =
          average_precision(scores.select(1, i), labels);
    }
    return figures;
  }

  AudioSet model_;
  std::vector<std::string> model_names_;    // empty: the model's classes have none yet
  mutable std::vector<std::string> names_;  // of the classes, once they were asked for
};

}  // namespace

Tensor seen(const Tensor& video, const torch::nn::Module& model) {
  return video.to(at::kFloat).div(255).to(model.parameters().front().options());
}

std::unique_ptr<Training> audioset_training(const AudioSetExperiment& experiment, AudioSet model) {
  return std::make_unique<AudioSetTraining>(experiment, std::move(model));
}

}  // namespace perceiver
