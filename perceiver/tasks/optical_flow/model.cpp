#include "perceiver/tasks/optical_flow/model.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include "perceiver/core/count.h"
#include "perceiver/kernels/embedding/neighbourhoods.h"
#include "perceiver/kernels/linear/linear.h"

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

static double flow_scale(const OpticalFlowConfig& c) {
  return kDecoderScale * (c.semantics.flow_in_pixels ? kPixelScale : 1.0);
}

OpticalFlowImpl::OpticalFlowImpl(const OpticalFlowConfig& config)
    : config_(config), fourier_(input_grid_of(config), config.num_bands) {
  check_pixels("height, width", 2, config.height, config.width);
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

std::vector<int64_t> OpticalFlowImpl::input_grid() const { return input_grid_of(config_); }

// They have no gradients, and do not round as autocast would.
static bool by_gpu_kernels(const Tensor& frames) {
  return frames.is_cuda() && !at::GradMode::is_enabled() &&
         !at::autocast::is_autocast_enabled(at::kCUDA);
}

Tensor OpticalFlowImpl::content(const Tensor& frames) {
  if (config_.patch == FlowPatch::kConv) {
    if (config_.concat_frames) return pixels_to_elements(conv_stage_(frames.flatten(1, 2)));
    const Tensor features = conv_stage_(frames.flatten(0, 1));  // [2 B, 64, H/4, W/4]
    return pixels_to_elements(features).unflatten(0, {-1, 2}).flatten(1, 2);
  }
  const int64_t size = config_.patch == FlowPatch::k3x3 ? 3 : 1;
  if (by_gpu_kernels(frames)) {
    const bool together = config_.concat_frames;
    const Tensor rows =
        neighbourhood_rows(together ? frames : frames.flatten(0, 1).unsqueeze(1), size);
    const int64_t padding = rows.size(2) - patch_->weight.size(1);
    const Tensor elements = multiplied({.x = rows,
                                        .weight = at::constant_pad_nd(patch_->weight, {0, padding}),
                                        .bias = patch_->bias});
    return together ? elements : elements.unflatten(0, {-1, 2}).flatten(1, 2);
  }
  return patch_content(neighbourhoods(frames.select(1, 0), size),
                       neighbourhoods(frames.select(1, 1), size));
}

Tensor OpticalFlowImpl::patch_content(const Tensor& first, const Tensor& second) {
  return patch_(at::cat({first, second}, config_.concat_frames ? 2 : 1));
}

Array OpticalFlowImpl::with_position(const Tensor& content) {
  return fourier_.behind(content, input_grid());
}

void OpticalFlowImpl::check_frames(const Tensor& frames) const {
  check_shape(frames, {kAny, 2, 3, config_.height, config_.width}, "frames");
}

Array OpticalFlowImpl::input_array(const Tensor& frames) {
  check_frames(frames);
  return with_position(content(frames));
}

Array OpticalFlowImpl::query_array(const Array& inputs) const {
  return inputs.slice(0, c10::multiply_integers(query_grid()));
}

int64_t OpticalFlowImpl::decode_slice(at::Device device) const {
  constexpr int64_t kMoreOnGpu = 24;  // which has the memory, and idles on few
  return config_.decode_slice * (device.is_cuda() ? kMoreOnGpu : 1);
}

Tensor OpticalFlowImpl::outputs(const Tensor& latents, const Array& queries) {
  const int64_t slice =
      at::GradMode::is_enabled() ? queries.elements() : decode_slice(latents.device());
  return decode_in_slices(perceiver_, latents, queries, slice);
}

Tensor OpticalFlowImpl::decode(const Tensor& latents, const Array& queries) {
  const Tensor grid = outputs(latents, queries).transpose(1, 2).unflatten(2, query_grid());
  const double scale = flow_scale(config_);
  return upsample_.is_empty() ? grid * scale : upsample_(grid, scale);
}

Tensor OpticalFlowImpl::outputs_at(const Tensor& latents, const Tensor& frames,
                                   const Tensor& elements) {
  const auto picked = [&](const Tensor& all) { return all.index_select(1, elements); };
  Tensor some;
  if (config_.patch == FlowPatch::kConv) {
    some = picked(content(frames));
  } else {
    const int64_t size = config_.patch == FlowPatch::k3x3 ? 3 : 1;
    some = picked(neighbourhoods(frames.select(1, 0), size));
    if (config_.concat_frames) {
      some = at::cat({some, picked(neighbourhoods(frames.select(1, 1), size))}, 2);
    }
    some = patch_(some);
  }
  const std::vector<int64_t> grid = input_grid();
  const Tensor places = fourier_features(positions_at(elements, grid), config_.num_bands, grid);
  const Tensor of_each = places.to(some.dtype()).expand({some.size(0), -1, -1});
  return outputs(latents, at::cat({some, of_each}, -1));
}

// A fine pixel is made of the 3x3 coarse ones around its own. What lies outside the rectangle of
// all of those, or in it and was not asked for, may hold anything.
Tensor OpticalFlowImpl::upsample_at(const Tensor& latents, const Tensor& frames,
                                    const Tensor& pixels) {
  const Tensor y = pixels.div(config_.width, "floor"), x = pixels.remainder(config_.width);
  const Tensor coarse_y = y.div(kConvStride, "floor"), coarse_x = x.div(kConvStride, "floor");
  const int64_t rows = query_grid()[0], columns = query_grid()[1];
  const int64_t top = std::max<int64_t>(coarse_y.min().item<int64_t>() - 1, 0);
  const int64_t left = std::max<int64_t>(coarse_x.min().item<int64_t>() - 1, 0);
  const int64_t height = std::min(coarse_y.max().item<int64_t>() + 2, rows) - top;
  const int64_t width = std::min(coarse_x.max().item<int64_t>() + 2, columns) - left;

  Tensor asked = at::zeros({1, height, width}, latents.options().dtype(at::kFloat));
  asked.index_put_({at::zeros_like(coarse_y), coarse_y - top, coarse_x - left}, at::ones({}));
  const Tensor near = at::max_pool2d(asked, 3, 1, 1).flatten().nonzero().squeeze(1);
  const Tensor near_y = near.div(width, "floor"), near_x = near.remainder(width);
  const Tensor elements = (near_y + top) * columns + near_x + left;

  const Tensor values = outputs_at(latents, frames, elements).transpose(1, 2);  // [B, E, O]
  Tensor features = at::zeros({values.size(0), values.size(1), height * width}, values.options());
  features.index_copy_(2, near, values);
  const Tensor flow = upsample_(features.unflatten(2, {height, width}), flow_scale(config_));
  const Tensor inside = (y - top * kConvStride) * (width * kConvStride) + (x - left * kConvStride);
  return flow.flatten(2).index_select(2, inside).transpose(1, 2);
}

Tensor OpticalFlowImpl::decode_at(const Tensor& latents, const Tensor& frames,
                                  const Tensor& pixels) {
  check_frames(frames);
  const Tensor asked = pixels.to(latents.device());
  if (!upsample_.is_empty()) return upsample_at(latents, frames, asked);
  return outputs_at(latents, frames, asked) * flow_scale(config_);
}

Tensor OpticalFlowImpl::flow_of(const Array& inputs) {
  return decode(encode(inputs), query_array(inputs));
}

Tensor OpticalFlowImpl::forward(const Tensor& frames) {
  return recorded_(*this, {frames},
                   [this](const std::vector<Tensor>& x) { return flow_of(input_array(x[0])); });
}

Tensor OpticalFlowImpl::forward_of_patches(const Tensor& patches) {
  if (config_.patch != FlowPatch::k3x3) fail("patches are for models with patch \"3x3\"");
  check_shape(patches, {kAny, 2, 27, config_.height, config_.width}, "patches");
  return recorded_(*this, {patches}, [this](const std::vector<Tensor>& x) {
    return flow_of(with_position(patch_content(pixels_to_elements(x[0].select(1, 0)),
                                               pixels_to_elements(x[0].select(1, 1)))));
  });
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
  // Positions are not stored. Neighbourhoods are, twice, and both frames' behind each other.
  s.made_inputs = m * (config_.patch_channels + (conv ? 0 : 3 * patch_->weight.size(1)));
  s.add("", perceiver_->parts(m, o));
  if (conv) s.add("upsample.", upsample_->parts(o));
  return s;
}

}  // namespace perceiver
