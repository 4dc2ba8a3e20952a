#include "perceiver/tasks/multimodal/autoencode.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/multimodal/model.h"

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

std::vector<std::string> hidden_modalities(const AutoencodeOptions& options) {
  std::vector<std::string> hidden = {"label"};  // at test time nobody knows it
  if (options.masks("audio")) hidden.push_back("audio");
  if (options.masks("video")) hidden.push_back("image");
  return hidden;
}

// The frames as they are written: the original beside the reconstruction.
VideoFormat written_format(const MultimodalConfig& config) {
  return {.height = config.image_size,
          .width = 2 * config.image_size + kGap,
          .frames_per_second = kFramesPerSecond,
          .samples_per_second = config.samples_per_frame * kFramesPerSecond};
}

// What is not there can only be filled in.
void check_modalities(const ChunkReader& clip, const std::string& name,
                      const AutoencodeOptions& options) {
  if (!clip.has_sound() && !options.masks("audio")) {
    fail("{}: has no sound; --mask audio lets the model fill it in", name);
  }
  if (!clip.has_picture() && !options.masks("video")) {
    fail("{}: has no picture; --mask video lets the model fill it in", name);
  }
  if (!clip.has_sound() && options.original_sound) {
    fail("{}: has no sound for --sound original; take reconstruction", name);
  }
}

struct Totals {
  int64_t num_chunks = 0, num_frames = 0;
  Psnr video = {}, audio = {};
  Tensor label;  // float [classes]: the sum of the chunks' probabilities
};

Totals autoencode_chunks(MultimodalImpl& model, ChunkReader& clip, VideoWriter& writer,
                         const AutoencodeOptions& options) {
  const at::TensorOptions place = model.parameters().front().options();
  const MultimodalConfig& config = model.config();
  const Modalities hidden = model.hide(hidden_modalities(options), 1);
  Totals done{.label = at::zeros({config.num_classes})};
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

}  // namespace

bool AutoencodeOptions::masks(const std::string& modality) const {
  return std::find(masked.begin(), masked.end(), modality) != masked.end();
}

FrameRange frame_range(const AutoencodeOptions& options) {
  FrameRange range;
  if (!options.seconds.empty()) {
    double begin = 0.0, end = 0.0;
    int used = 0;
    const int values = std::sscanf(options.seconds.c_str(), "%lf-%lf%n", &begin, &end, &used);
    constexpr double kLongest = 1e6;
    if (values != 2 || used != static_cast<int>(options.seconds.size()) || !(begin >= 0.0) ||
        !(end > begin) || end > kLongest) {
      fail("--seconds: expected a beginning and an end such as 2-3.5, got '{}'", options.seconds);
    }
    range.first = std::llround(begin * kFramesPerSecond);
    range.count = std::max(std::llround(end * kFramesPerSecond) - range.first, 1LL);
  }
  if (options.num_frames > 0) range.count = std::min(range.count, options.num_frames);
  return range;
}

Autoencoded autoencode(Model& model, const File& clip, const std::filesystem::path& output,
                       const AutoencodeOptions& options) {
  const at::NoGradGuard no_grad;
  auto& multimodal = model_as<MultimodalImpl>(model, "autoencode", "multimodal");
  ChunkReader reader(clip, multimodal.config(), frame_range(options));
  check_modalities(reader, clip.name, options);
  VideoWriter writer(output, written_format(multimodal.config()));
  options.hooks.begin("autoencode", attention_work(multimodal.summary(multimodal.num_outputs())) *
                                        static_cast<double>(reader.expected_chunks()));
  const Totals done = autoencode_chunks(multimodal, reader, writer, options);
  if (done.num_frames == 0) {
    if (options.seconds.empty()) fail("{}: has no frames", clip.name);
    fail("{}: has ended before --seconds {}", clip.name, options.seconds);
  }
  writer.finish();
  Autoencoded result{
      .num_chunks = done.num_chunks,
      .num_frames = done.num_frames,
      .top = likeliest_classes(done.label / done.num_chunks, model.labels, options.top),
      .output = writer.path()};
  // Of what the clip does not have there is nothing to compare with.
  if (reader.has_picture()) result.video_psnr = done.video.decibels();
  if (reader.has_sound()) result.audio_psnr = done.audio.decibels();
  return result;
}

nlohmann::ordered_json to_json(const Autoencoded& done) {
  const auto decibels = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  return {{"output", done.output.string()},
          {"frames", done.num_frames},
          {"chunks", done.num_chunks},
          {"psnr", {{"video", decibels(done.video_psnr)}, {"audio", decibels(done.audio_psnr)}}},
          {"top", to_json(done.top)}};
}

}  // namespace perceiver
