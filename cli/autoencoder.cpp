#include "cli/autoencoder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "cli/progress.h"
#include "perceiver/media/paint.h"

namespace perceiver {
namespace {

constexpr int64_t kGap = 4;  // white pixels between the original and the reconstruction

// image [1, T, 3, H, W] and audio [1, S] of the model -> [frames, 3, H, W] and [samples], without
// what was padded, in the range of what is seen and heard.
Modalities cut(const Modalities& outputs, const Chunk& chunk, int64_t num_samples) {
  const auto cpu = [&](const char* name) { return outputs.at(name)[0].to(at::kCPU, at::kFloat); };
  return {{"image", cpu("image").narrow(0, 0, chunk.num_frames).clamp(0.0, 1.0)},
          {"audio", cpu("audio").narrow(0, 0, num_samples).clamp(-1.0, 1.0)}};
}

void write_beside(VideoWriter& writer, const Tensor& originals, const Tensor& reconstructions) {
  const Tensor pictures = reconstructions.mul(255.0).round().to(at::kByte);
  for (int64_t i = 0; i < pictures.size(0); ++i) {
    writer.write(beside({originals[i], pictures[i]}, kGap));
  }
}

std::vector<std::string> hidden_modalities(const AutoencoderOptions& options) {
  std::vector<std::string> hidden = {"label"};  // at test time nobody knows it
  if (options.masks("audio")) hidden.push_back("audio");
  if (options.masks("video")) hidden.push_back("image");
  return hidden;
}

}  // namespace

bool AutoencoderOptions::masks(const std::string& modality) const {
  return std::find(masked.begin(), masked.end(), modality) != masked.end();
}

VideoFormat autoencoded_format(const MultimodalConfig& config) {
  return {.height = config.image_size,
          .width = 2 * config.image_size + kGap,
          .frames_per_second = kFramesPerSecond,
          .samples_per_second = config.samples_per_frame * kFramesPerSecond};
}

Autoencoding autoencode_chunks(MultimodalImpl& model, ChunkReader& clip, VideoWriter& writer,
                               const AutoencoderOptions& options) {
  const at::TensorOptions place = model.parameters().front().options();
  const MultimodalConfig& config = model.config();
  const Modalities hidden = model.hide(hidden_modalities(options), 1);
  const PassProgress progress(
      "autoencode", attention_work(model.summary(model.num_outputs())) * clip.expected_chunks());
  Autoencoding done{.label = at::zeros({config.num_classes})};
  while (const std::optional<Chunk> chunk = clip.next()) {
    const Modalities outputs = model.decode_all(
        model.encode(clip_inputs(chunk->image.unsqueeze(0), chunk->audio.unsqueeze(0),
                                 config.num_classes, place),
                     hidden));
    const int64_t num_samples = chunk->num_frames * config.samples_per_frame;
    const Modalities seen = cut(outputs, *chunk, num_samples);
    const Tensor frames = chunk->image.narrow(0, 0, chunk->num_frames);
    const Tensor samples = chunk->audio.narrow(0, 0, num_samples);
    write_beside(writer, frames, seen.at("image"));
    writer.write_samples(options.original_sound ? samples : seen.at("audio"));
    done.video.add(frames.to(at::kFloat).div(255.0), seen.at("image"));
    done.audio.add(samples, seen.at("audio"));
    done.label += outputs.at("label")[0].to(at::kCPU, at::kFloat).softmax(0);
    done.num_frames += chunk->num_frames;
    ++done.num_chunks;
  }
  return done;
}

}  // namespace perceiver
