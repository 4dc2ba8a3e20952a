#include "perceiver/tasks/optical_flow/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace perceiver {

constexpr int64_t kConvStride = 4;
// The decoder's values are a hundredth of flow / 20, which the released model was trained on.
constexpr double kDecoderScale = 1.0 / 100, kPixelScale = 20.0;

static std::vector<int64_t> query_grid_of(const OpticalFlowConfig& c) {
  const std::vector<int64_t> image = {c.height, c.width};
  return c.patch == FlowPatch::kConv ? ConvStageImpl::output_grid(image, ConvPadding::kSame)
                                     : image;
}

// Frames apart have a time coordinate too: (t, y, x).
static std::vector<int64_t> input_grid_of(const OpticalFlowConfig& c) {
  std::vector<int64_t> grid = query_grid_of(c);
  if (!c.concat_frames) grid.insert(grid.begin(), 2);
  return grid;
}

double pixels_per_unit(const OpticalFlowConfig& config) {
  return config.semantics.flow_in_pixels ? 1.0 : kPixelScale;
}

OpticalFlowImpl::OpticalFlowImpl(const OpticalFlowConfig& config)
    : config_(config), fourier_(input_grid_of(config), config.num_bands) {
  const int64_t frame_channels = config.concat_frames ? 6 : 3;
  const int64_t channels = config.patch_channels + fourier_.channels();
  const bool conv = config.patch == FlowPatch::kConv;
  if (conv) {
    if (config.height % kConvStride != 0 || config.width % kConvStride != 0) {
      fail("height ({}) and width ({}) must be multiples of {} with patch \"conv\"", config.height,
           config.width, kConvStride);
    }
    conv_stage_ = register_module(
        "conv_stage", ConvStage(frame_channels, config.patch_channels, ConvPadding::kSame));
    upsample_ = register_module("upsample", RaftUpsample(config.patch_channels, kConvStride));
  } else {
    const int64_t size = config.patch == FlowPatch::k3x3 ? 3 : 1;
    patch_ = register_module("patch", Linear(size * size * frame_channels, config.patch_channels));
  }
  // The flow starts at zero: from here, or from the upsampling's own layer.
  perceiver_ = register_module(
      "perceiver",
      PerceiverIo(PerceiverIoChannels{channels, channels, conv ? config.patch_channels : 2},
                  config.encoder, config.decoder, config.semantics,
                  conv ? LinearInit::kPlain : LinearInit::kZeros));
}

std::vector<int64_t> OpticalFlowImpl::query_grid() const { return query_grid_of(config_); }

Tensor OpticalFlowImpl::content(const Tensor& frames) {
  if (config_.patch == FlowPatch::kConv) {
    if (config_.concat_frames) return pixels_to_elements(conv_stage_(frames.flatten(1, 2)));
    const Tensor features = conv_stage_(frames.flatten(0, 1));  // [2 B, 64, H/4, W/4]
    return pixels_to_elements(features).unflatten(0, {-1, 2}).flatten(1, 2);
  }
  const int64_t size = config_.patch == FlowPatch::k3x3 ? 3 : 1;
  return patch_content(neighbourhoods(frames.select(1, 0), size),
                       neighbourhoods(frames.select(1, 1), size));
}

Tensor OpticalFlowImpl::patch_content(const Tensor& first, const Tensor& second) {
  return patch_(at::cat({first, second}, config_.concat_frames ? 2 : 1));
}

Tensor OpticalFlowImpl::with_position(const Tensor& content) {
  return at::cat({content, fourier_(input_grid_of(config_), content)}, -1);
}

Tensor OpticalFlowImpl::input_array(const Tensor& frames) {
  check_shape(frames, {kAny, 2, 3, config_.height, config_.width}, "frames");
  return with_position(content(frames));
}

Tensor OpticalFlowImpl::input_array_of_patches(const Tensor& patches) {
  if (config_.patch != FlowPatch::k3x3) fail("patches are for models with patch \"3x3\"");
  check_shape(patches, {kAny, 2, 27, config_.height, config_.width}, "patches");
  return with_position(patch_content(pixels_to_elements(patches.select(1, 0)),
                                     pixels_to_elements(patches.select(1, 1))));
}

Tensor OpticalFlowImpl::query_array(const Tensor& inputs) const {
  return inputs.narrow(1, 0, c10::multiply_integers(query_grid()));
}

Tensor OpticalFlowImpl::decode(const Tensor& latents, const Tensor& queries) {
  const int64_t slice = at::GradMode::is_enabled() ? queries.size(1) : config_.decode_slice;
  const Tensor outputs = decode_in_slices(perceiver_, latents, queries, slice);
  const Tensor grid = outputs.transpose(1, 2).unflatten(2, query_grid());
  const double scale = kDecoderScale * (config_.semantics.flow_in_pixels ? kPixelScale : 1.0);
  return upsample_.is_empty() ? grid * scale : upsample_(grid, scale);
}

Tensor OpticalFlowImpl::forward(const Tensor& frames) {
  const Tensor inputs = input_array(frames);
  return decode(encode(inputs), query_array(inputs));
}

ModelSummary OpticalFlowImpl::summary() const {
  const int64_t m = c10::multiply_integers(input_grid_of(config_));
  const int64_t o = c10::multiply_integers(query_grid());
  const int64_t channels = config_.patch_channels + fourier_.channels();
  const bool conv = config_.patch == FlowPatch::kConv;
  ModelSummary s{.inputs = {m, channels},
                 .latents = perceiver_->latent_size(),
                 .queries = ArraySize{o, channels},
                 .outputs = {o, conv ? config_.patch_channels : 2}};
  if (conv) {
    Part stage = conv_stage_->part({config_.height, config_.width});
    if (!config_.concat_frames) stage.times = 2, stage.flops *= 2;
    s.add("input.", {stage});
  } else {
    s.add("input.",
          {{.name = "patch", .parameters = num_parameters(*patch_), .flops = patch_->flops(m)}});
  }
  s.add("", perceiver_->parts(m, o));
  if (conv) s.add("upsample.", upsample_->parts(o));
  return s;
}

}  // namespace perceiver
