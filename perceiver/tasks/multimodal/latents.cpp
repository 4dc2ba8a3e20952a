#include "perceiver/tasks/multimodal/latents.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace perceiver {
namespace {

// Outputs of one modality of one chunk, by index [O], in slices -> [O, channels]
Tensor decode_chunk(MultimodalImpl& model, const Tensor& latents, int64_t chunk,
                    const std::string& modality, const Tensor& indices) {
  const at::NoGradGuard no_grad;
  const Tensor z = latents.narrow(0, chunk, 1).to(model.parameters().front().options());
  const Tensor outputs =
      decode_in_slices(indices.size(0), model.config().decode_slice, [&](int64_t from, int64_t to) {
        return model.decode(z, {{modality, indices.slice(0, from, to)}}).at(modality);
      });
  return outputs[0].to(at::kCPU, at::kFloat);
}

}  // namespace

ClipLatents encode_clip(MultimodalImpl& model, ChunkReader& clip) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions place = model.parameters().front().options();
  std::vector<std::string> unknown;
  if (!clip.has_sound()) unknown.emplace_back("audio");
  if (!clip.has_picture()) unknown.emplace_back("image");
  unknown.emplace_back("label");
  const Modalities hidden = model.hide(unknown, 1);
  std::vector<Tensor> latents;
  int64_t num_frames = 0;
  while (const std::optional<Chunk> chunk = clip.next()) {
    const Modalities inputs = clip_inputs(chunk->image.unsqueeze(0), chunk->audio.unsqueeze(0),
                                          model.config().num_classes, place);
    latents.push_back(model.encode(inputs, hidden).to(at::kCPU, at::kFloat));
    num_frames += chunk->num_frames;
  }
  if (latents.empty()) return {Tensor(), 0};
  return {at::cat(latents), num_frames};
}

Tensor pixels_at(MultimodalImpl& model, const Tensor& latents, const Tensor& frames,
                 const Tensor& pixels) {
  const int64_t chunk_frames = model.config().num_frames, size = model.config().image_size;
  Tensor colours = at::empty({frames.size(0), pixels.size(0), 3});
  for (int64_t chunk = 0; chunk < latents.size(0); ++chunk) {
    const Tensor local = frames - chunk * chunk_frames;
    const Tensor here = (local >= 0).logical_and(local < chunk_frames).nonzero().squeeze(1);
    if (here.numel() == 0) continue;
    const Tensor indices =
        local.index_select(0, here).unsqueeze(1) * (size * size) + pixels.unsqueeze(0);
    const Tensor values = decode_chunk(model, latents, chunk, "image", indices.flatten());
    colours.index_copy_(0, here, values.clamp(0.0, 1.0).view({here.size(0), -1, 3}));
  }
  return colours;
}

Tensor samples_at(MultimodalImpl& model, const Tensor& latents, int64_t begin, int64_t end) {
  const MultimodalConfig& c = model.config();
  const int64_t chunk_samples = c.num_frames * c.samples_per_frame, patch = c.samples_per_patch;
  std::vector<Tensor> parts;
  for (int64_t chunk = begin / chunk_samples; chunk * chunk_samples < end; ++chunk) {
    const int64_t from = std::max<int64_t>(begin - chunk * chunk_samples, 0);
    const int64_t to = std::min(end - chunk * chunk_samples, chunk_samples);
    const int64_t first = from / patch, last = (to - 1) / patch;
    const Tensor patches =
        decode_chunk(model, latents, chunk, "audio", at::arange(first, last + 1));
    parts.push_back(patches.flatten().slice(0, from - first * patch, to - first * patch));
  }
  return at::cat(parts).clamp(-1.0, 1.0);
}

Tensor label_of(MultimodalImpl& model, const Tensor& latents) {
  std::vector<Tensor> probabilities;
  for (int64_t chunk = 0; chunk < latents.size(0); ++chunk) {
    const Tensor logits = decode_chunk(model, latents, chunk, "label", at::zeros({1}, at::kLong));
    probabilities.push_back(logits[0].softmax(0));
  }
  return at::stack(probabilities).mean(0);
}

}  // namespace perceiver
