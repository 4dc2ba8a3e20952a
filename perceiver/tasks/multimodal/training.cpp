#include "perceiver/tasks/multimodal/training.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/modalities/audio.h"
#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/multimodal/psnr.h"

namespace perceiver {
namespace {

class ClipTraining : public TrainingOf<ClipExperiment> {
 public:
  ClipTraining(const ClipExperiment& experiment, Multimodal model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const LabelledFilesConfig& files = experiment_.data.files;
    if (split == Split::kEval && files.train.empty() && files.held_out.empty()) return {};
    const DataPart part = split == Split::kTrain ? DataPart::kTrain : DataPart::kHeldOut;
    std::vector<LabelledRow> rows = labelled_rows(files, part, has_video_ending);
    if (rows.empty() && split == Split::kEval) return {};
    return std::make_unique<ClipDataset>(classified_clips(std::move(rows), names()),
                                         experiment_.model, experiment_.data, split);
  }

  Example random_batch(int64_t batch) const override {
    const MultimodalConfig& c = experiment_.model;
    const ModalitySizes all = model_->num_outputs();
    const TrainQueries& asked = c.train_queries;
    Example made = {{"image", at::randint(256, {batch, c.num_frames, 3, c.image_size, c.image_size},
                                          at::kByte)},
                    {"audio", at::rand({batch, c.num_frames * c.samples_per_frame}) * 2 - 1},
                    {"label", at::randint(c.num_classes, {batch}, at::kLong)},
                    {"image_points", at::randint(all.at("image"), {batch, asked.image}, at::kLong)},
                    {"image_targets", at::randint(256, {batch, asked.image, 3}, at::kByte)},
                    {"audio_points", at::randint(all.at("audio"), {batch, asked.audio}, at::kLong)},
                    {"audio_targets", at::rand({batch, asked.audio, c.samples_per_patch}) * 2 - 1},
                    {"hidden", at::rand({batch, 1}).lt(experiment_.data.hidden_labels)}};
    if (c.audio == AudioInput::kMel) {
      made["heard"] = model_->sound().of(made.at("audio"));
    }
    return made;
  }

  // All that is random came with the batch: a GPU may record this once and replay it.
  Loss loss(const Example& batch) override {
    const Tensor& label = batch.at("label");
    const int64_t examples = label.size(0);
    const Modalities points = {{"image", batch.at("image_points")},
                               {"audio", batch.at("audio_points")},
                               {"label", at::zeros({1}, label.options())}};
    const Tensor latents = model_->encode(inputs(batch), {{"label", batch.at("hidden")}});
    const Modalities values = model_->heads(model_->outputs(latents, points), points);
    // The mean over an example's values, summed over the examples.
    const auto absolute_errors = [&](const char* name, const Tensor& targets) {
      return (values.at(name).to(at::kFloat) - targets).abs().flatten(1).mean(1).sum();
    };
    const ClipLossConfig& weights = experiment_.loss;
    const Tensor colours = batch.at("image_targets").to(at::kFloat).div(255.0);
    const Tensor sum = weights.video * absolute_errors("image", colours) +
                       weights.audio * absolute_errors("audio", batch.at("audio_targets")) +
                       weights.label * cross_entropy(values.at("label").squeeze(1), label);
    return {sum, at::full({}, static_cast<double>(examples), sum.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); },
                                          [this](const Measures& all) { return report(all); });
  }

  // The picture is most of what is to be put out again.
  MainMeasure main_measure() const override { return {"video_psnr", /*lower_is_better=*/false}; }

  FigureName figure_name(const std::string& key) const override {
    if (key == "video_psnr") return {"video PSNR", Unit::kDecibels};
    if (key == "audio_psnr") return {"audio PSNR", Unit::kDecibels};
    if (key == "top_1") return {"top-1", Unit::kShare};
    if (key == "top_5") return {"top-5", Unit::kShare};
    if (key == "compression") return {key, Unit::kTimes};
    return {key};
  }

  double flops_per_example() const override {
    return training_flops(model_->summary(model_->num_train_queries()), *model_);
  }

