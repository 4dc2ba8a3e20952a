#include "python/library/clips.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/media/clip.h"
#include "perceiver/media/resize.h"
#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/multimodal/psnr.h"

namespace perceiver {
namespace {

// The clip as chunks of the model's frames, what is missing black and silent.
struct Chunks {
  Tensor video = {}, audio = {};  // [T, 3, size, size], [S], of whole chunks
  int64_t num_frames;             // before the last chunk was filled up
  std::vector<std::string> hidden = {"label"};
};

// Frames as tasks/multimodal/clip.h has them: the middle square, resized.
Tensor prepared(const Tensor& video, int64_t size) {
  check_shape(video, {kAny, 3, kAny, kAny}, "video");
  if (video.scalar_type() != at::kByte) {
    fail("video is {}, expected uint8", at::toString(video.scalar_type()));
  }
  if (video.size(2) == size && video.size(3) == size) return video.cpu();
  std::vector<Tensor> frames;
  for (const Tensor& frame : video.cpu().unbind()) {
    frames.push_back(resize_linear_opencv(centre_square(frame).contiguous(), {size, size}));
  }
  return at::stack(frames);
}

int64_t frames_of(const ArrayClip& clip, const MultimodalConfig& c) {
  const int64_t samples = clip.audio.defined() ? clip.audio.numel() : 0;
  if (clip.audio.defined()) check_shape(clip.audio, {kAny}, "audio");
  if (!clip.video.defined()) {
    if (samples < c.samples_per_frame) fail("the clip has neither a frame nor sound for one");
    return samples / c.samples_per_frame;
  }
  const int64_t frames = clip.video.size(0);
  if (frames < 1) fail("video has no frames");
  if (clip.audio.defined() && samples != frames * c.samples_per_frame) {
    fail("audio has {} samples, expected {}: {} for each of {} frames", samples,
         frames * c.samples_per_frame, c.samples_per_frame, frames);
  }
  return frames;
}

Chunks chunks_of(const ArrayClip& clip, const MultimodalConfig& c,
                 const std::vector<std::string>& masked) {
  const auto masks = [&](const char* name) { return std::ranges::count(masked, name) > 0; };
  Chunks chunks{.num_frames = frames_of(clip, c)};
  const int64_t frames = (chunks.num_frames + c.num_frames - 1) / c.num_frames * c.num_frames;
  if (masks("audio") || !clip.audio.defined()) chunks.hidden.emplace_back("audio");
  if (masks("video") || !clip.video.defined()) chunks.hidden.emplace_back("image");
  chunks.video = at::zeros({frames, 3, c.image_size, c.image_size}, at::kByte);
  chunks.audio = at::zeros({frames * c.samples_per_frame});
  if (clip.video.defined()) {
    const Tensor seen = prepared(clip.video, c.image_size);
    chunks.video.copy_(seen[-1]);  // the last frame stands still
    chunks.video.narrow(0, 0, seen.size(0)).copy_(seen);
  }
  if (clip.audio.defined()) {
    const int64_t heard = chunks.num_frames * c.samples_per_frame;
    chunks.audio.narrow(0, 0, heard).copy_(clip.audio.narrow(0, 0, heard));
  }
  return chunks;
}

// visit(latents, chunk) of each, one after another: the input array of one is large already.
template <typename Visit>
void for_each_chunk(MultimodalImpl& model, const Chunks& chunks, const Visit& visit) {
  const MultimodalConfig& c = model.config();
  const at::TensorOptions place = model.parameters().front().options();
  const Modalities hidden = model.hide(chunks.hidden, 1);
  const Tensor video = chunks.video.unflatten(0, {-1, c.num_frames});
  const Tensor audio = chunks.audio.view({video.size(0), -1});
  for (int64_t i = 0; i < video.size(0); ++i) {
    visit(model.encode(
        clip_inputs(video.narrow(0, i, 1), audio.narrow(0, i, 1), c.num_classes, place), hidden));
  }
}

}  // namespace

ArrayClip read_array_clip(const File& file, const MultimodalConfig& config) {
  ClipReader reader(file, clip_format(config));
  std::vector<Tensor> frames;
  while (std::optional<Tensor> frame = reader.next_frame()) frames.push_back(*std::move(frame));
  if (frames.empty()) fail("{}: has no frames", file.name);
  const int64_t samples = std::ssize(frames) * config.samples_per_frame;
  return {.video = reader.has_picture() ? at::stack(frames) : Tensor(),
          .audio = reader.has_sound() ? reader.samples(0, samples) : Tensor()};
}

ClipReconstruction autoencode_arrays(MultimodalImpl& model, const ArrayClip& clip,
                                     const std::vector<std::string>& masked) {
  const at::NoGradGuard no_grad;
  for (const std::string& name : masked) {
    if (name != "audio" && name != "video") {
      fail("masked: expected \"audio\" or \"video\", got \"{}\"", name);
    }
  }
  const auto check = [&](const Tensor& x, const char* name) {
    if (x.defined() || std::ranges::count(masked, name) > 0) return;
    fail("the clip has no {}; masked=[\"{}\"] lets the model fill it in", name, name);
  };
  check(clip.video, "video");
  check(clip.audio, "audio");
  const MultimodalConfig& c = model.config();
  const Chunks chunks = chunks_of(clip, c, masked);
  std::vector<Tensor> video, audio, labels;
  for_each_chunk(model, chunks, [&](const Tensor& latents) {
    const Modalities outputs = model.decode_all(latents);
    const auto cpu = [&](const char* name) { return outputs.at(name)[0].to(at::kCPU, at::kFloat); };
    video.push_back(cpu("image").clamp(0.0, 1.0));
    audio.push_back(cpu("audio").clamp(-1.0, 1.0));
    labels.push_back(cpu("label").softmax(0));
  });
  const auto of_clip = [](const Tensor& whole, int64_t count) { return whole.narrow(0, 0, count); };
  const int64_t samples = chunks.num_frames * c.samples_per_frame;
  const Tensor seen = of_clip(at::cat(video), chunks.num_frames);
  const Tensor heard = of_clip(at::cat(audio), samples);
  ClipReconstruction result{.clip = {seen.mul(255.0).round().to(at::kByte), heard.clone()},
                            .probabilities = at::stack(labels).mean(0)};
  const auto decibels = [](const Tensor& original, const Tensor& reconstruction) {
    Psnr psnr;
    psnr.add(original, reconstruction);
    return psnr.decibels();
  };
  // Of what the clip does not have there is nothing to compare with.
  if (clip.video.defined()) {
    result.video_psnr =
        decibels(of_clip(chunks.video, chunks.num_frames).to(at::kFloat).div(255.0), seen);
  }
  if (clip.audio.defined()) result.audio_psnr = decibels(of_clip(chunks.audio, samples), heard);
  return result;
}

void encode_arrays(MultimodalImpl& model, const ArrayClip& clip, LatentsFile& file) {
  const at::NoGradGuard no_grad;
  const Chunks chunks = chunks_of(clip, model.config(), {});
  std::vector<Tensor> latents;
  for_each_chunk(model, chunks,
                 [&](const Tensor& z) { latents.push_back(z.to(at::kCPU, at::kFloat)); });
  file.arrays = {{"latents", at::cat(latents)}};
  file.geometry = {{"num_frames", {chunks.num_frames}},
                   {"frames_per_second", {kFramesPerSecond}},
                   {"frames_per_chunk", {model.config().num_frames}}};
}

}  // namespace perceiver
