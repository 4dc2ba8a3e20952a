#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/optical_flow/data.h"
#include "perceiver/tasks/optical_flow/loss.h"
#include "perceiver/tasks/optical_flow/measures.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/optical_flow/tiling.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Experiment<OpticalFlowConfig, FlowDataConfig>;
constexpr double kTrainingUnit = 20.0;  // pixels; see loss.h

class OpticalFlowTask : public Task {
 public:
  explicit OpticalFlowTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Example random_inputs(int64_t batch) const override {
    const OpticalFlowConfig& c = config_.model;
    return {{"frames", at::rand({batch, 2, 3, c.height, c.width}) * 2 - 1}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return pixels_to_elements(model_(inputs.at("frames")));
  }

  // -> tile uint8 [1, 2, 3, h, w], the middle one of two frames of any size
  Example read(std::span<const File> files) const override {
    const FrameTiles tiles =
        cut_into_tiles(config_.model, read_frames(files), TilePlacement::kEven);
    const TileCorner corner = tiles.corners[tiles.corners.size() / 2];
    return {{"tile", tiles.padded.narrow(2, corner.y, config_.model.height)
                         .narrow(3, corner.x, config_.model.width)
                         .unsqueeze(0)}};
  }

  Tensor encode(const Example& inputs) override {
    const Tensor frames = to_model_range(inputs.at("tile").to(at::kFloat));
    return model_->encode_frames(in_place_of(*model_, frames));
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const Tensor frames = inputs.at("tile")[0];
    const std::vector<int64_t> grid = model_->input_grid();
    return {{.modality = grid.size() == 3 ? "frames" : "both frames",
             .grid = grid,
             .pictures = grid.size() == 3 ? frames : frames.narrow(0, 0, 1)}};
  }

  std::string config() const override { return to_toml(config_); }
  const TrainConfig& train_config() const override { return config_.train; }
  const EvalConfig& eval_config() const override { return config_.eval; }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const ImageSize size{config_.model.height, config_.model.width};
    return split == Split::kTrain ? flow_training_data(config_.data, size)
                                  : flow_held_out_data(config_.data, size);
  }

  Example random_batch(int64_t batch) const override {
    const OpticalFlowConfig& c = config_.model;
    return {{"frames", at::randint(256, {batch, 2, 3, c.height, c.width}, at::kByte)},
            {"flow", at::randn({batch, 2, c.height, c.width})},
            {"valid", at::ones({batch, c.height, c.width}, at::kBool)}};
  }

  Loss loss(const Example& batch) override {
    const Tensor flow = model_(to_model_range(batch.at("frames")));
    return end_point_error(flow * (pixels_per_unit(config_.model) / kTrainingUnit),
                           batch.at("flow") / kTrainingUnit, batch.at("valid"));
  }

  // At the frames' own size, by tiles.
  Measures measure(const Example& batch) override {
    Measures all;
    for (int64_t i = 0; i < batch.at("size").size(0); ++i) {
      const int64_t height = batch.at("size")[i][0].item<int64_t>();
      const int64_t width = batch.at("size")[i][1].item<int64_t>();
      const auto whole = [&](const char* name) {
        return batch.at(name)[i].narrow(-2, 0, height).narrow(-1, 0, width);
      };
      const Tensor flow =
          tiled_flow(*model_, whole("frames").cpu(), {.tiles_at_once = config_.eval.batch});
      const FlowField truth{whole("flow").to(at::kCPU), whole("valid").to(at::kCPU)};
      const FlowMeasures m = measure_flow(flow, truth);
      const auto pixels = static_cast<double>(m.num_pixels);
      const auto add = [&](const char* name, double mean) {
        all[name].sum += mean * pixels, all[name].weight += pixels;
      };
      add("epe", m.epe), add("above_1", m.above_1), add("above_3", m.above_3);
      add("above_5", m.above_5), add("fl_all", m.fl_all);
    }
    return all;
  }

  MainMeasure main_measure() const override { return {"epe"}; }

 private:
  Config config_;
  OpticalFlow model_;
};

}  // namespace

std::unique_ptr<Task> make_optical_flow(const File& config,
                                        std::span<const std::string> overrides) {
  return std::make_unique<OpticalFlowTask>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