  std::vector<std::string> labels() const override {
    return experiment_.data.files.train.empty() ? std::vector<std::string>{} : names();
  }
  void match_classes(const std::vector<std::string>& names) override { model_names_ = names; }

 private:
  std::vector<std::string> names() const {
    const LabelledFilesConfig& files = experiment_.data.files;
    // Where a model is measured, what it was trained on may not be at hand.
    const bool trained_here =
        files.held_out.empty() || (!files.train.empty() && std::filesystem::exists(files.train[0]));
    const DataPart part = trained_here ? DataPart::kTrain : DataPart::kHeldOut;
    std::vector<std::string> found =
        class_names(labelled_rows(files, part, has_video_ending), model_names_);
    const auto count = static_cast<int64_t>(found.size());
    if (count != experiment_.model.num_classes) {
      fail("{}: clips of {} classes, the model has {} (model.num_classes)",
           trained_here ? files.train[0] : files.held_out[0], count, experiment_.model.num_classes);
    }
    return found;
  }

  // With the label, which is to be hidden from some examples, or from all.
  Modalities inputs(const Example& batch) {
    const at::TensorOptions options = model_->parameters().front().options();
    Modalities made =
        clip_inputs(batch.at("image"), batch.at("audio"), experiment_.model.num_classes, options);
    if (batch.contains("heard")) made["audio"] = batch.at("heard");
    made["label"] = made["label"].scatter(1, batch.at("label").unsqueeze(1), 1.0);
    return made;
  }

  Measures measure(const Example& batch) {
    const Tensor &label = batch.at("label"), &frames = batch.at("num_frames");
    const auto count = static_cast<double>(label.size(0));
    const Modalities in = inputs(batch);
    const Modalities out =
        model_->decode_all(model_->encode(in, model_->hide({"label"}, label.size(0))));
    const MultimodalConfig& c = experiment_.model;
    const Tensor own = at::arange(c.num_frames, frames.options()).lt(frames.unsqueeze(1));
    const double num_frames = own.sum().item<double>();
    // [B, T, values of a frame] each; what fills up a short clip is not measured.
    const auto squared_errors = [&](const char* name, double low) -> Measure {
      const auto by_frame = [&](const Tensor& x) {
        return x.to(at::kDouble).reshape({x.size(0), c.num_frames, -1});
      };
      const Tensor original = by_frame(in.at(name));
      const Tensor errors = (by_frame(out.at(name)).clamp(low, 1.0) - original).square();
      return {(errors.sum(2) * own).sum().item<double>(),
              num_frames * static_cast<double>(original.size(2))};
    };
    const Tensor logits = out.at("label");
    const auto right_among = [&](int64_t first) {
      return std::get<1>(logits.topk(first, -1)).eq(label.unsqueeze(1)).sum().item<double>();
    };
    Measures measures = {{"video_psnr", squared_errors("image", 0.0)},
                         {"audio_psnr", squared_errors("audio", -1.0)},
                         {"label_loss", {cross_entropy(logits, label).item<double>(), count}},
                         {"top_1", {right_among(1), count}}};
    if (c.num_classes > 5) measures["top_5"] = {right_among(5), count};
    return measures;
  }

  std::map<std::string, double> report(const Measures& all) const {
    std::map<std::string, double> figures = sums_by_weight(all);
    if (figures.empty()) return figures;
    figures["video_psnr"] = psnr(figures["video_psnr"], experiment_.psnr.video_peak);
    figures["audio_psnr"] = psnr(figures["audio_psnr"], experiment_.psnr.audio_peak);
    figures["compression"] = model_->summary(model_->num_outputs()).compression.value();
    return figures;
  }

  // logits [B, classes], labels [B] -> the sum over the batch, in nats
  static Tensor cross_entropy(const Tensor& logits, const Tensor& labels) {
    return -logits.to(at::kFloat).log_softmax(-1).gather(1, labels.unsqueeze(1)).sum();
  }

  Multimodal model_;
  std::vector<std::string> model_names_;
};

}  // namespace

std::unique_ptr<Training> clip_training(const ClipExperiment& experiment, Multimodal model) {
  return std::make_unique<ClipTraining>(experiment, std::move(model));
}

}  // namespace perceiver
