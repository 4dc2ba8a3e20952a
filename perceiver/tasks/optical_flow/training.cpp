#include "perceiver/tasks/optical_flow/training.h"

#include <ATen/ATen.h>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/optical_flow/coarse_to_fine.h"
#include "perceiver/tasks/optical_flow/loss.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {
namespace {

constexpr double kTrainingUnit = 20.0;  // pixels; see loss.h

class FlowTraining : public TrainingOf<FlowExperiment> {
 public:
  FlowTraining(const FlowExperiment& experiment, OpticalFlow model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const ImageSize size{experiment_.model.height, experiment_.model.width};
    return split == Split::kTrain ? flow_training_data(experiment_.data, size)
                                  : flow_held_out_data(experiment_.data, size);
  }

  Example random_batch(int64_t batch) const override {
    const OpticalFlowConfig& c = experiment_.model;
    return {{"frames", at::randint(256, {batch, 2, 3, c.height, c.width}, at::kByte)},
            {"flow", at::randn({batch, 2, c.height, c.width})},
            {"valid", at::ones({batch, c.height, c.width}, at::kBool)}};
  }

  Loss loss(const Example& batch) override {
    const Tensor flow = model_(to_model_range(batch.at("frames")));
    return end_point_error(flow * (pixels_per_unit(experiment_.model) / kTrainingUnit),
                           batch.at("flow") / kTrainingUnit, batch.at("valid"));
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); },
                                          flow_figures);
  }
  MainMeasure main_measure() const override { return {"epe"}; }
  FigureName figure_name(const std::string& key) const override {
    if (key.starts_with("epe"))
      return {key.size() > 3 ? "EPE " + key.substr(4) : "EPE", Unit::kPixels};
    if (key.starts_with("above_")) return {"> " + key.substr(6) + " px", Unit::kShare};
    if (key == "fl_all") return {"Fl-all", Unit::kShare};
    return {key};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

 private:
  // As `flow` finds it: at the frames' own size, by tiles, at the model's levels.
  Measures measure(const Example& batch) {
    Measures all;
    for (int64_t i = 0; i < batch.at("size").size(0); ++i) {
      const int64_t height = batch.at("size")[i][0].item<int64_t>();
      const int64_t width = batch.at("size")[i][1].item<int64_t>();
      const auto whole = [&](const char* name) {
        return batch.at(name)[i].narrow(-2, 0, height).narrow(-1, 0, width);
      };
      const Tensor flow =
          coarse_to_fine(*model_, whole("frames").cpu(), {.tiles_at_once = experiment_.eval.batch},
                         experiment_.model.levels);
      const FlowField truth{whole("flow").to(at::kCPU), whole("valid").to(at::kCPU)};
      add_picture(all, measure_flow(flow, truth),
                  static_cast<FlowSet>(batch.at("set")[i].item<int64_t>()));
    }
    return all;
  }

  OpticalFlow model_;
};

}  // namespace

std::unique_ptr<Training> flow_training(const FlowExperiment& experiment, OpticalFlow model) {
  return std::make_unique<FlowTraining>(experiment, std::move(model));
}

}  // namespace perceiver
