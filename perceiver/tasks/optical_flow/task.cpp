#include <ATen/ATen.h>

#include "perceiver/tasks/optical_flow/loss.h"
#include "perceiver/tasks/optical_flow/query.h"
#include "perceiver/tasks/optical_flow/tiling.h"
#include "perceiver/tasks/optical_flow/training.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class OpticalFlowTask : public ModelTask<OpticalFlow, FlowExperiment, Application> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    const OpticalFlowConfig& c = config_.model;
    return {{"frames", at::rand({batch, 2, 3, c.height, c.width}) * 2 - 1}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return pixels_to_elements(model_(inputs.at("frames")));
  }

  InputKind reads() const override { return InputKind::kFramePair; }

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
    return model_->encode_frames(to_model(*model_, frames));
  }

  void encode_files(std::span<const File> files, LatentsFile& file, const Hooks& hooks) override {
    encode_frames(*model_, files, file, hooks);
  }

  std::vector<std::string> questions() const override { return {"--pixels", "--box"}; }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>&) override {
    return answer_flow(*model_, file, query);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    const Tensor frames = inputs.at("tile")[0];
    const std::vector<int64_t> grid = model_->input_grid();
    return {{.modality = grid.size() == 3 ? "frames, middle tile" : "both frames, middle tile",
             .grid = grid,
             .pictures = grid.size() == 3 ? frames : frames.narrow(0, 0, 1)}};
  }

  Training* training() override { return training_.get(); }

 private:
  std::unique_ptr<Training> training_ = flow_training(config_, model_);
};

}  // namespace

TaskEntry optical_flow_task() { return task_entry<OpticalFlowTask>("optical_flow"); }

}  // namespace perceiver
