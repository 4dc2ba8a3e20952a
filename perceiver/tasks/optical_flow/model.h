// Optical flow (paper, Sec. 4.2 and App. H): two frames in, a motion vector for each pixel out.
#pragma once

#include "perceiver/modalities/image.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/recorded.h"
#include "perceiver/nn/position.h"
#include "perceiver/tasks/optical_flow/raft_upsample.h"

namespace perceiver {

// What surrounds a pixel in its input element (the ablation of App. H).
enum class FlowPatch { k3x3, k1x1, kConv };
constexpr std::array<std::string_view, 3> enum_words(FlowPatch) { return {"3x3", "1x1", "conv"}; }

struct OpticalFlowConfig {
  int64_t height = 368, width = 496;  // of a training crop, and of a tile at test time
  FlowPatch patch = FlowPatch::k3x3;
  bool concat_frames = true;
  int64_t num_bands = 64;
  int64_t patch_channels = 64;
  EncoderConfig encoder = {.num_latents = 2048,
                           .latent_channels = 512,
                           .num_blocks = 1,
                           .self_attends_per_block = 24,
                           .self_attend = {.num_heads = 16}};
  DecoderConfig decoder = {.cross_attend = {.query_residual = false}};
  int64_t decode_slice = 8192;
  int64_t tile_overlap = 20;  // the released notebook's
  int64_t levels = 1;
  Semantics semantics;
};

template <typename Visitor>
void fields(Visitor& visit, OpticalFlowConfig& c) {
  visit({"height",
         "Pixels of the model's frame, from top to bottom: a training crop, and a tile of larger "
         "frames"},
        c.height, at_least(4));
  visit({"width", "Pixels of the model's frame, from left to right"}, c.width, at_least(4));
  visit({"patch",
         "What surrounds a pixel in its input element: 3 x 3 pixels, nothing, or a convolution "
         "(App. H)"},
        c.patch);
  visit({"concat_frames",
         "Whether an input element holds both frames; else each frame has its own elements"},
        c.concat_frames);
  visit({"num_bands", "Frequencies of the Fourier features"}, c.num_bands, at_least(1));
  visit({"patch_channels", "Channels the patch is projected to"}, c.patch_channels, at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit({"decode_slice", "Queries decoded at once outside training; fewer need less memory"},
        c.decode_slice, at_least(1));
  visit({"tile_overlap",
         "Pixels that neighbouring tiles of larger frames share, at least (half a tile at most); "
         "more blends them more smoothly, and takes longer"},
        c.tile_overlap, at_least(1));
  visit({"levels",
         "Sizes of the frames that flow is found at, each half the next: motion that is long for "
         "one tile is found in the small frames first; 1: their own size alone"},
        c.levels, between(1, 16));
  visit(kSemanticsKey, c.semantics);
}

// What a model's flow must be multiplied by to be in pixels: 1, or 20 where it computes as Hugging
// Face does.
double pixels_per_unit(const OpticalFlowConfig& config);

class OpticalFlowImpl : public torch::nn::Module {
 public:
  explicit OpticalFlowImpl(const OpticalFlowConfig& config);

  // frames [B, 2, 3, H, W] of the config's size, in [-1, 1] -> inputs [B, M, C]
  Array input_array(const Tensor& frames);

  // Queries are the input elements of the first frame: inputs [B, M, C] -> [B, O, C].
  Array query_array(const Array& inputs) const;

  Tensor encode(const Array& inputs) {  // [B, M, C] -> latents [B, N, D]
    return perceiver_->process(perceiver_->encode(inputs), inputs);
  }

  Tensor encode_frames(const Tensor& frames) {  // [B, 2, 3, H, W] -> latents [B, N, D]
    return encode(input_array(frames));
  }

  // latents [B, N, D], queries [B, O, C] for every pixel -> flow [B, 2, H, W], in units of
  // pixels_per_unit()
  Tensor decode(const Tensor& latents, const Array& queries);

  // Some pixels of that flow, by flat index [P]: latents [B, N, D], frames [B, 2, 3, H, W] ->
  // [B, P, 2]. Only the queries they need are made and decoded; where the flow is upsampled, those
  // of the coarse pixels around them.
  Tensor decode_at(const Tensor& latents, const Tensor& frames, const Tensor& pixels);

  Tensor forward(const Tensor& frames);  // -> flow [B, 2, H, W]
  // The same from patches [B, 2, 27, H, W] that were cut out before, as transformers takes them.
  Tensor forward_of_patches(const Tensor& patches);

  std::vector<int64_t> input_grid() const;        // {H, W} of the input array, or {2, H, W}
  int64_t decode_slice(at::Device device) const;  // queries at once, without gradients
  ModelSummary summary() const;

  const OpticalFlowConfig& config() const { return config_; }

 private:
  void check_frames(const Tensor& frames) const;
  std::vector<int64_t> query_grid() const;
  Tensor content(const Tensor& frames);                             // -> [B, M, patch_channels]
  Tensor patch_content(const Tensor& first, const Tensor& second);  // [B, H*W, values] each
  Array with_position(const Tensor& content);                       // -> [B, M, C]
  Tensor flow_of(const Array& inputs);                              // -> flow [B, 2, H, W]
  Tensor outputs(const Tensor& latents, const Array& queries);      // -> [B, O, E]
  // latents, frames, elements [O] of the query grid -> [B, O, E]
  Tensor outputs_at(const Tensor& latents, const Tensor& frames, const Tensor& elements);
  Tensor upsample_at(const Tensor& latents, const Tensor& frames, const Tensor& pixels);

  OpticalFlowConfig config_;
  GridFeatures fourier_;
  Linear patch_{nullptr};
  ConvStage conv_stage_{nullptr};
  PerceiverIo perceiver_{nullptr};
  RaftUpsample upsample_{nullptr};
  RecordedForward recorded_;
};
TORCH_MODULE(OpticalFlow);

}  // namespace perceiver
